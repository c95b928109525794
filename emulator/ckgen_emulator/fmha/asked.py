"""An attention problem to emulate, as a command line says it: sizes as KEY=VALUE, and lengths of unequal sequences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ckgen.families.fmha.append_problem import appends
from ckgen.families.fmha.asked import asked_shape
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.model.errors import UsageError
from ckgen.model.fmha_shape import FmhaShape
from ckgen_emulator.fmha.append import AppendProblem
from ckgen_emulator.fmha.problem import FmhaProblem
from ckgen_emulator.gemm.problem import Data

_LENGTHS = re.compile(r"(?:([1-9][0-9]{0,3})\*)?([0-9]{1,7})[x+]([0-9]{1,7})")
_FOLLOW = ("pages", "total_q", "min_seqlen_k", "gaps_q")
"""Sizes that follow from the lengths."""
_MOST_SEQUENCES = 4096


@dataclass(frozen=True, slots=True)
class AskedFmha:
    """`sizes`: KEY=VALUE; `lengths`: QxK of each sequence, of append BEFORE+NEW; equal splits of the keys."""

    sizes: tuple[str, ...]
    lengths: str | None = None
    splits: int = 1
    seed: int = 0
    data: Data = Data.SMALL_INTEGERS


def problem_of(signature: FmhaSignature, asked: AskedFmha) -> FmhaProblem | AppendProblem:
    """The problem of a kernel of the signature; UsageError for what means nothing or is missing."""
    for word in asked.sizes:
        if word.partition("=")[0] in _FOLLOW:
            raise UsageError(f"'{word}': it follows from the lengths")
    return _append(signature, asked) if appends(signature.traits) else _forward(signature, asked)


def _forward(signature: FmhaSignature, asked: AskedFmha) -> FmhaProblem:
    shape, lengths_q, lengths_k = _sizes(signature, asked, ("seqlen_q", "seqlen_k"), "x")
    if not signature.traits.varlen and len(set(lengths_q)) > 1:
        raise UsageError(f"--lengths: sequences of {signature} have the same rows of Q, as it is not varlen")
    return FmhaProblem(
        lengths_q, lengths_k, shape.heads_q, shape.heads_k, shape.hdim_q, shape.hdim_v, shape.corner, shape.window_left,
        shape.window_right, shape.sink_tokens, seed=asked.seed, page_size=_page_size(signature, shape),
        splits=asked.splits, finite_kv=shape.finite_kv, data=asked.data,
    )  # fmt: skip


def _append(signature: FmhaSignature, asked: AskedFmha) -> AppendProblem:
    if asked.splits > 1:
        raise UsageError("--splits: a kernel that appends has none")
    shape, before, added = _sizes(signature, asked, ("seqlen_k", "seqlen_new"), "+")
    if not signature.traits.varlen and len(set(added)) > 1:
        raise UsageError(f"--lengths: sequences of {signature} get as many new rows each, as it is not varlen")
    return AppendProblem(
        before, added, shape.heads_q, shape.heads_k, shape.hdim_q, shape.hdim_v, _page_size(signature, shape),
        shape.rotary_dim, seed=asked.seed, data=asked.data,
    )  # fmt: skip


def _sizes(
    signature: FmhaSignature, asked: AskedFmha, names: tuple[str, str], sign: str
) -> tuple[FmhaShape, tuple[int, ...], tuple[int, ...]]:
    """The sizes, and both lengths of each sequence: of --lengths, whose largest the sizes then have, or all alike."""
    pairs = _lengths(asked.lengths, sign)
    said = [word.partition("=")[0] for word in asked.sizes]
    words: Sequence[str] = asked.sizes
    if pairs:
        for name in ("batch", *names):
            if name in said:
                raise UsageError(f"{name} stands beside --lengths, which says it")
        largest = (max(column) for column in zip(*pairs, strict=True))
        derived = {"batch": len(pairs), **dict(zip(names, largest, strict=True))}
        words = (*asked.sizes, *(f"{name}={value}" for name, value in derived.items()))
    shape = asked_shape(signature, words)
    if not 1 <= shape.batch <= _MOST_SEQUENCES:
        raise UsageError(f"batch={shape.batch}: from 1 to {_MOST_SEQUENCES} sequences")
    alike = (getattr(shape, names[0]), getattr(shape, names[1]))
    first, second = zip(*(pairs or [alike] * shape.batch), strict=True)
    return shape, first, second


def _lengths(text: str | None, sign: str) -> list[tuple[int, int]]:
    if text is None:
        return []
    found: list[tuple[int, int]] = []
    for word in text.split(","):
        match = _LENGTHS.fullmatch(word.strip())
        if match is None or sign not in word:
            form = "QxK,…, as in 5x66,3*1x128" if sign == "x" else "BEFORE+NEW,…, as in 40+1,3*0+16"
            raise UsageError(f"--lengths takes {form}; got '{word.strip()}'")
        found += [(int(match[2]), int(match[3]))] * int(match[1] or 1)
    if len(found) > _MOST_SEQUENCES:
        raise UsageError(f"--lengths: at most {_MOST_SEQUENCES} sequences, got {len(found)}")
    return found


def _page_size(signature: FmhaSignature, shape: FmhaShape) -> int:
    if signature.traits.is_paged and shape.page_size < 1:
        raise UsageError(f"{signature} needs page_size=…")
    return shape.page_size
