"""Who turns a Config into code."""

from __future__ import annotations

from enum import Enum


class Backend(Enum):
    """CK_TILE and CK are Composable Kernel's two APIs; HOST is the CPU as a target."""

    CK_TILE = "ck_tile"
    CK = "ck"
    HIP = "hip"
    ASM = "asm"
    HOST = "host"

    __hash__ = object.__hash__  # as of DType

    def __str__(self) -> str:
        return self.value
