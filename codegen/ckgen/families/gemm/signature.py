"""WHAT a GEMM computes: its canonical name, and the aliases that users and tables say instead."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from ckgen.families.common.flavoured import Flavoured
from ckgen.families.common.name_words import fields_said, name_words
from ckgen.families.common.spelling import hint_of, respelt
from ckgen.families.gemm.alias import OP_WORDS, parse_alias
from ckgen.families.gemm.enums import (
    ACTIVATIONS,
    NO_MOE,
    USUAL_SCALE_BLOCK,
    EpilogueOp,
    Layout,
    MoePart,
    MoeTraits,
    Op,
    OperandOp,
    Quant,
    ScaleBlock,
)
from ckgen.families.gemm.modules import SignatureTemplate, modules, templates
from ckgen.families.gemm.signature_fields import GemmFields
from ckgen.families.gemm.signature_rules import default_acc, default_scale, problems
from ckgen.families.gemm.signature_words import (
    epilogue_of,
    op_of,
    operand_op_of,
    scale_block_of,
)
from ckgen.model.dtype import DType, Fp8Flavour, take_dtypes
from ckgen.model.errors import UsageError
from ckgen.model.hash_once import hash_once
from ckgen.model.tuned_row import Discriminators, ExpertProduct

_MOE = "moe."
_LAYOUTS = {layout.value: layout for layout in Layout}
_FORM = (
    "<gemm|grouped_gemm|moe>_<dtypes>_<layout>[_<quant>][_preshuffle][_batched][_bias][_<layer|"
    "gate_up|down>[_gated][_weightfirst]][_acc_<dtype>][_scale_<dtype>][_scales_<both|a|b>_<n>x"
    "<k>][_a_<op>][_b_<op>][_epi_<op>…]"
)


@hash_once
@dataclass(frozen=True, slots=True)
class GemmSignature(GemmFields, Flavoured):
    """WHAT a GEMM computes, with its names: one canonical, one for people."""

    @classmethod
    def of(
        cls,
        a: DType,
        c: DType,
        *,
        b: DType | None = None,
        layout: Layout = Layout.RCR,
        quant: Quant = Quant.NONE,
        preshuffle_b: bool = False,
        batched: bool = False,
        bias: bool = False,
        epilogue: tuple[EpilogueOp, ...] = (),
        a_op: OperandOp = OperandOp.NONE,
        b_op: OperandOp = OperandOp.NONE,
        scale_block: ScaleBlock = USUAL_SCALE_BLOCK,
        op: Op = Op.GEMM,
        moe: MoeTraits = NO_MOE,
    ) -> GemmSignature:
        """A signature with the usual accumulator and scale types, and B like A unless said."""
        b = a if b is None else b
        acc, scale = default_acc(a, b), default_scale(quant)
        extras = (epilogue, a_op, b_op, scale_block, op, moe)
        return cls(a, b, c, acc, scale, layout, quant, preshuffle_b, batched, bias, *extras)

    def problems(self) -> tuple[str, ...]:
        """Why this combination of fields means nothing; empty for a legal signature."""
        return _problems(self)

    def canonical(self) -> str:
        """The one identifier-safe name: injective over all field values, inverse of `parse_canonical`."""
        return _canonical(self)

    def describe(self) -> str:
        """The form for people, as in `a8w8_blockscale fp8_fnuz·fp8_fnuz→bf16 rcr`."""
        words = [_head_of(self), f"{self.a}·{self.b}→{self.c}", str(self.layout)]
        if self.bias:
            words.append("bias")
        words += name_words(self, _MOE)
        words += [f"{side} {op}" for side, op in (("a", self.a_op), ("b", self.b_op)) if op is not OperandOp.NONE]
        if self.epilogue:
            words += ["epi", *map(str, self.epilogue)]
        if self.scale_block != USUAL_SCALE_BLOCK:
            words.append(f"scales {self.scale_block}")
        if self.acc is not default_acc(self.a, self.b):
            words.append(f"acc {self.acc}")
        if self.scale is not default_scale(self.quant):
            words.append(f"scale {self.scale or 'none'}")
        return " ".join(words)

    def __str__(self) -> str:
        return self.canonical()


@cache
def _canonical(signature: GemmSignature) -> str:
    parts = [signature.op.value, _dtypes(signature), *name_words(signature)]
    if signature.acc is not default_acc(signature.a, signature.b):
        parts.append(f"acc_{signature.acc}")
    if signature.scale is not default_scale(signature.quant):
        parts.append(f"scale_{signature.scale.value if signature.scale else 'none'}")
    if signature.scale_block != USUAL_SCALE_BLOCK:
        block = signature.scale_block
        parts.append(f"scales_{block.sides}_{block.n}x{block.k}")
    sides = (("a", signature.a_op), ("b", signature.b_op))
    parts += [f"{side}_{op}" for side, op in sides if op is not OperandOp.NONE]
    if signature.epilogue:
        parts += ["epi", *map(str, signature.epilogue)]
    return "_".join(parts)


def _dtypes(signature: GemmSignature) -> str:
    a, b, c = signature.a, signature.b, signature.c
    if a is not b:
        return f"{a}_{b}_{c}"
    return str(a) if a is c else f"{a}_{c}"


def parse_canonical(text: str) -> GemmSignature:
    """The signature that `canonical()` prints as `text`; UsageError for any other text."""
    op, words = op_of(text.split("_"))
    signature = _read(op, words) if op is not None else None
    if signature is not None and signature.canonical() == text:
        return signature
    right = respelt(text, words, _LAYOUTS, lambda words: _read(op, words)) if op is not None else None
    raise UsageError(f"not a canonical signature: '{text}'{hint_of(right)} (expected {_FORM})")


def _read(op: Op, words: list[str]) -> GemmSignature | None:
    """What the words behind that of `op` say; None if they say nothing. Order is the caller's round trip to check."""
    dtypes, rest = take_dtypes(words)
    if not 1 <= len(dtypes) <= 3 or not rest or rest[0] not in _LAYOUTS:
        return None
    a, b, c = (dtypes[0], dtypes[-2] if len(dtypes) > 1 else dtypes[0], dtypes[-1])
    return _with_options(op, a, b, c, _LAYOUTS[rest[0]], rest[1:])


