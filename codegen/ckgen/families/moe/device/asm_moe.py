"""MoE kernels that AMD ships as device code: the code objects to take, the host unit, what the machine code must be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ckgen.families.common.device.kind import DeviceKind
from ckgen.families.common.device.shipped import (
    ShippedVariant,
    any_steps,
    config_of,
    demands,
    host_values,
    not_shipped,
    shipped_kind,
)
from ckgen.families.common.device.unit import DeviceUnit, prepare_symbol
from ckgen.families.common.device.variant import cpp_bool
from ckgen.families.gemm.enums import EpilogueOp, Quant
from ckgen.families.gemm.instance import Instance
from ckgen.families.moe.asm_kernels import AsmMoeKernel, asm_moe_kernel_of
from ckgen.model.expectation import Expectation
from ckgen.specs import load_arch


def unavailable(instance: Instance, arch: str) -> str | None:
    """Why there is no code object for an arch, or it computes something else; None where all is well."""
    kernel = _kernel(instance)
    if (absent := not_shipped(kernel, arch)) is not None:
        return absent
    if instance.signature not in kernel.signatures(load_arch(arch).fp8_flavour):
        return f"{kernel.config.name} computes another layer"
    return None


def host_unit(instance: Instance, variants: Mapping[str, Sequence[ShippedVariant]]) -> DeviceUnit:
    """The host unit for the archs of `variants`."""
    kernel = _kernel(instance)
    values = {
        **host_values(instance, kernel),
        "block_scales": cpp_bool(kernel.quant is Quant.BLOCKSCALE),
        "groups_per_cu": kernel.groups_per_cu,
        "gelu": cpp_bool(instance.signature.epilogue == (EpilogueOp.GELU,)),
        "weighted": cpp_bool(kernel.weight_first),
    }
    return DeviceUnit("device/asm_moe_host.cpp.j2", values, (prepare_symbol(instance.id),))


def expected(instance: Instance, arch: str, variant: ShippedVariant) -> Expectation:
    """The signature's matrix instructions in any number; LDS as the arch has it, no scratch, no spills."""
    signature, spec = instance.signature, load_arch(arch)
    return demands(spec, any_steps(spec, (signature.a, signature.b, signature.acc)))


def _kernel(instance: Instance) -> AsmMoeKernel:
    return asm_moe_kernel_of(config_of(instance))


KIND: DeviceKind[Instance, ShippedVariant] = shipped_kind(_kernel, unavailable, host_unit, expected)
"""These instances as device code."""
