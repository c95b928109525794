"""What calls of `gemm` and `grouped` say beside their tensors, as `Session.invoke` takes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, TypedDict, Unpack

from ckgen.families.gemm.call import GemmOptions


class GroupedWords(TypedDict, total=False):
    """Arguments of `Library.grouped` that have values of their own when they are left out."""

    alpha: float
    dtype: Any
    quant: str | None
    preshuffled: bool
    mx_scale_shuffled: bool
    signature: str | None
    deterministic: bool
    batch_invariant: bool
    num_threads: int
    strategy: str
    instance: str | None
    k_batch: int


class GemmWords(GroupedWords, total=False):
    """Those of `Library.gemm`."""

    epilogue: Sequence[str]


def gemm_words(
    *,
    epilogue: Sequence[str] = (),
    alpha: float = 1.0,
    dtype: Any = None,
    quant: str | None = None,
    preshuffled: bool = False,
    mx_scale_shuffled: bool = False,
    signature: str | None = None,
    deterministic: bool = False,
    batch_invariant: bool = False,
    num_threads: int = 0,
    strategy: str = "any",
    instance: str | None = None,
    k_batch: int = 1,
) -> tuple[Any, ...]:
    """One flat tuple of all of them; a function that names each is the quickest way to one."""
    return (
        "gemm", signature, dtype, quant, tuple(epilogue), alpha, preshuffled, mx_scale_shuffled,
        deterministic, batch_invariant, num_threads, strategy, instance, k_batch,
    )  # fmt: skip


def grouped_words(groups: int, **words: Unpack[GroupedWords]) -> tuple[Any, ...]:
    """The same of `Library.grouped`, called with so many groups."""
    _, *said = gemm_words(**words)
    return ("grouped_gemm", *said[:_OPTIONS], groups, *said[_OPTIONS:])


_OPTIONS = len(fields(GemmOptions))

PLAIN = gemm_words()
"""Of a GEMM that says none: one object, so that most calls neither make a tuple nor compare one."""
