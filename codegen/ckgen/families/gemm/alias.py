"""The short forms of a signature that users say, such as `a8w8:int8:fp16`, `grouped:bf16` or `moe:bf16:gated:silu`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ckgen.families.gemm.enums import ACTIVATIONS, NO_MOE, EpilogueOp, Layout, MoePart, MoeTraits, Op
from ckgen.families.gemm.modules import SignatureTemplate, templates
from ckgen.model.dtype import DType
from ckgen.model.errors import UsageError
from ckgen.model.op_words import OUTS

_DTYPES = {dtype.value: dtype for dtype in DType}
_LAYOUTS = {layout.value: layout for layout in Layout}
_PARTS = {part.value: part for part in MoePart}
_ACTIVATIONS = {op.value: op for op in ACTIVATIONS}
OP_WORDS = {op.alias: op for op in Op if op.alias}
"""What stands before an alias of another op than gemm, with a colon."""


@dataclass(frozen=True, slots=True)
class Said:
    """What an alias names, with its template's own types where it leaves them open."""

    template: SignatureTemplate
    operand: DType
    out: DType
    layout: Layout | None
    bias: bool
    op: Op
    moe: MoeTraits
    activation: tuple[EpilogueOp, ...]


@dataclass(slots=True)
class _Words:
    """The words behind an alias's head, each kind taken once."""

    template: SignatureTemplate
    op: Op
    operand: DType | None = None
    out: DType | None = None
    layout: Layout | None = None
    bias: bool = False
    part: MoePart | None = None
    moe: MoeTraits = NO_MOE
    activation: list[EpilogueOp] = field(default_factory=list)

    def take(self, token: str) -> bool:
        """Whether the word is one that may still come."""
        dtype = _DTYPES.get(token)
        if dtype and self.operand is None and self.template.admits(dtype):
            self.operand = dtype
        elif dtype and self.out is None and dtype in OUTS:
            self.out = dtype
        elif token in _LAYOUTS and self.layout is None:
            self.layout = _LAYOUTS[token]
        elif token == "bias" and not self.bias:
            self.bias = True
        else:
            return self.op is Op.MOE and self._take_moe(token)
        return True

    def _take_moe(self, token: str) -> bool:
        if token in _PARTS and self.part is None:
            self.part = _PARTS[token]
            self.moe = replace(self.moe, part=self.part)
        elif token in _ACTIVATIONS and not self.activation:
            self.activation.append(_ACTIVATIONS[token])
        elif token == "gated" and not self.moe.gated:
            self.moe = replace(self.moe, gated=True)
        elif token == "weightfirst" and not self.moe.weight_first:
            self.moe = replace(self.moe, weight_first=True)
        else:
            return False
        return True

    def known(self) -> list[str]:
        """Every word that may stand there."""
        moe = [*_PARTS, "gated", "weightfirst", *_ACTIVATIONS] if self.op is Op.MOE else []
        return [*map(str, self.template.operands), *sorted(map(str, OUTS)), *_LAYOUTS, "bias", *moe]


def parse_alias(text: str) -> Said:
    """What the alias says; UsageError names the word that is not known, and those that are."""
    first, _, behind = text.partition(":")
    op = OP_WORDS.get(first, Op.GEMM)
    head, *tokens = (behind if op is not Op.GEMM else text).split(":")
    template = templates().get(head)
    if template is None:
        raise UsageError(_unknown("signature", head, templates(), "a canonical gemm_… name or one of"))
    words = _Words(template, op)
    for token in tokens:
        if not words.take(token):
            problem = _unknown(f"word after {head}", token, words.known(), "each once:")
            raise UsageError(f"{problem} in '{text}'")
    operand = words.operand or template.operand
    if operand is None:
        choices = " or ".join(f"{head}:{dtype}" for dtype in template.operands)
        raise UsageError(f"'{text}' does not say the type of its operands: {choices}")
    out = words.out or template.out
    return Said(template, operand, out, words.layout, words.bias, op, words.moe, tuple(words.activation))


def _unknown(what: str, got: str, known: Iterable[str], known_as: str) -> str:
    from difflib import get_close_matches

    names = list(known)
    close = get_close_matches(got, names, n=1)
    hint = f"; did you mean '{close[0]}'?" if close else ""
    return f"unknown {what}: '{got}'{hint} ({known_as} {', '.join(names)})"
