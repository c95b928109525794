"""What a kernel has that does not fit its registers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Overflow:
    """Spilled registers, and scratch memory in bytes per work-item."""

    spills: int
    scratch_bytes: int


NO_OVERFLOW = Overflow(0, 0)
