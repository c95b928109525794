"""What calls of `gemm` and `grouped` say beside their tensors, as `Session.invoke` takes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, TypedDict

from ckgen.families.gemm.call import GemmOptions
from ckgen.families.grouped_gemm.call import GroupedOptions
from ckgen.runtime.session import CallWishes


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


def gemm_words(words: GemmWords) -> tuple[Any, ...]:
    """One flat tuple of all words of `Library.gemm`; TypeError for another one."""
    return _flat(_OF_GEMM, words)


def grouped_words(words: GroupedWords, groups: int) -> tuple[Any, ...]:
    """The same of `Library.grouped`, called with so many groups."""
    if "groups" in words:
        raise _unexpected("groups")
    return _flat(_OF_GROUPS, {**words, "groups": groups})


def _flat(defaults: Mapping[str, Any], said: Mapping[str, Any]) -> tuple[Any, ...]:
    every = {**defaults, **said}
    if len(every) != len(defaults):
        raise _unexpected(next(word for word in said if word not in defaults))
    if "epilogue" in said:
        every["epilogue"] = tuple(said["epilogue"])  # a list has no hash
    return tuple(every.values())


def _unexpected(word: str) -> TypeError:
    return TypeError(f"unexpected keyword argument {word!r}")


def _defaults(op: str, options: type[GemmOptions]) -> dict[str, Any]:
    """In the order of `Session.invoke`."""
    return {"": op} | {one.name: one.default for kind in (options, CallWishes) for one in fields(kind)}


_OF_GEMM = _defaults("gemm", GemmOptions)
_OF_GROUPS = _defaults("grouped_gemm", GroupedOptions)

PLAIN = gemm_words({})
"""Of a GEMM that says none: one object, so that most calls neither make a tuple nor compare one."""
