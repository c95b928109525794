"""Attention kernels that AMD ships as device code: what to take, the host unit, what the machine code must be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ckgen.families.common.asm_config import AsmConfig
from ckgen.families.common.device.kind import DeviceKind
from ckgen.families.common.device.shipped import ShippedVariant, not_shipped, objects_to_take
from ckgen.families.common.device.unit import DeviceUnit, prepare_symbol
from ckgen.families.common.device.variant import cpp_bool
from ckgen.families.fmha.asm_kernels import FORWARD, AsmFmhaKernel, asm_fmha_kernel_of
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.model.dtype import DType
from ckgen.model.expectation import Expectation
from ckgen.specs import load_arch


def unavailable(instance: FmhaInstance, arch: str) -> str | None:
    """Why there is no code object for an arch, or it computes something else; None where all is well."""
    kernel = kernel_of(instance)
    if (absent := not_shipped(kernel, arch)) is not None:
        return absent
    return None if instance.signature in kernel.signatures else f"{kernel.config.name} computes other attention"


def splits_unavailable(instance: FmhaInstance, arch: str) -> str | None:
    """Why KV cannot be split."""
    return "the shipped kernel takes all keys of a row in one workgroup"


def all_variants(instance: FmhaInstance) -> tuple[ShippedVariant, ...]:
    """The one kernel."""
    return (ShippedVariant(),)


def symbol(instance: FmhaInstance, variant: ShippedVariant) -> str:
    """The name that the code object gives its kernel."""
    return kernel_of(instance).symbol


def device_unit(instance: FmhaInstance, variants: Sequence[ShippedVariant]) -> DeviceUnit:
    """The list of code objects to take."""
    return objects_to_take(instance.name, kernel_of(instance))


def host_unit(instance: FmhaInstance, variants: Mapping[str, Sequence[ShippedVariant]]) -> DeviceUnit:
    """The host unit for the archs of `variants`."""
    kernel, prepare = kernel_of(instance), prepare_symbol(instance.id)
    traits, block = instance.signature.traits, str(kernel.objects[0].block)
    if kernel.config.kind == FORWARD:
        of, flags = "FmhaForwardKernel", (traits.varlen, traits.masked, traits.lse)
        members = [str(kernel.q_tile), block, *map(cpp_bool, flags)]
    else:
        of = "PagedKernel"
        members = [block, f"ckgen::DType::{instance.signature.a}"]
    values = {
        "instance": instance.name,
        "prepare": prepare,
        "kind": kernel.config.kind,
        "symbol": kernel.symbol,
        "kernel": of,
        "members": ", ".join(members),
    }
    return DeviceUnit("device/asm_fmha_host.cpp.j2", values, (prepare,))


def expected(instance: FmhaInstance, arch: str, variant: ShippedVariant) -> Expectation:
    """Matrix instructions of Q's type in any number; LDS as the arch has it, no scratch, no spills."""
    spec, of_q = load_arch(arch), instance.signature.a
    steps = tuple(
        (row.mnemonic, 1)
        for row in spec.matrix_instructions
        if (row.a, row.b, row.acc) == (of_q, of_q, DType.FP32) and not row.scaled and row.blocks == 1
    )
    return Expectation(steps=steps, copies=0, lds_bytes=spec.lds_bytes, scratch_bytes=0, spills=0, waves_per_simd=1)


def kernel_of(instance: FmhaInstance) -> AsmFmhaKernel:
    """The kernel that an instance of a shipped one names."""
    config = instance.config
    assert isinstance(config, AsmConfig), f"{instance.name} is no shipped kernel"
    return asm_fmha_kernel_of(config)


KIND: DeviceKind[FmhaInstance, ShippedVariant] = DeviceKind(
    variants=(ShippedVariant,),
    unavailable=unavailable,
    all_variants=all_variants,
    device_unit=device_unit,
    host_unit=host_unit,
    expected=expected,
    splits_unavailable=splits_unavailable,
    symbol=symbol,
)
"""These instances as device code."""
