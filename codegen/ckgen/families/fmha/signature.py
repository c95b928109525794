"""WHAT attention computes: types and traits, one canonical name, and why a combination means nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from ckgen.families.fmha.enums import FmhaBias, FmhaDropout, FmhaEntry, FmhaKv, FmhaKvLayout, FmhaQuant, FmhaRope
from ckgen.families.fmha.enums import FmhaTraits as FmhaTraits
from ckgen.model.dtype import DType, Fp8Flavour, take_dtypes
from ckgen.model.errors import UsageError

OP = "fmha"
FLOAT8 = frozenset({
    DType.FP8, DType.BF8, DType.FP8_FNUZ, DType.FP8_OCP, DType.BF8_FNUZ, DType.BF8_OCP,
})  # fmt: skip
WIDE = frozenset({DType.FP32, DType.FP16, DType.BF16})
FORM = (
    "fmha_<dtypes>[_append][_varlen][_vcolumn][_masked][_elementwise|_alibi][_softcap][_sink][_lse][_dropout|_randval]"
    "[_pertensor|_blockscale|_kvblockscale][_blocktable|_pagelist][_vectorized][_rope_interleaved|_rope_half]"
)
NO_TRAITS = FmhaTraits()
_ROPE_WORDS = {f"rope_{rope}": rope for rope in FmhaRope if rope is not FmhaRope.NONE}


@dataclass(frozen=True, slots=True)
class FmhaSignature:
    """O = softmax(scale · Q·Kᵀ, masked and biased)·V as `ckgen/fmha.hpp` says: Q's type is a, K's and V's b, O's c.

    Sums are fp32, whatever the types.
    """

    op: ClassVar[str] = OP
    a: DType
    b: DType
    c: DType
    traits: FmhaTraits = NO_TRAITS

    @classmethod
    def of(cls, a: DType, c: DType | None = None, *, b: DType | None = None, **traits: object) -> FmhaSignature:
        """A signature of Q's type; that of K and V, and of O, are the same unless said."""
        return cls(a, b or a, c or a, replace(NO_TRAITS, **traits))  # type: ignore[arg-type]

    def problems(self) -> tuple[str, ...]:
        """Why this combination of fields means nothing; empty for a legal signature."""
        return tuple(_problems(self))

    def resolved(self, flavour: Fp8Flavour | None) -> FmhaSignature:
        """The same with plain fp8 and bf8 in the arch's flavour."""
        a, b, c = (dtype.resolve(flavour) for dtype in (self.a, self.b, self.c))
        return self if (a, b, c) == (self.a, self.b, self.c) else replace(self, a=a, b=b, c=c)

    def canonical(self) -> str:
        """The one identifier-safe name: injective over all field values, inverse of `parse_canonical`."""
        return "_".join([OP, *self._dtypes(), *trait_words(self.traits)])

    def describe(self) -> str:
        """The form for people, as in `fmha bf16·bf16→bf16 masked lse`."""
        return " ".join([OP, f"{self.a}·{self.b}→{self.c}", *trait_words(self.traits)])

    def _dtypes(self) -> list[str]:
        if self.a is not self.b:
            return [str(self.a), str(self.b), str(self.c)]
        return [str(self.a)] if self.a is self.c else [str(self.a), str(self.c)]

    def __str__(self) -> str:
        return self.canonical()


def trait_words(traits: FmhaTraits) -> list[str]:
    """The words that say the traits, in the order of a name."""
    flags = (
        ("append", traits.entry is FmhaEntry.APPEND),
        ("varlen", traits.varlen),
        ("vcolumn", traits.v_column),
        ("masked", traits.masked),
        (str(traits.bias), traits.bias is not FmhaBias.NONE),
        ("softcap", traits.softcap),
        ("sink", traits.sink),
        ("lse", traits.lse),
        (str(traits.dropout), traits.dropout is not FmhaDropout.NONE),
        (str(traits.quant), traits.quant is not FmhaQuant.NONE),
        (str(traits.kv), traits.kv is not FmhaKv.CONTIGUOUS),
        ("vectorized", traits.kv_layout is FmhaKvLayout.VECTORIZED),
        (f"rope_{traits.rope}", traits.rope is not FmhaRope.NONE),
    )
    return [word for word, present in flags if present]


