"""Which combinations of a GEMM signature's fields mean something, and why the others do not."""

from __future__ import annotations

from collections.abc import Iterator

from ckgen.families.gemm.enums import (
    ACTIVATIONS,
    MAX_D,
    MAX_EPILOGUE_OPS,
    NO_MOE,
    SCALE_BLOCK_K,
    SCALE_BLOCK_N,
    USUAL_SCALE_BLOCK,
    Layout,
    MoePart,
    Op,
    OperandOp,
    Quant,
    ScaleSides,
)
from ckgen.families.gemm.signature_fields import GemmFields
from ckgen.model.dtype import DType

FLOAT8 = frozenset({
    DType.FP8, DType.BF8, DType.FP8_FNUZ, DType.FP8_OCP, DType.BF8_FNUZ, DType.BF8_OCP,
})  # fmt: skip
OPERANDS = FLOAT8 | {DType.FP32, DType.FP16, DType.BF16, DType.FP64, DType.INT8, DType.FP4}
NARROW_FLOATS = frozenset({DType.FP32, DType.FP16, DType.BF16})
_FLAVOURS = (
    frozenset({DType.FP8, DType.BF8}),
    frozenset({DType.FP8_FNUZ, DType.BF8_FNUZ}),
    frozenset({DType.FP8_OCP, DType.BF8_OCP}),
)
_QUANTISED = {
    Quant.PER_TENSOR: FLOAT8 | {DType.INT8, DType.FP16, DType.BF16},
    Quant.ROWWISE: FLOAT8 | {DType.INT8},
    Quant.BLOCKSCALE: FLOAT8,
    Quant.MX: frozenset({DType.FP4, DType.FP8_OCP, DType.BF8_OCP}),
}
_SCALES = {
    Quant.NONE: frozenset[DType | None]({None}),
    Quant.PER_TENSOR: frozenset[DType | None](NARROW_FLOATS),
    Quant.ROWWISE: frozenset[DType | None](NARROW_FLOATS),
    Quant.BLOCKSCALE: frozenset[DType | None]({DType.FP32}),
    Quant.MX: frozenset[DType | None]({DType.E8M0}),
}
_ACCUMULATORS = {DType.FP16: {DType.FP32, DType.FP16}, DType.FP32: {DType.FP32, DType.FP64}}
_PRESHUFFLED = FLOAT8 | {DType.INT8, DType.FP16, DType.BF16, DType.FP4}


_BESIDE_INT4 = FLOAT8 | {DType.FP16, DType.BF16}


def default_acc(a: DType, b: DType) -> DType:
    """int32 for int8 with int8, fp64 for fp64, else fp32."""
    if a is b is DType.INT8:
        return DType.INT32
    return DType.FP64 if DType.FP64 in (a, b) else DType.FP32


def default_scale(quant: Quant) -> DType | None:
    """e8m0 for mx, fp32 for the other quantisations, None without one."""
    if quant is Quant.NONE:
        return None
    return DType.E8M0 if quant is Quant.MX else DType.FP32


def legal_outs(signature: GemmFields) -> frozenset[DType]:
    """The types that C may have."""
    if signature.a is DType.FP64:
        return frozenset({DType.FP64})
    if signature.a is DType.INT8 and signature.quant is Quant.NONE:
        return NARROW_FLOATS | {DType.INT32}
    return NARROW_FLOATS


def legal_accumulators(signature: GemmFields) -> frozenset[DType]:
    """The types that products may be summed in."""
    usual = default_acc(signature.a, signature.b)
    return frozenset(_ACCUMULATORS.get(signature.a, {usual}))


def problems(signature: GemmFields) -> Iterator[str]:
    """One sentence for each rule that the fields break; none for a signature that means something."""
    yield from _op_problems(signature)
    yield from _operand_problems(signature)
    if signature.c not in legal_outs(signature):
        yield f"C cannot be {signature.c} (can be {_names(legal_outs(signature))})"
    if signature.acc not in legal_accumulators(signature):
        yield f"{signature.a} does not accumulate in {signature.acc} (can: {_names(legal_accumulators(signature))})"
    scales = _SCALES[signature.quant]
    if signature.scale not in scales:
        yield f"quantisation {signature.quant} has scales of type {_names(scales)}, not {signature.scale or 'none'}"
    if signature.layout is not Layout.RCR:
        if signature.preshuffle_b:
            yield f"a preshuffled B needs layout rcr, not {signature.layout}"
        if signature.quant not in (Quant.NONE, Quant.PER_TENSOR):
            yield f"quantisation {signature.quant} needs layout rcr, not {signature.layout}"
    yield from _scale_block_problems(signature)
    yield from _epilogue_problems(signature)
    yield from _operand_op_problems(signature)


def _op_problems(signature: GemmFields) -> Iterator[str]:
    if signature.op is not Op.MOE and signature.moe != NO_MOE:
        yield "only an MoE signature has a part, a gate or a routing weight"
    if signature.op is Op.GEMM:
        return
    if signature.batched:
        yield "groups and experts take the place of a batch"
    if not signature.a_op is signature.b_op is OperandOp.NONE:
        yield "only a plain GEMM has operands of two tensors"
    if signature.op is Op.MOE:
        yield from _moe_problems(signature)


