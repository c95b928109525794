"""Kernels that AMD ships as device code: the code objects to take, the host unit, what the machine code must be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ckgen.families.common.device.kind import DeviceKind
from ckgen.families.common.device.shipped import (
    ShippedVariant,
    config_of,
    demands,
    host_values,
    not_shipped,
    shipped_kind,
)
from ckgen.families.common.device.unit import DeviceUnit, prepare_symbol
from ckgen.families.common.device.variant import cpp_bool
from ckgen.families.gemm.asm_kernels import AsmKernel, asm_kernel_of
from ckgen.families.gemm.enums import Quant
from ckgen.families.gemm.instance import Instance
from ckgen.model.arch import ArchSpec
from ckgen.model.expectation import Expectation
from ckgen.specs import load_arch


def unavailable(instance: Instance, arch: str) -> str | None:
    """Why there is no code object for an arch; None where there is one."""
    return not_shipped(_kernel(instance), arch)


def host_unit(instance: Instance, variants: Mapping[str, Sequence[ShippedVariant]]) -> DeviceUnit:
    """The host unit for the archs of `variants`."""
    kernel, prepare = _kernel(instance), prepare_symbol(instance.id)
    values = {**host_values(instance, kernel), "splits": cpp_bool(kernel.max_splits > 1)}
    return DeviceUnit("device/asm_host.cpp.j2", values, (prepare,))


def expected(instance: Instance, arch: str, variant: ShippedVariant) -> Expectation:
    """The signature's matrix instructions, a whole number of K steps; LDS as the arch has it, no scratch, no spills."""
    spec = load_arch(arch)
    return demands(spec, _steps(instance, spec))


def _steps(instance: Instance, arch: ArchSpec) -> tuple[tuple[str, int], ...]:
    """Every instruction of the arch in the signature's types that divides a wave's share of the tile."""
    signature, found = instance.signature, _kernel(instance).on(arch.name)
    assert found is not None, "an instance is not planned for an arch that it is unavailable on"
    tile, waves = instance.config.macro_tile, found.block // arch.wave_size
    share, rest = divmod(tile.m * tile.n * tile.k, waves)
    assert rest == 0
    return tuple(
        (row.mnemonic, share // row.macs)
        for row in arch.matrix_instructions
        if (row.a, row.b, row.acc) == (signature.a, signature.b, signature.acc)
        and row.scaled == (signature.quant is Quant.MX)
        and row.blocks == 1
        and share % row.macs == 0
    )


def _kernel(instance: Instance) -> AsmKernel:
    return asm_kernel_of(config_of(instance))


KIND: DeviceKind[Instance, ShippedVariant] = shipped_kind(_kernel, unavailable, host_unit, expected)
"""These instances as device code."""
