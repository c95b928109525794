"""What a call of `gemm` says beside its tensors, as `Session.invoke` takes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict


class GemmWords(TypedDict, total=False):
    """Arguments of `Library.gemm` that have values of their own when they are left out."""

    epilogue: Sequence[str]
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
    """One flat tuple of all of them."""
    return (
        "gemm", signature, dtype, quant, tuple(epilogue), alpha, preshuffled, mx_scale_shuffled,
        deterministic, batch_invariant, num_threads, strategy, instance, k_batch,
    )  # fmt: skip


PLAIN = gemm_words()
"""Of a call that says none: one object, so that most calls neither make a tuple nor compare one."""