def parse_signature(text: str, flavour: Fp8Flavour | None) -> GemmSignature:
    """The signature of a canonical name or of an alias such as `a8w8:int8:fp16`; UsageError says what is known."""
    if op_of(text.split("_"))[0] is not None:
        signature = parse_canonical(text).resolved(flavour)
    else:
        signature = _parse_alias(text).resolved(flavour)
    return _legal(signature, text)


def parse_of_op(op: Op, text: str, flavour: Fp8Flavour | None) -> GemmSignature:
    """The same for signatures of one op: `grouped:` and `moe:` before an alias may be left out."""
    word = next((word for word, known in OP_WORDS.items() if known is op), "")
    is_alias = bool(word) and op_of(text.split("_"))[0] is None
    prefixed = text if not is_alias or text.startswith(f"{word}:") else f"{word}:{text}"
    signature = parse_signature(prefixed, flavour)
    if signature.op is not op:
        raise UsageError(f"'{text}' is a signature of op {signature.op}, not of {op}")
    return signature


@cache
def signatures_of_row(
    module: str, discriminators: Discriminators, flavour: Fp8Flavour | None
) -> tuple[GemmSignature, ...]:
    """What a tuned row stands for: one signature for each output type that its table leaves open.

    A row of expert products stands for every part of a layer that has them.
    """
    entry = modules()[module]
    if discriminators.experts is not None:
        return _of_experts(entry.template, discriminators.experts)
    operand = discriminators.weight_dtype or discriminators.in_dtype or entry.template.operand
    if operand is None:
        raise UsageError(f"a row of {module} must name the type of its operands")
    outs = (discriminators.out_dtype,) if discriminators.out_dtype else entry.table_outs
    template = replace(
        entry.template,
        quant=Quant.PER_TENSOR if discriminators.scale_ab else entry.template.quant,
        preshuffle_b=entry.template.preshuffle_b or bool(discriminators.preshuffle_b),
    )
    found = (
        _of_template(template, operand, out, bias=bool(discriminators.bias), a=discriminators.in_dtype) for out in outs
    )
    return tuple(_legal(signature.resolved(flavour), f"row of {module}") for signature in found)


