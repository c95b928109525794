"""Recorded spills and scratch of ck_tile kernels whose registers do not fit, from ck_tile_recorded.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ckgen.families.gemm.config import CkTileConfig


@dataclass(frozen=True, slots=True)
class Overflow:
    """Spilled VGPRs, and scratch memory in bytes per work-item."""

    spills: int
    scratch_bytes: int


_NONE = Overflow(0, 0)


def recorded_overflow(config: CkTileConfig, arch: str, variant: str) -> Overflow:
    """What was measured for a kernel; nothing where nothing is recorded."""
    return _recorded().get((config.text(), arch, variant), _NONE)


@cache
def _recorded() -> Mapping[tuple[str, str, str], Overflow]:
    data = json.loads(Path(__file__).with_name("ck_tile_recorded.json").read_text(encoding="utf-8"))
    return {
        (entry["config"], entry["arch"], entry["variant"]): Overflow(entry["spills"], entry["scratch_bytes"])
        for entry in data["kernels"]
    }
