"""Recorded spills and scratch of kernels whose registers do not fit, from recorded.json of each family."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from ckgen import paths
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.naming import instance_name
from ckgen.model.dtype import DType


@dataclass(frozen=True, slots=True)
class Overflow:
    """Spilled registers, and scratch memory in bytes per work-item."""

    spills: int
    scratch_bytes: int


NO_OVERFLOW = Overflow(0, 0)


def recorded_overflow(instance: Instance, arch: str, variant: str) -> Overflow:
    """What was measured for a kernel with bf16 results, which stands for the other types; nothing where none is."""
    signature = replace(instance.signature, c=DType.BF16)
    return overflow_of(instance_name(signature, instance.backend, instance.config), arch, variant)


def overflow_of(kernel: str, arch: str, variant: str) -> Overflow:
    """What was measured for the instance of that name; nothing where none is."""
    return _recorded().get((kernel, arch, variant), NO_OVERFLOW)


FILES = (
    Path(__file__).with_suffix(".json"),
    *(paths.package_dir() / f"families/{family}/device/recorded.json" for family in ("moe", "fmha")),
)
"""What ckgen's checks recorded of GEMMs, and of MoE and attention kernels."""


@cache
def _recorded() -> Mapping[tuple[str, str, str], Overflow]:
    entries = (entry for file in FILES for entry in json.loads(file.read_text(encoding="utf-8"))["kernels"])
    return {
        (entry["kernel"], entry["arch"], entry["variant"]): Overflow(entry["spills"], entry["scratch_bytes"])
        for entry in entries
    }
