"""The small vocabularies of a GEMM signature."""

from __future__ import annotations

from enum import Enum


class Layout(Enum):
    """Row or column major of A, B and C; with B as N rows of K elements, weights are `c` and the layout is `rcr`."""

    RCR = "rcr"
    RRR = "rrr"
    CCR = "ccr"
    CRR = "crr"

    def __str__(self) -> str:
        return self.value


class Quant(Enum):
    """Which elements of A and B share a scale.

    PER_TENSOR: all. ROWWISE: each row of A, each column of C. BLOCKSCALE: 1x128 of A, 128x128 of B. MX: 32 along K.
    """

    NONE = "none"
    PER_TENSOR = "per_tensor"
    ROWWISE = "rowwise"
    BLOCKSCALE = "blockscale"
    MX = "mx"

    def __str__(self) -> str:
        return self.value
