"""The short forms of a signature that users say, such as `a8w8:int8:fp16`, `grouped:bf16` or `moe:bf16:gated:silu`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ckgen.families.common.name_words import alias_words
from ckgen.families.common.spelling import hint_of, same_words
from ckgen.families.gemm.enums import ACTIVATIONS, EpilogueOp, Layout, MoeTraits, Op
from ckgen.families.gemm.modules import SignatureTemplate, templates
from ckgen.model.dtype import DType
from ckgen.model.errors import UsageError
from ckgen.model.op_words import OUTS
from ckgen.model.suggestion import nearest

_DTYPES = {dtype.value: dtype for dtype in DType}
_ACTIVATIONS = {op.value: op for op in ACTIVATIONS}
_MOE = "moe."
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
    said: dict[str, Any] = field(default_factory=dict)
    activation: list[EpilogueOp] = field(default_factory=list)

    def take(self, token: str) -> bool:
        """Whether the word is one that may still come."""
        dtype = _DTYPES.get(token)
        if dtype and self.operand is None and self.template.admits(dtype):
            self.operand = dtype
        elif dtype and self.out is None and dtype in OUTS:
            self.out = dtype
        else:
            return self._take_field(token)
        return True

    def _take_field(self, token: str) -> bool:
        name, value = alias_words(self.op.value).get(token, ("", None))
        if name and name not in self.said:
            self.said[name] = value
        elif self.op is Op.MOE and token in _ACTIVATIONS and not self.activation:
            self.activation.append(_ACTIVATIONS[token])
        else:
            return False
        return True

    @property
    def moe(self) -> MoeTraits:
        """What was said of an MoE layer."""
        return MoeTraits(**{key.removeprefix(_MOE): value for key, value in self.said.items() if key.startswith(_MOE)})

    def known(self) -> list[str]:
        """Every word that may stand there."""
        fields = [*alias_words(self.op.value), *(_ACTIVATIONS if self.op is Op.MOE else ())]
        return [*map(str, self.template.operands), *sorted(map(str, OUTS)), *fields]


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
    layout, bias = words.said.get("layout"), words.said.get("bias", False)
    return Said(template, operand, out, layout, bias, op, words.moe, tuple(words.activation))


def _unknown(what: str, got: str, known: Iterable[str], known_as: str) -> str:
    names = list(known)
    near = same_words(got, names) or nearest(got, names)
    return f"unknown {what}: '{got}'{hint_of(near)} ({known_as} {', '.join(names)})"
