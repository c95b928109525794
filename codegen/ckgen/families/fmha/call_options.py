"""What a call of attention says beside its tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ckgen.families.common.said import Said


@dataclass(frozen=True, slots=True)
class FmhaOptions(Said):
    """signature: canonical name; without it, tensors and options say what it is.

    scale: of the scores; 1 / sqrt(hdim_q) where it is None. causal: the mask that ends at the last key. window: (left,
    right) columns beside that diagonal, below 0 for no limit. softcap: 0 for none. with_lse: lse is written. max_q and
    max_k: the longest sequences, of tensors with seqstart. dtype: of the result where `out` is left out. dropout: the
    share of P that is dropped, by the bytes of seed and offset. backward: gradients are what is written, with_dbias
    and with_dsink those of bias and sink too.
    """

    signature: str | None = None
    dtype: Any = None
    scale: float | None = None
    causal: bool = False
    window: tuple[int, int] | None = None
    top_left: bool = False
    sink_tokens: int = 0
    softcap: float = 0.0
    with_lse: bool = False
    max_q: int = 0
    max_k: int = 0
    dropout: float = 0.0
    seed: int = 0
    offset: int = 0
    backward: bool = False
    with_dbias: bool = False
    with_dsink: bool = False
