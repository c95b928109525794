"""Spills and scratch of attention kernels, whose registers seldom fit: as recorded.json has them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ckgen.families.common.device.overflow import NO_OVERFLOW, Overflow

FILE = Path(__file__).with_suffix(".json")


def allowed_overflow(kernel: str, arch: str) -> Overflow:
    """What was measured for an instance of that name; of another, twice the most of any on the arch."""
    known = _recorded()
    if (kernel, arch) in known:
        return known[kernel, arch]
    others = [one for (_, of), one in known.items() if of == arch] or [NO_OVERFLOW]
    return Overflow(2 * max(one.spills for one in others), 2 * max(one.scratch_bytes for one in others))


@cache
def _recorded() -> Mapping[tuple[str, str], Overflow]:
    entries = json.loads(FILE.read_text(encoding="utf-8"))["kernels"]
    return {(entry["kernel"], entry["arch"]): Overflow(entry["spills"], entry["scratch_bytes"]) for entry in entries}
