"""Recorded spills and scratch of kernels whose registers do not fit, from recorded.json and that of MoE kernels."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from ckgen import paths
from ckgen.families.common.device.overflow import NO_OVERFLOW, Overflow
from ckgen.families.common.naming import instance_name
from ckgen.families.gemm.instance import Instance
from ckgen.model.dtype import DType


def recorded_overflow(instance: Instance, arch: str, variant: str) -> Overflow:
    """What was measured for a kernel with bf16 results, which stands for the other types; nothing where none is."""
    signature = replace(instance.signature, c=DType.BF16)
    return _recorded().get((instance_name(signature, instance.backend, instance.config), arch, variant), NO_OVERFLOW)


FILES = (Path(__file__).with_suffix(".json"), paths.package_dir() / "families/moe/device/recorded.json")
"""What ckgen's checks recorded of GEMMs, and of MoE kernels."""


@cache
def _recorded() -> Mapping[tuple[str, str, str], Overflow]:
    entries = (entry for file in FILES for entry in json.loads(file.read_text(encoding="utf-8"))["kernels"])
    return {
        (entry["kernel"], entry["arch"], entry["variant"]): Overflow(entry["spills"], entry["scratch_bytes"])
        for entry in entries
    }
