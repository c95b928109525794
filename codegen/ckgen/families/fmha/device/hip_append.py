"""Our kernel that appends to a cache as device code: units, their constants, what the machine code must be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ckgen.families.common.device.kind import DeviceKind
from ckgen.families.common.device.unit import DeviceUnit, prepare_symbol
from ckgen.families.fmha.append_config import HipAppendConfig
from ckgen.families.fmha.device.ck_tile_append import AppendVariant, all_variants, symbol
from ckgen.families.fmha.device.cpp_traits import cpp_traits
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.model.expectation import Expectation


def unavailable(instance: FmhaInstance, arch: str) -> str | None:
    """Our kernel can be made for every arch that the rules let it have."""
    return None


def expected(instance: FmhaInstance, arch: str, variant: AppendVariant) -> Expectation:
    """No matrix instruction, no LDS, no spills and no scratch."""
    return Expectation(steps=(), copies=0, lds_bytes=0, scratch_bytes=0, spills=0, waves_per_simd=4)


def device_unit(instance: FmhaInstance, variants: Sequence[AppendVariant]) -> DeviceUnit:
    """The unit of the kernel."""
    (name,) = (symbol(instance, variant) for variant in variants)
    return DeviceUnit("device/hip_fmha_append_device.hip.j2", {**_values(instance), "symbol": name}, (name,))


def host_unit(instance: FmhaInstance, variants: Mapping[str, Sequence[AppendVariant]]) -> DeviceUnit:
    """The host unit, the same for each arch."""
    prepare = prepare_symbol(instance.id)
    values = {**_values(instance), "symbol": symbol(instance, AppendVariant()), "prepare": prepare}
    return DeviceUnit("device/hip_fmha_append_host.cpp.j2", values, (prepare,))


def _values(instance: FmhaInstance) -> dict[str, Any]:
    assert isinstance(instance.config, HipAppendConfig), f"{instance.name} is no kernel of ours that appends"
    signature = instance.signature
    return {
        "instance": instance.name,
        "row": signature.a.value,
        "cache": signature.b.value,
        "traits": cpp_traits(signature.traits),
    }


KIND: DeviceKind[FmhaInstance, AppendVariant] = DeviceKind(
    variants=(AppendVariant,),
    unavailable=unavailable,
    all_variants=all_variants,
    device_unit=device_unit,
    host_unit=host_unit,
    expected=expected,
    symbol=symbol,
)
"""These instances as device code."""
