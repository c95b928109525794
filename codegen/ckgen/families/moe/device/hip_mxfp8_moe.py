"""ckgen's own MX-FP8 products of experts as device code: the product, and what a layer needs beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ckgen.families.common.device.kind import DeviceKind
from ckgen.families.common.device.unit import DeviceUnit, moe_symbol, prepare_symbol, symbol_of
from ckgen.families.common.device.variant import cpp_bool
from ckgen.families.gemm.device.hip_mxfp8 import MxVariant, expected_of, hip_config, host_values, unavailable
from ckgen.families.gemm.enums import MoePart
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.moe.device.stages import (
    ADD_SLOTS,
    StageVariant,
    expected_stage,
    stage_values,
    stage_variants,
)
from ckgen.model.expectation import Expectation

AnyVariant = MxVariant | StageVariant
_PRODUCT = MxVariant()


def all_variants(instance: Instance) -> tuple[AnyVariant, ...]:
    """The product; gate_up sorts, down adds its slots and quantises H."""
    more = (ADD_SLOTS,) if instance.signature.moe.part is MoePart.DOWN else ()
    return (_PRODUCT, *stage_variants(instance.signature), *more)


def expected(instance: Instance, arch: str, variant: AnyVariant) -> Expectation:
    """What the machine code of a kernel must be."""
    if isinstance(variant, StageVariant):
        return expected_stage(variant)
    return expected_of(hip_config(instance))


def device_unit(instance: Instance, variants: Sequence[AnyVariant]) -> DeviceUnit:
    """The unit of these kernels, in the order given."""
    symbols = {variant: symbol_of(instance, variant) for variant in variants}
    config, signature = hip_config(instance), instance.signature
    values = {
        "instance": instance.name,
        "symbol": symbols.get(_PRODUCT),
        "m": config.m,
        "columns": config.columns,
        "k_splits": config.k_splits,
        "activation": _activation(signature),
        "gated": cpp_bool(signature.moe.gated),
        "stages": _stages(instance, symbols),
    }
    return DeviceUnit("device/hip_mxfp8_moe_device.hip.j2", values, tuple(symbols.values()))


def host_unit(instance: Instance, variants: Mapping[str, Sequence[AnyVariant]]) -> DeviceUnit:
    """The host unit."""
    symbols = {variant: symbol_of(instance, variant) for variant in all_variants(instance)}
    moe = moe_symbol(instance.id)
    values = {
        **host_values(instance),
        "symbol": symbols[_PRODUCT],
        "moe": moe,
        "stages": _stages(instance, symbols),
    }
    return DeviceUnit("device/hip_mxfp8_moe_host.cpp.j2", values, (prepare_symbol(instance.id), moe))


def _activation(signature: GemmSignature) -> str:
    """As ckgen::hip::MxActivation has it."""
    if signature.epilogue:
        return signature.epilogue[0].value
    return "none" if signature.moe.part is MoePart.DOWN else "raw"


def _stages(instance: Instance, symbols: Mapping[AnyVariant, str]) -> dict[str, Any]:
    found = {variant: symbol for variant, symbol in symbols.items() if isinstance(variant, StageVariant)}
    return stage_values(instance.signature, found)


KIND: DeviceKind[Instance, AnyVariant] = DeviceKind(
    variants=(MxVariant, StageVariant),
    unavailable=unavailable,
    all_variants=all_variants,
    device_unit=device_unit,
    host_unit=host_unit,
    expected=expected,
)
"""These instances as device code."""
