"""The instance of one product that a kernel's name in an MoE table spells."""

from __future__ import annotations

from ckgen.families.gemm.enums import MoePart, MoeTraits, Op
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.moe.grammar import parse_name
from ckgen.families.moe.module import moe_module
from ckgen.families.registry import make_instance
from ckgen.model.arch import ArchSpec
from ckgen.model.errors import UsageError


def named_product(name: str, arch: ArchSpec) -> Instance:
    """The product in the arch's fp8; UsageError for a name that is no classic CK kernel's."""
    kernel = parse_name(name)
    if kernel is None:
        raise UsageError(f"'{name}' names no MoE kernel of classic CK")
    first = kernel.part is MoePart.GATE_UP
    signature = GemmSignature.of(
        kernel.a.dtype,
        kernel.c.dtype,
        b=kernel.b.dtype,
        quant=kernel.quant.quant,
        preshuffle_b=True,
        epilogue=() if kernel.activation is None else (kernel.activation,),
        op=Op.MOE,
        moe=MoeTraits(kernel.part, first, kernel.weighted is first),
    ).resolved(arch.fp8_flavour)
    module = moe_module().module.name
    return make_instance(signature, kernel.config, module=module, table_kernel=name, archs=(arch.name,))
