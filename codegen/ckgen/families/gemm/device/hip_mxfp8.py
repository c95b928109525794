"""ckgen's own MX-FP8 GEMMs as device code: one kernel per instance, its units' values, its demands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ckgen.families.common.device.kind import DeviceKind
from ckgen.families.common.device.unit import DeviceUnit, prepare_symbol, symbol_of
from ckgen.families.gemm.hip_config import HipConfig, HipKind
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.mxfp8_envelope import envelope
from ckgen.model.expectation import Expectation
from ckgen.specs.archs import load_arch

SCALED_MFMA = "v_mfma_scale_f32_16x16x128_f8f6f4"
_COPIES = 3
"""Of a step in the text: two of the main loop, one for an odd step at its end."""


@dataclass(frozen=True, slots=True, order=True)
class MxVariant:
    """The one device kernel."""

    name: str = "mxfp8"


def unavailable(instance: Instance, arch: str) -> str | None:
    """Why there is no code for an arch; None where there is."""
    needed = envelope().instruction
    has = load_arch(arch).instruction(needed) is not None
    return None if has else f"the MX-FP8 kernels are for archs with {needed} only"


def all_variants(instance: Instance) -> tuple[MxVariant, ...]:
    """The kernel."""
    return (MxVariant(),)


def expected(instance: Instance, arch: str, variant: MxVariant) -> Expectation:
    """What the machine code of the kernel must be."""
    return expected_of(hip_config(instance))


def expected_of(config: HipConfig) -> Expectation:
    """The scaled instruction, as few as steps need, and none in a GEMV; no scratch, no spills."""
    is_gemv = config.kind is HipKind.GEMV
    return Expectation(
        steps=() if is_gemv else ((SCALED_MFMA, config.tiles * config.n_sub),),
        copies=0 if is_gemv else _COPIES,
        lds_bytes=config.lds_bytes,
        scratch_bytes=0,
        spills=0,
        waves_per_simd=1,
    )


def device_unit(instance: Instance, variants: Sequence[MxVariant]) -> DeviceUnit:
    """The unit of the kernel."""
    (symbol,) = (symbol_of(instance, variant) for variant in variants)
    config = hip_config(instance)
    values = {
        "instance": instance.name,
        "kind": config.kind.value,
        "m": config.m,
        "columns": config.n_sub,
        "k_splits": config.k_splits,
        "symbol": symbol,
    }
    return DeviceUnit("device/hip_mxfp8_device.hip.j2", values, (symbol,))


def host_unit(instance: Instance, variants: Mapping[str, Sequence[MxVariant]]) -> DeviceUnit:
    """The host unit of a GEMM."""
    (variant,) = all_variants(instance)
    prepare = prepare_symbol(instance.id)
    values = {**host_values(instance), "symbol": symbol_of(instance, variant)}
    return DeviceUnit("device/hip_mxfp8_host.cpp.j2", values, (prepare,))


def host_values(instance: Instance) -> dict[str, Any]:
    """What a host unit says of the kernel, but for its symbol."""
    config = hip_config(instance)
    return {
        "instance": instance.name,
        "m": config.m,
        "columns": config.columns,
        "threads": config.threads,
        "k_grain": config.k_grain,
        "prepare": prepare_symbol(instance.id),
    }


def hip_config(instance: Instance) -> HipConfig:
    """The Config of an instance of backend hip."""
    config = instance.config
    assert isinstance(config, HipConfig), f"{instance.name} is no kernel of ours"
    return config


KIND: DeviceKind[Instance, MxVariant] = DeviceKind(
    variants=(MxVariant,),
    unavailable=unavailable,
    all_variants=all_variants,
    device_unit=device_unit,
    host_unit=host_unit,
    expected=expected,
)
"""These instances as device code."""
