"""Where the lanes of an instruction that a random program holds go: in strides, in another order, some of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from ckgen_emulator.bindings import LANES


@dataclass(frozen=True)
class Spread:
    """Lane l of `mask` touches `size` bytes from `base` + `stride` (l xor `twist`) on."""

    kind: str
    size: int
    base: int
    stride: int
    twist: int
    mask: int

    def places(self) -> Iterator[tuple[int, int]]:
        """Lanes and their first bytes."""
        for lane in range(LANES):
            if self.mask >> lane & 1:
                yield lane, self.base + self.stride * (lane ^ self.twist)

    def around(self, text: str) -> str:
        """The lines with v5 as the lane's place (v0 is the lane), for the lanes of the mask."""
        return f"""
        v_xor_b32 v5, {self.twist}, v0
        v_mul_u32_u24 v5, {self.stride}, v5
        v_add_u32 v5, {self.base:#x}, v5
        s_mov_b32 exec_lo, {self.mask & 0xFFFFFFFF:#x}
        s_mov_b32 exec_hi, {self.mask >> 32:#x}
        {text}
        s_mov_b64 exec, -1
        """


def drawn_places(dice: random.Random, kind: str, sizes: list[int]) -> tuple[int, int, int, int]:
    """Size, base, stride and mask; an atomic's are whole words of 64 bits."""
    size = dice.choice(sizes)
    stride = dice.choice((size, size, size, 4, 16, 20))
    base = dice.choice((0, 0, 0, 16, 64, 256, 4 * dice.randrange(100), dice.randrange(400)))
    if kind in ("atomic", "sum"):
        base, stride = base // 8 * 8, (stride + 7) // 8 * 8
    mask = dice.choice((2**64 - 1, 2**64 - 1, 1 << dice.randrange(64), dice.randrange(1, 2**64)))
    return size, base, stride, mask
