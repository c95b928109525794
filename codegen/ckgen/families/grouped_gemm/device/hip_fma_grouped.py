"""Groups by kernels of fused multiply-adds as device code: one for all groups, and those that make its table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ckgen.families.common.device.kind import DeviceKind
from ckgen.families.common.device.unit import DeviceUnit, groups_symbol, prepare_symbol, symbol_of
from ckgen.families.gemm.device import hip_fma
from ckgen.families.gemm.device.hip_fma import FmaVariant
from ckgen.families.gemm.instance import Instance
from ckgen.model.expectation import Expectation

_FMA, _UPLOAD, _DESCRIBE = (FmaVariant(name) for name in ("fma", "upload", "describe"))


def all_variants(instance: Instance) -> tuple[FmaVariant, ...]:
    """The kernel over groups, and those that write its table from arguments or from arrays on the device."""
    return (_FMA, _UPLOAD, _DESCRIBE)


def expected(instance: Instance, arch: str, variant: FmaVariant) -> Expectation:
    """As of a GEMM; the others hold nothing in LDS."""
    if variant == _FMA:
        return hip_fma.expected(instance, arch, variant)
    return Expectation(steps=(), copies=0, lds_bytes=0, scratch_bytes=0, spills=0, waves_per_simd=1)


def device_unit(instance: Instance, variants: Sequence[FmaVariant]) -> DeviceUnit:
    """The unit of the kernels."""
    symbols = tuple(symbol_of(instance, variant) for variant in variants)
    values = {**_values(instance), "traits": hip_fma.traits(instance.signature)}
    return DeviceUnit("device/hip_fma_grouped_device.hip.j2", values, symbols)


def host_unit(instance: Instance, variants: Mapping[str, Sequence[FmaVariant]]) -> DeviceUnit:
    """The host unit, the same for each arch."""
    prepare, groups = prepare_symbol(instance.id), groups_symbol(instance.id)
    values = {**_values(instance), "prepare": prepare, "groups": groups}
    return DeviceUnit("device/hip_fma_grouped_host.cpp.j2", values, (prepare, groups))


def _values(instance: Instance) -> dict[str, Any]:
    symbols = {variant.name: symbol_of(instance, variant) for variant in all_variants(instance)}
    return {"instance": instance.name, "tile": hip_fma.fma_config(instance).tile, "symbols": symbols}


KIND: DeviceKind[Instance, FmaVariant] = DeviceKind(
    variants=(FmaVariant,),
    unavailable=hip_fma.unavailable,
    all_variants=all_variants,
    device_unit=device_unit,
    host_unit=host_unit,
    expected=expected,
    splits_unavailable=hip_fma.splits_unavailable,
)
"""These instances as device code."""
