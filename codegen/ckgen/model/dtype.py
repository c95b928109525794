"""Element types, spelt alike in Python, C++, JSON and docs."""

from __future__ import annotations

from ckgen.model.op_words import DType as DType
from ckgen.model.op_words import Fp8Flavour as Fp8Flavour

_WORDS = {dtype.value: dtype for dtype in DType}


def take_dtypes(words: list[str]) -> tuple[list[DType], list[str]]:
    """The types that the words of a name begin with, each of one word or two, and the words behind them."""
    found: list[DType] = []
    while words:
        taken = next((n for n in (2, 1) if "_".join(words[:n]) in _WORDS), 0)
        if not taken:
            break
        found.append(_WORDS["_".join(words[:taken])])
        words = words[taken:]
    return found, words


TORCH_NAMES = {dtype.torch: dtype for dtype in DType if dtype.torch}
"""How the public tuning tables spell an element type."""