def _of_experts(template: SignatureTemplate, product: ExpertProduct) -> tuple[GemmSignature, ...]:
    assert template.operand is not None
    alone = _of_template(template, template.operand, template.out, bias=False)
    if not product.gate_up:
        return (replace(alone, op=Op.MOE, moe=MoeTraits(MoePart.DOWN, weight_first=not product.weighted)),)
    activations = [(activation,) for activation in sorted(ACTIVATIONS, key=str)]
    return tuple(
        replace(alone, op=Op.MOE, epilogue=epilogue, moe=MoeTraits(MoePart.GATE_UP, gated, product.weighted))
        for gated, epilogues in ((True, activations), (False, [(), *activations]))
        for epilogue in epilogues
    )


def _of_template(
    template: SignatureTemplate,
    operand: DType,
    out: DType,
    *,
    bias: bool,
    layout: Layout | None = None,
    a: DType | None = None,
) -> GemmSignature:
    return GemmSignature.of(
        a or operand,
        out,
        b=operand,
        layout=layout or template.layout,
        quant=template.quant,
        preshuffle_b=template.preshuffle_b,
        batched=template.batched,
        bias=bias,
    )


def _with_options(op: Op, a: DType, b: DType, c: DType, layout: Layout, words: list[str]) -> GemmSignature | None:
    """The signature with these trailing words; None if one is unknown. Order is the caller's round trip to check."""
    before = words[: words.index("epi")] if "epi" in words else words
    said = fields_said(op.value, before)
    quant, preshuffle_b, batched, bias = (said[name] for name in ("quant", "preshuffle_b", "batched", "bias"))
    acc, scale = default_acc(a, b), default_scale(quant)
    for option in ("acc", "scale"):
        if option in before:
            dtypes, _ = take_dtypes(words[words.index(option) + 1 :])
            if option == "acc" and dtypes:
                acc = dtypes[0]
            elif option == "scale":
                scale = dtypes[0] if dtypes else None
    a_op, b_op = operand_op_of(words, "a"), operand_op_of(words, "b")
    block = scale_block_of(words)
    traits = {name.removeprefix(_MOE): value for name, value in said.items() if name.startswith(_MOE)}
    moe = MoeTraits(**traits) if traits else NO_MOE
    flags = (preshuffle_b, batched, bias)
    return GemmSignature(a, b, c, acc, scale, layout, quant, *flags, epilogue_of(words), a_op, b_op, block, op, moe)


@cache
def _parse_alias(text: str) -> GemmSignature:
    said = parse_alias(text)
    signature = _of_template(said.template, said.operand, said.out, bias=said.bias, layout=said.layout)
    if said.op is Op.GEMM:
        return signature
    return replace(signature, op=said.op, moe=said.moe, epilogue=said.activation)


@cache
def module_of(signature: GemmSignature) -> str | None:
    """The module whose tables speak of this signature; None where there is none."""
    return next((name for name, module in modules().items() if _fills(signature, module.template)), None)


def _fills(signature: GemmSignature, template: SignatureTemplate) -> bool:
    fixed = (template.quant, template.preshuffle_b, template.batched)
    given = (signature.quant, signature.preshuffle_b, signature.batched)
    extras = (signature.op, signature.epilogue, signature.a_op, signature.b_op, signature.scale_block)
    if extras != (Op.GEMM, (), OperandOp.NONE, OperandOp.NONE, USUAL_SCALE_BLOCK):
        return False
    return fixed == given and signature.a is signature.b and template.admits(signature.a)


def _head_of(signature: GemmSignature) -> str:
    """The alias whose template the signature fills, or the words that tell it apart."""
    for name, template in templates().items():
        if _fills(signature, template):
            return name
    flags = (("preshuffle", signature.preshuffle_b), ("batched", signature.batched))
    words = [str(signature.op), *[str(signature.quant)] * (signature.quant is not Quant.NONE)]
    return "_".join([*words, *(word for word, present in flags if present)])


@cache
def _problems(signature: GemmSignature) -> tuple[str, ...]:
    return tuple(problems(signature))


def _legal(signature: GemmSignature, text: str) -> GemmSignature:
    reasons = signature.problems()
    if reasons:
        raise UsageError(f"'{text}' means nothing: {'; '.join(reasons)}")
    return signature
