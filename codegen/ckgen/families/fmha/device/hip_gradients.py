"""Our kernels of attention's gradients as device code: units, their constants, what the machine code must be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ckgen.families.common.device.kind import DeviceKind
from ckgen.families.common.device.unit import DeviceUnit, fmha_symbol, prepare_symbol, symbol_of
from ckgen.families.fmha.backward_config import HipBackwardConfig
from ckgen.families.fmha.device.cpp_traits import cpp_traits
from ckgen.families.fmha.enums import FmhaBias
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.rules.gradients import LANES, lds_bytes
from ckgen.model.expectation import Expectation

_FLOAT_BYTES = 4
_MOST_SPILLS = 128
"""Sizes and strides that scalar registers do not hold at once, in lanes of vector registers: none goes to memory."""


@dataclass(frozen=True, slots=True, order=True)
class GradientVariant:
    """One of the device kernels."""

    name: str


DELTA, DK_DV, DQ, DBIAS, DSINK = (GradientVariant(name) for name in ("delta", "dk_dv", "dq", "dbias", "dsink"))
_GRIDS = {DELTA: "rows", DQ: "rows", DBIAS: "bias", DSINK: "heads"}
"""Members of GradientGrid, of the stages around the kernel."""
_LDS = {DELTA: 0, DK_DV: lds_bytes(2), DQ: lds_bytes(1), DBIAS: lds_bytes(0), DSINK: LANES * _FLOAT_BYTES}


def unavailable(instance: FmhaInstance, arch: str) -> str | None:
    """Our kernels can be made for every arch that the rules let them have."""
    return None


def splits_unavailable(instance: FmhaInstance, arch: str) -> str | None:
    """A workgroup sums all."""
    return "a kernel of gradients does not split keys"


def all_variants(instance: FmhaInstance) -> tuple[GradientVariant, ...]:
    """The kernels, in the order of a plan."""
    traits = instance.signature.traits
    of_bias = (DBIAS,) if traits.bias is FmhaBias.ELEMENTWISE else ()
    return (DELTA, DK_DV, DQ, *of_bias, *((DSINK,) if traits.sink else ()))


def expected(instance: FmhaInstance, arch: str, variant: GradientVariant) -> Expectation:
    """No matrix instruction, no scratch."""
    lds, spills = _LDS[variant], _MOST_SPILLS
    return Expectation(steps=(), copies=0, lds_bytes=lds, scratch_bytes=0, spills=spills, waves_per_simd=1)


def device_unit(instance: FmhaInstance, variants: Sequence[GradientVariant]) -> DeviceUnit:
    """The unit of the kernels."""
    symbols = {variant.name: symbol_of(instance, variant) for variant in variants}
    values = {**_values(instance), "symbols": symbols}
    return DeviceUnit("device/hip_fmha_gradients_device.hip.j2", values, tuple(symbols.values()))


def host_unit(instance: FmhaInstance, variants: Mapping[str, Sequence[GradientVariant]]) -> DeviceUnit:
    """The host unit, the same for each arch."""
    prepare, companion = prepare_symbol(instance.id), fmha_symbol(instance.id)
    every = all_variants(instance)
    values = {
        **_values(instance),
        "symbols": {variant.name: symbol_of(instance, variant) for variant in every},
        "stages": {variant.name: _GRIDS[variant] for variant in every if variant != DK_DV},
        "prepare": prepare,
        "companion": companion,
    }
    return DeviceUnit("device/hip_fmha_gradients_host.cpp.j2", values, (prepare, companion))


def _values(instance: FmhaInstance) -> dict[str, Any]:
    config, signature = instance.config, instance.signature
    assert isinstance(config, HipBackwardConfig), f"{instance.name} is no kernel of ours of gradients"
    return {
        "instance": instance.name,
        "dtype": signature.a.value,
        "traits": cpp_traits(signature.traits),
        "hdim": config.hdim,
    }


KIND: DeviceKind[FmhaInstance, GradientVariant] = DeviceKind(
    variants=(GradientVariant,),
    unavailable=unavailable,
    all_variants=all_variants,
    device_unit=device_unit,
    host_unit=host_unit,
    expected=expected,
    splits_unavailable=splits_unavailable,
)
"""These instances as device code."""
