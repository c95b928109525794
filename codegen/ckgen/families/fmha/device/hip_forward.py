"""Our kernel of attention of any options as device code: units, their constants, what the machine code must be.

It is followed by the kernel that combines splits, where O's type has one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ckgen.families.common.device.kind import DeviceKind
from ckgen.families.common.device.unit import DeviceUnit, fmha_symbol, prepare_symbol, symbol_of
from ckgen.families.fmha.device.cpp_traits import cpp_traits
from ckgen.families.fmha.device.stages import COMBINE, CombineVariant, expected_combine, stage_values
from ckgen.families.fmha.forward_config import HipForwardConfig
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.rules.forward import lds_bytes
from ckgen.model.expectation import Expectation

_MOST_SPILLS = 128
"""Sizes and strides that scalar registers do not hold at once, in lanes of vector registers: none goes to memory."""


@dataclass(frozen=True, slots=True, order=True)
class ForwardVariant:
    """The kernel itself."""

    name: str = "forward"


AnyVariant = ForwardVariant | CombineVariant
_FORWARD = ForwardVariant()


def unavailable(instance: FmhaInstance, arch: str) -> str | None:
    """Our kernel can be made for every arch that the rules let it have."""
    return None


def all_variants(instance: FmhaInstance) -> tuple[AnyVariant, ...]:
    """The kernel, and the one that combines."""
    return (_FORWARD, COMBINE) if instance.constraints.max_splits > 1 else (_FORWARD,)


def expected(instance: FmhaInstance, arch: str, variant: AnyVariant) -> Expectation:
    """No matrix instruction, no scratch."""
    if isinstance(variant, CombineVariant):
        return expected_combine()
    lds = lds_bytes(instance.signature, forward_config(instance))
    return Expectation(steps=(), copies=0, lds_bytes=lds, scratch_bytes=0, spills=_MOST_SPILLS, waves_per_simd=1)


def device_unit(instance: FmhaInstance, variants: Sequence[AnyVariant]) -> DeviceUnit:
    """The unit of these kernels, in the order given."""
    symbols = {variant: symbol_of(instance, variant) for variant in variants}
    values = {**_values(instance), "symbol": symbols.get(_FORWARD)}
    if COMBINE not in symbols:
        values["stages"] = {}
    return DeviceUnit("device/hip_fmha_forward_device.hip.j2", values, tuple(symbols.values()))


def host_unit(instance: FmhaInstance, variants: Mapping[str, Sequence[AnyVariant]]) -> DeviceUnit:
    """The host unit, the same for each arch."""
    values = _values(instance)
    prepare = prepare_symbol(instance.id)
    symbols = (prepare, fmha_symbol(instance.id)) if values["stages"] else (prepare,)
    values |= {"symbol": symbol_of(instance, _FORWARD), "prepare": prepare}
    return DeviceUnit("device/hip_fmha_forward_host.cpp.j2", values, symbols)


def forward_config(instance: FmhaInstance) -> HipForwardConfig:
    """The instance's Config; the instance must be one of ours."""
    config = instance.config
    assert isinstance(config, HipForwardConfig), f"{instance.name} is no kernel of ours of any options"
    return config


def _values(instance: FmhaInstance) -> dict[str, Any]:
    signature, has_splits = instance.signature, COMBINE in all_variants(instance)
    stages = stage_values(signature, instance.id, symbol_of(instance, COMBINE), always=False) if has_splits else {}
    return {
        "instance": instance.name,
        "q_type": signature.a.value,
        "kv_type": signature.b.value,
        "o_type": signature.c.value,
        "q_bits": signature.a.bits,
        "traits": cpp_traits(signature.traits),
        "hdim": forward_config(instance).hdim,
        "stages": stages,
    }


KIND: DeviceKind[FmhaInstance, AnyVariant] = DeviceKind(
    variants=(ForwardVariant, CombineVariant),
    unavailable=unavailable,
    all_variants=all_variants,
    device_unit=device_unit,
    host_unit=host_unit,
    expected=expected,
)
"""These instances as device code."""
