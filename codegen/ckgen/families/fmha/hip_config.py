"""HOW ckgen's own HIP kernel computes attention over a KV cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.dtype import DType
from ckgen.model.hash_once import HashOnce, hash_once

ROWS = 16
WAVES = 4
WAVE_SIZE = 64
LOAD_BYTES = 16
MOST_SPLITS = 128
_PRODUCTS = {
    DType.BF16: {"v_mfma_f32_16x16x32_bf16": 1, "v_mfma_f32_16x16x16_bf16": 2, "v_mfma_f32_16x16x16bf16_1k": 2},
    DType.FP16: {"v_mfma_f32_16x16x32_f16": 1, "v_mfma_f32_16x16x16_f16": 2, "v_mfma_f32_16x16x16f16": 2},
}
"""Matrix instructions by names of archs, the largest first, and how many of them multiply two fragments."""


@hash_once
@dataclass(frozen=True, slots=True)
class HipFmhaConfig(HashOnce):
    """A workgroup has m0 rows, queries x query heads of one KV head, and all columns of V; a step takes n0 keys.

    hdim_q and hdim_v are the head dims of Q and V, as they are.
    """

    backend: ClassVar[Backend] = Backend.HIP
    m0: int
    n0: int
    hdim_q: int
    hdim_v: int

    @property
    def waves(self) -> tuple[int, int, int]:
        """Waves along M, N, K: they share the keys."""
        return (1, 1, WAVES)

    @property
    def macro_tile(self) -> Tile:
        """Rows and columns of V per workgroup, and keys per step."""
        return Tile(self.m0, self.hdim_v, self.n0)

    @property
    def k_grain(self) -> int:
        """Keys are taken one by one at their end."""
        return 1

    def text(self) -> str:
        """The tile, then the head dims."""
        return f"decode_{self.m0}x{self.n0}_{self.hdim_q}x{self.hdim_v}"


def product_of(dtype: DType, arch: ArchSpec) -> tuple[str, int] | None:
    """The arch's matrix instruction for Q of that type, and how many multiply two fragments; None: it has none."""
    known = _PRODUCTS.get(dtype, {}).items()
    return next(((name, issues) for name, issues in known if arch.instruction(name) is not None), None)


def step_of(kv_bits: int) -> int:
    """Keys per step, of that many bits in an element of K and V: 16 bytes of each key and lane group of each wave."""
    return WAVES * 4 * LOAD_BYTES * 8 // kv_bits
