"""Gradients of attention by kernels that AMD ships: what to take, our kernels around it, what both must be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ckgen.families.common.device.kind import DeviceKind
from ckgen.families.common.device.shipped import ShippedVariant, objects_to_take
from ckgen.families.common.device.unit import DeviceUnit, fmha_symbol, prepare_symbol, symbol_of
from ckgen.families.common.device.variant import cpp_bool
from ckgen.families.fmha.device import asm_fmha
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.model.expectation import Expectation


@dataclass(frozen=True, slots=True, order=True)
class StageVariant:
    """One of our kernels, in a code object behind the shipped one."""

    name: str


SHIPPED, DOT_DO_O, CONVERT_DQ = ShippedVariant(), StageVariant("dot_do_o"), StageVariant("convert_dq")
AnyVariant = ShippedVariant | StageVariant
_OF_STAGE = Expectation(steps=(), copies=0, lds_bytes=0, scratch_bytes=0, spills=0, waves_per_simd=1)


def all_variants(instance: FmhaInstance) -> tuple[AnyVariant, ...]:
    """The shipped kernel and ours."""
    return (SHIPPED, DOT_DO_O, CONVERT_DQ)


def symbol(instance: FmhaInstance, variant: AnyVariant) -> str:
    """Of the shipped kernel the name that its code object gives it."""
    return asm_fmha.kernel_of(instance).symbol if variant == SHIPPED else symbol_of(instance, variant)


def device_unit(instance: FmhaInstance, variants: Sequence[AnyVariant]) -> DeviceUnit:
    """The list of code objects to take, and our kernels."""
    names = {one.name: symbol_of(instance, one) for one in (DOT_DO_O, CONVERT_DQ)}
    signature = instance.signature
    values = {
        "instance": instance.name,
        "dtype": signature.a.value,
        "varlen": cpp_bool(signature.traits.varlen),
        **names,
    }
    stages = DeviceUnit("device/asm_fmha_backward_device.hip.j2", values, tuple(names.values()))
    return replace(objects_to_take(instance.name, asm_fmha.kernel_of(instance)), stages=stages)


def host_unit(instance: FmhaInstance, variants: Mapping[str, Sequence[AnyVariant]]) -> DeviceUnit:
    """The host unit for the archs of `variants`."""
    kernel, prepare, stages = asm_fmha.kernel_of(instance), prepare_symbol(instance.id), fmha_symbol(instance.id)
    tile, signature = kernel.config.tile, instance.signature
    members = [str(one) for one in (tile.k, tile.m, kernel.objects[0].block)]
    flags = (signature.traits.varlen, signature.traits.masked)
    members += [f"ckgen::DType::{signature.a}", *map(cpp_bool, flags)]
    members += [f"ckgen::asm_host::BackwardForm::{kernel.form}", cpp_bool(kernel.corner is not None)]
    values: dict[str, Any] = {
        "instance": instance.name,
        "prepare": prepare,
        "stages": stages,
        "members": ", ".join(members),
        "symbol": kernel.symbol,
        **{one.name: symbol_of(instance, one) for one in (DOT_DO_O, CONVERT_DQ)},
    }
    return DeviceUnit("device/asm_fmha_backward_host.cpp.j2", values, (prepare, stages))


def expected(instance: FmhaInstance, arch: str, variant: AnyVariant) -> Expectation:
    """Of the shipped kernel as of a forward one; ours have no matrix instruction, no LDS and no scratch."""
    return asm_fmha.expected(instance, arch, SHIPPED) if variant == SHIPPED else _OF_STAGE


KIND: DeviceKind[FmhaInstance, AnyVariant] = DeviceKind(
    variants=(ShippedVariant, StageVariant),
    unavailable=asm_fmha.unavailable,
    all_variants=all_variants,
    device_unit=device_unit,
    host_unit=host_unit,
    expected=expected,
    splits_unavailable=asm_fmha.splits_unavailable,
    symbol=symbol,
)
"""These instances as device code."""
