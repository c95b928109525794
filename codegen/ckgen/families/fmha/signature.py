"""WHAT attention computes: types and traits, one canonical name, and why a combination means nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar

from ckgen.families.common import signature_check
from ckgen.families.common.flavoured import Flavoured
from ckgen.families.common.name_words import fields_said, name_words
from ckgen.families.common.spelling import hint_of, respelt
from ckgen.families.fmha.enums import FmhaTraits as FmhaTraits
from ckgen.model import op_words
from ckgen.model.dtype import DType, Fp8Flavour, take_dtypes
from ckgen.model.errors import UsageError
from ckgen.model.hash_once import HashOnce, hash_once

OP = "fmha"
FLOAT8 = frozenset(op_words.FLOAT8)
WIDE = frozenset(op_words.NARROW)
FORM = (
    "fmha_<dtypes>[_append|_bwd][_varlen][_vcolumn][_masked][_elementwise|_alibi][_softcap][_sink][_lse][_dropout|_randval]"
    "[_pertensor|_blockscale|_kvblockscale][_blocktable|_pagelist][_vectorized][_rope_interleaved|_rope_half]"
)
NO_TRAITS = FmhaTraits()


@hash_once
@dataclass(frozen=True, slots=True)
class FmhaSignature(HashOnce, Flavoured):
    """O = softmax(scale · Q·Kᵀ, masked and biased)·V as `ckgen/fmha.hpp` says: Q's type is a, K's and V's b, O's c.

    Sums are fp32, whatever the types.
    """

    op: ClassVar[str] = OP
    acc: ClassVar[DType] = DType.FP32
    scale: ClassVar[DType | None] = None
    a: DType
    b: DType
    c: DType
    traits: FmhaTraits = NO_TRAITS

    @classmethod
    def of(cls, a: DType, c: DType | None = None, *, b: DType | None = None, **traits: object) -> FmhaSignature:
        """A signature of Q's type; that of K and V, and of O, are the same unless said."""
        return cls(a, b or a, c or a, replace(NO_TRAITS, **traits))  # type: ignore[arg-type]

    @property
    def fmha(self) -> FmhaTraits:
        """The traits, by the name that C++ has for them."""
        return self.traits

    def problems(self) -> tuple[str, ...]:
        """Why this combination of fields means nothing; empty for a legal signature."""
        return _problems(self)

    def broken(self) -> Iterator[tuple[str, str]]:
        """The same with the rules' ids before them."""
        return signature_check.broken_rules(self, {})

    def canonical(self) -> str:
        """The one identifier-safe name: injective over all field values, inverse of `parse_canonical`."""
        return _canonical(self)

    def describe(self) -> str:
        """The form for people, as in `fmha bf16·bf16→bf16 masked lse`."""
        return " ".join([OP, f"{self.a}·{self.b}→{self.c}", *name_words(self)])

    def __str__(self) -> str:
        return self.canonical()


@cache
def _problems(signature: FmhaSignature) -> tuple[str, ...]:
    return tuple(signature_check.problems(signature, {}))


@cache
def _canonical(signature: FmhaSignature) -> str:
    return "_".join([OP, *_dtypes(signature), *name_words(signature)])


def _dtypes(signature: FmhaSignature) -> list[str]:
    a, b, c = signature.a, signature.b, signature.c
    if a is not b:
        return [str(a), str(b), str(c)]
    return [str(a)] if a is c else [str(a), str(c)]


def parse_canonical(text: str) -> FmhaSignature:
    """The signature that `canonical()` prints as `text`; UsageError for any other text."""
    op, *words = text.split("_")
    signature = _read(words) if op == OP else None
    if signature is not None and signature.canonical() == text:
        return signature
    right = respelt(text, words, (), _read) if op == OP else None
    raise UsageError(f"not a canonical signature: '{text}'{hint_of(right)} (expected {FORM})")


def _read(words: list[str]) -> FmhaSignature | None:
    """What the words behind `fmha` say; None if they say no types. Order is the caller's round trip to check."""
    dtypes, rest = take_dtypes(words)
    if not 1 <= len(dtypes) <= 3:
        return None
    b = dtypes[1] if len(dtypes) == 3 else dtypes[0]
    return FmhaSignature(dtypes[0], b, dtypes[-1], _traits_of(rest))


def parse_signature(text: str, flavour: Fp8Flavour | None) -> FmhaSignature:
    """The signature of a canonical name, or of what follows `fmha_` in one, alone or behind `fmha:`."""
    rest = text.removeprefix(f"{OP}:") if text.startswith(f"{OP}:") else text.removeprefix(f"{OP}_")
    signature = parse_canonical(f"{OP}_{rest}").resolved(flavour)
    reasons = signature.problems()
    if reasons:
        raise UsageError(f"'{text}' means nothing: {'; '.join(reasons)}")
    return signature


def _traits_of(words: list[str]) -> FmhaTraits:
    """What the words say, in any order; the caller checks that they come back."""
    said = fields_said(OP, words)
    return FmhaTraits(**{name.removeprefix(f"{OP}."): value for name, value in said.items()})
