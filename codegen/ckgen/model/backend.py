"""Who turns a Config into code."""

from __future__ import annotations

from ckgen.model.word import Word


class Backend(Word):
    """CK_TILE and CK are Composable Kernel's two APIs; HOST is the CPU as a target."""

    CK_TILE = "ck_tile"
    CK = "ck"
    HIP = "hip"
    ASM = "asm"
    HOST = "host"
