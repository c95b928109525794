"""What a row of an MoE table means: its signature, and the instances that its kernels' names spell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ckgen.families.common.asm_config import ASM, AsmConfig
from ckgen.families.gemm.enums import EpilogueOp, MoePart, MoeTraits, Op, Quant
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.moe.asm_kernels import asm_moe_kernels
from ckgen.families.moe.ck_config import CkMoeConfig, CkMoeKernel
from ckgen.families.moe.config import MoePairConfig
from ckgen.families.moe.grammar import parse_name
from ckgen.families.moe.parts import part_signatures
from ckgen.model.arch import ArchSpec
from ckgen.model.dtype import DType, Fp8Flavour
from ckgen.model.errors import UsageError
from ckgen.model.moe_row import GateMode, MoeActivation, MoeDiscriminators, MoeRow, MoeScales, MoeStage

_ACTIVATIONS = {MoeActivation.SILU: EpilogueOp.SILU, MoeActivation.GELU: EpilogueOp.GELU}
_PARTS = (MoePart.GATE_UP, MoePart.DOWN)
_FP8 = (DType.FP8, DType.FP8_FNUZ, DType.FP8_OCP)
_QUANTS = {
    MoeScales.NONE: Quant.NONE,
    MoeScales.PER_TENSOR: Quant.PER_TENSOR,
    MoeScales.PER_TOKEN: Quant.ROWWISE,
    MoeScales.PER_1X128: Quant.BLOCKSCALE,
    MoeScales.PER_128X128: Quant.BLOCKSCALE,
    MoeScales.PER_1X32: Quant.MX,
}


def why_no_signature(row: MoeRow) -> str | None:
    """What a row says that no signature does, so that it answers no problem; None where one does."""
    key = row.discriminators
    assert isinstance(key, MoeDiscriminators)
    return why_unsaid(key, is_routed=row.top_k is not None)


def why_unsaid(key: MoeDiscriminators, *, is_routed: bool = True) -> str | None:
    """The same of a row's key; `is_routed`: the row tells the experts of a token."""
    said = (
        (key.unknown, key.unknown),
        (not is_routed, "topk is not told"),
        (key.activation not in _ACTIVATIONS, f"activation {key.activation.value}"),
        (key.gate_mode is not GateMode.SEPARATED, f"GateMode.{key.gate_mode.value}"),
        (key.max_m is not None, f"max_m = {key.max_m}"),
        (key.shared_expert is not None, f"shared_expert_id = {key.shared_expert}"),
        (key.hidden_pad or key.inter_pad, f"pads of {key.hidden_pad} and {key.inter_pad}"),
        (key.tag, f"_tag = {key.tag}"),
        (key.weight_dtype is DType.INT4, "a preshuffled int4 W"),
    )
    return next((f"no signature says {text}" for present, text in said if present), None)


def moe_signature_of(row: MoeRow, flavour: Fp8Flavour | None) -> GemmSignature:
    """The layer that a row stands for, which `why_no_signature` must allow; UsageError for types that mean nothing.

    The peer's kernels read preshuffled weights.
    """
    key = row.discriminators
    assert isinstance(key, MoeDiscriminators)
    return layer_signature(key, flavour)


def layer_signature(key: MoeDiscriminators, flavour: Fp8Flavour | None) -> GemmSignature:
    """The same of a row's key."""
    a, w, out = key.in_dtype, key.weight_dtype, key.out_dtype
    assert a is not None and w is not None and out is not None
    traits = MoeTraits(MoePart.LAYER, key.gated, key.weight_first)
    epilogue = (_ACTIVATIONS[key.activation],)
    signature = GemmSignature.of(
        a, out, b=w, quant=_QUANTS[key.scales], preshuffle_b=True, epilogue=epilogue, op=Op.MOE, moe=traits
    ).resolved(flavour)
    if problems := signature.problems():
        raise UsageError(f"row of fmoe means nothing: {'; '.join(problems)}")
    return signature


def config_of(stages: Sequence[MoeStage]) -> MoePairConfig | AsmConfig | None:
    """The pair that the names of two kernels spell, or the kernel of a whole layer; None where they spell neither."""
    if len(stages) == 1:
        shipped = asm_moe_kernels().get(stages[0].kernel)
        return shipped.config if shipped is not None and shipped.part is MoePart.LAYER else None
    gate_up, down = (_part_config(stage, part) for stage, part in zip(stages, _PARTS, strict=True))
    return MoePairConfig(gate_up, down) if gate_up is not None and down is not None else None


def _part_config(stage: MoeStage, part: MoePart) -> CkMoeConfig | AsmConfig | None:
    kernel = asm_moe_kernels().get(stage.kernel) if stage.library == ASM else parse_name(stage.kernel)
    return kernel.config if kernel is not None and kernel.part is part else None


def is_shipped(row: MoeRow, stage: int, arch: ArchSpec) -> bool:
    """Whether AMD ships the row's kernel of that number for the arch, and it computes its part of the row's layer."""
    kernel = asm_moe_kernels().get(row.stages[stage].kernel)
    if kernel is None or kernel.on(arch.name) is None or why_no_signature(row) is not None:
        return False
    try:
        layer = moe_signature_of(row, arch.fp8_flavour)
    except UsageError:
        return False
    part = layer if len(row.stages) == 1 else part_signatures(layer)[stage]
    return part in kernel.signatures(arch.fp8_flavour)


def why_no_pair(row: MoeRow, layer: GemmSignature) -> str | None:
    """Where the names of a row's kernels contradict the row or one another; None where they do not."""
    for name, stage, part in zip(("kernelName1", "kernelName2"), row.stages, part_signatures(layer), strict=False):
        shipped = asm_moe_kernels().get(stage.kernel)
        kernel = parse_name(stage.kernel) if shipped is None else None
        if kernel is not None:
            for what, said, wanted in _claims(kernel, part):
                if said != wanted:
                    return f"{name} says {what} {said}, the row says {wanted}"
        config = shipped.config if shipped is not None else kernel.config if kernel is not None else None
        if config is not None and row.block_m not in (None, config.tile.m):
            return f"{name} takes blocks of {config.tile.m} rows, the row says block_m {row.block_m}"
    return None


def _claims(kernel: CkMoeKernel, part: GemmSignature) -> Iterator[tuple[str, object, object]]:
    """What a name says of what is computed, beside the same of the signature."""
    types = (("A", kernel.a, part.a), ("W", kernel.b, part.b), ("C", kernel.c, part.c))
    for what, named, dtype in types:
        said = named.dtype
        yield what, dtype if said is DType.FP8 and dtype in _FP8 else said, dtype
    yield "scales", kernel.quant.quant, part.quant
    first = part.moe.part is MoePart.GATE_UP
    yield "routing weight", kernel.weighted, part.moe.weight_first is first
    yield "activation", kernel.activation, part.epilogue[0] if first else None


def why_unavailable(row: MoeRow, signatures: Sequence[GemmSignature]) -> str | None:
    """Why kernels that ckgen builds do not make the row's layer, as far as their names tell."""
    unsaid = why_no_signature(row)
    if unsaid is not None:
        return unsaid
    return next((why for layer in signatures if (why := why_no_pair(row, layer)) is not None), None)


def operations_of(row: MoeRow) -> int:
    """Multiplications and additions of the row's layer: its two or three products over every token's experts."""
    key = row.discriminators
    assert isinstance(key, MoeDiscriminators)
    products = 3 if key.gated else 2
    return 2 * products * row.shape.m * max(row.top_k or 0, 1) * row.shape.n * row.shape.k