def parse_canonical(text: str) -> FmhaSignature:
    """The signature that `canonical()` prints as `text`; UsageError for any other text."""
    op, *words = text.split("_")
    dtypes, rest = take_dtypes(words)
    if op == OP and 1 <= len(dtypes) <= 3:
        b = dtypes[1] if len(dtypes) == 3 else dtypes[0]
        signature = FmhaSignature(dtypes[0], b, dtypes[-1], _traits_of(rest))
        if signature.canonical() == text:
            return signature
    raise UsageError(f"not a canonical signature: '{text}' (expected {FORM})")


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
    text = f"_{'_'.join(words)}_"
    return FmhaTraits(
        entry=FmhaEntry.APPEND if "append" in words else FmhaEntry.FORWARD,
        varlen="varlen" in words,
        v_column="vcolumn" in words,
        masked="masked" in words,
        bias=next((bias for bias in FmhaBias if bias.value in words), FmhaBias.NONE),
        softcap="softcap" in words,
        sink="sink" in words,
        lse="lse" in words,
        dropout=next((dropout for dropout in FmhaDropout if dropout.value in words), FmhaDropout.NONE),
        quant=next((quant for quant in FmhaQuant if quant.value in words), FmhaQuant.NONE),
        kv=next((kv for kv in FmhaKv if kv.value in words), FmhaKv.CONTIGUOUS),
        kv_layout=FmhaKvLayout.VECTORIZED if "vectorized" in words else FmhaKvLayout.LINEAR,
        rope=next((rope for word, rope in _ROPE_WORDS.items() if f"_{word}_" in text), FmhaRope.NONE),
    )


def _problems(signature: FmhaSignature) -> Iterator[str]:
    yield from _type_problems(signature)
    yield from _trait_problems(signature)


def _type_problems(signature: FmhaSignature) -> Iterator[str]:
    a, b, c, quant = signature.a, signature.b, signature.c, signature.traits.quant
    if a not in WIDE | FLOAT8:
        yield f"Q cannot be {a}"
    elif b is not a and not (b in FLOAT8 and a in (DType.FP16, DType.BF16)):
        yield f"K and V cannot be {b} beside Q of {a}"
    if c not in WIDE | FLOAT8:
        yield f"O cannot be {c}"
    elif a not in FLOAT8 and c is not a:
        yield f"O of Q in {a} is not {c}"
    if (quant is FmhaQuant.NONE) == bool({a, b} & FLOAT8):
        yield "8-bit types have descales, and others none"


def _trait_problems(signature: FmhaSignature) -> Iterator[str]:
    traits = signature.traits
    appends = traits.entry is FmhaEntry.APPEND
    if traits.rope is not FmhaRope.NONE and not appends:
        yield "only append rotates"
    if appends:
        yield from _append_problems(signature)
    if traits.kv_layout is FmhaKvLayout.VECTORIZED and not traits.is_paged:
        yield "only pages are vectorized"
    if traits.quant is FmhaQuant.KV_BLOCKSCALE and not traits.is_paged:
        yield "only pages have descales of their own"
    if traits.v_column and traits.is_paged:
        yield "pages say where V lies"
    if traits.softcap and traits.bias is not FmhaBias.NONE:
        yield "softcap goes without a bias"


def _append_problems(signature: FmhaSignature) -> Iterator[str]:
    traits = signature.traits
    given = {
        "a mask": traits.masked,
        "a bias": traits.bias is not FmhaBias.NONE,
        "softcap": traits.softcap,
        "a sink": traits.sink,
        "lse": traits.lse,
        "dropout": traits.dropout is not FmhaDropout.NONE,
    }
    yield from (f"append has no use for {what}" for what, present in given.items() if present)