def _moe_problems(signature: GemmFields) -> Iterator[str]:
    if signature.layout is not Layout.RCR:
        yield f"an MoE signature needs layout rcr, not {signature.layout}"
    if signature.bias:
        yield "an MoE signature has no bias"
    if signature.moe.part is MoePart.DOWN:
        if signature.moe.gated:
            yield "the down product of an MoE layer has no gate"
        if signature.epilogue:
            yield "the down product of an MoE layer has no activation"
    elif len(signature.epilogue) != 1 or signature.epilogue[0] not in ACTIVATIONS:
        yield f"an MoE layer has one activation: {', '.join(map(str, ACTIVATIONS))}"


def _scale_block_problems(signature: GemmFields) -> Iterator[str]:
    block, int4 = signature.scale_block, signature.b is DType.INT4
    if int4 and signature.quant is Quant.BLOCKSCALE and (block.sides is not ScaleSides.B or block.n != 1):
        yield f"block scales of an int4 B are B's alone, of one row each, not {block}"
    if block == USUAL_SCALE_BLOCK:
        return
    if signature.quant is not Quant.BLOCKSCALE:
        yield f"a scale block of {block} without block scales"
    if signature.preshuffle_b:
        yield f"a preshuffled B has scale blocks of {USUAL_SCALE_BLOCK}, not {block}"
    if block.k not in SCALE_BLOCK_K or block.n not in SCALE_BLOCK_N:
        sizes = [", ".join(map(str, known)) for known in (SCALE_BLOCK_N, SCALE_BLOCK_K)]
        yield f"no scale block of {block}: rows of B are {sizes[0]}, elements along K {sizes[1]}"
    if block.sides is ScaleSides.A and block.n != USUAL_SCALE_BLOCK.n:
        yield f"rows of B in a scale block of {block}, where B has no scales"


def _epilogue_problems(signature: GemmFields) -> Iterator[str]:
    if len(signature.epilogue) > MAX_EPILOGUE_OPS:
        yield f"an epilogue has at most {MAX_EPILOGUE_OPS} steps, not {len(signature.epilogue)}"
    tensors = sum(op.takes_d for op in signature.epilogue)
    if tensors > MAX_D:
        yield f"an epilogue takes at most {MAX_D} D tensors, not {tensors}"
    if signature.epilogue and signature.c not in NARROW_FLOATS:
        yield f"no epilogue is defined for C of {signature.c} (is for {_names(NARROW_FLOATS)})"


def _operand_op_problems(signature: GemmFields) -> Iterator[str]:
    for side, op, dtype in (("A", signature.a_op, signature.a), ("B", signature.b_op, signature.b)):
        if op is OperandOp.NONE:
            continue
        if dtype not in NARROW_FLOATS:
            yield f"{side} of two tensors cannot be {dtype} (can be {_names(NARROW_FLOATS)})"
        if signature.quant is not Quant.NONE:
            yield f"{side} of two tensors is not quantised"
        if side == "B" and signature.preshuffle_b:
            yield "a preshuffled B does not come from two tensors"


def _operand_problems(signature: GemmFields) -> Iterator[str]:
    a, b, quant = signature.a, signature.b, signature.quant
    if signature.preshuffle_b and b not in _PRESHUFFLED:
        yield f"no preshuffled form of {b} is defined (is for {_names(_PRESHUFFLED)})"
    if b is DType.INT4:
        yield from _int4_problems(signature)
        return
    for side, dtype in (("A", a), ("B", b)):
        if dtype not in OPERANDS:
            yield f"{side} cannot be {dtype} (can be {_names(OPERANDS)})"
        elif quant is not Quant.NONE and dtype not in _QUANTISED[quant]:
            yield f"quantisation {quant} takes {_names(_QUANTISED[quant])}, not {dtype}"
        elif quant is Quant.NONE and dtype is DType.FP4:
            yield "fp4 needs quantisation mx"
    if a is not b and not _mix(a, b, quant):
        mixed = "fp8_ocp with fp4 under mx" if quant is Quant.MX else "8-bit floats of one flavour"
        yield f"A and B cannot be {a} and {b}: only {mixed} mix"


def _mix(a: DType, b: DType, quant: Quant) -> bool:
    """Whether A and B may be of these two types."""
    if quant is Quant.MX:
        return a is DType.FP8_OCP and b is DType.FP4
    return any({a, b} <= flavour for flavour in _FLAVOURS)


def _int4_problems(signature: GemmFields) -> Iterator[str]:
    if signature.a not in _BESIDE_INT4:
        yield f"an int4 B goes with A of {_names(_BESIDE_INT4)}, not {signature.a}"
    if signature.quant not in (Quant.NONE, Quant.BLOCKSCALE):
        yield f"an int4 B has no scales or block scales, not {signature.quant}"
    if signature.layout is not Layout.RCR:
        yield f"an int4 B is packed along K: it needs layout rcr, not {signature.layout}"


def _names(dtypes: frozenset[DType] | frozenset[DType | None]) -> str:
    return ", ".join(sorted(str(dtype or "none") for dtype in dtypes))
