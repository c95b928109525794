"""Our attention kernel over a KV cache as device code: units, their constants, what the machine code must be.

It is followed by the kernel that combines splits, where there are any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ckgen.families.common.device.kind import DeviceKind
from ckgen.families.common.device.unit import DeviceUnit, fmha_symbol, kernel_symbol, prepare_symbol
from ckgen.families.common.device.variant import cpp_bool
from ckgen.families.fmha.device.cpp_traits import cpp_traits
from ckgen.families.fmha.device.stages import COMBINE, CombineVariant, expected_combine, stage_values
from ckgen.families.fmha.hip_config import LOAD_BYTES, ROWS, WAVE_SIZE, WAVES, HipFmhaConfig, product_of
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.model.dtype import DType
from ckgen.model.expectation import Expectation
from ckgen.specs.archs import load_arch

_FLOAT_BYTES = 4
_FRAGMENT = 8
"""Elements of a lane that one product of 16 x 16 takes."""


@dataclass(frozen=True, slots=True, order=True)
class DecodeVariant:
    """The kernel itself."""

    name: str = "decode"


AnyVariant = DecodeVariant | CombineVariant
_DECODE = DecodeVariant()


def unavailable(instance: FmhaInstance, arch: str) -> str | None:
    """Our kernel can be made for every arch that the rules let it have."""
    return None


def all_variants(instance: FmhaInstance) -> tuple[AnyVariant, ...]:
    """The kernel, and the one that combines."""
    return (_DECODE, COMBINE)


def symbol(instance: FmhaInstance, variant: AnyVariant) -> str:
    """The kernel's name in every code object that has it."""
    return kernel_symbol(instance.id, variant)


def expected(instance: FmhaInstance, arch: str, variant: AnyVariant) -> Expectation:
    """Both products of a block of keys once, no spills and no scratch."""
    if isinstance(variant, CombineVariant):
        return expected_combine()
    config = decode_config(instance)
    return Expectation(
        steps=(matrix_step(instance.signature, config, arch),),
        copies=1,
        lds_bytes=lds_bytes(),
        scratch_bytes=0,
        spills=0,
        waves_per_simd=waves_per_simd(config),
    )


def matrix_step(signature: FmhaSignature, config: HipFmhaConfig, arch: str) -> tuple[str, int]:
    """The matrix instruction, and how many of them a wave needs for both products of a block of keys."""
    found = product_of(signature.a, load_arch(arch))
    assert found is not None, f"{arch} has no products of {signature.a}"
    name, issues = found
    keys = config.n0 // WAVES
    scores = keys // ROWS * config.hdim_q // (_FRAGMENT * WAVE_SIZE // ROWS)
    values = keys // (_FRAGMENT * WAVE_SIZE // ROWS) * config.hdim_v // ROWS
    return name, (scores + values) * issues


def lds_bytes() -> int:
    """The waves' largest scores and sums of each row, and four of each lane's sums of O."""
    return WAVES * (2 * ROWS * _FLOAT_BYTES + 4 * WAVE_SIZE * LOAD_BYTES)


def waves_per_simd(config: HipFmhaConfig) -> int:
    """FmhaDecodeLanes::kWavesPerSimd."""
    return 1 if config.hdim_q + config.hdim_v > 256 else 2


def device_unit(instance: FmhaInstance, variants: Sequence[AnyVariant]) -> DeviceUnit:
    """The unit of these kernels, in the order given."""
    symbols = {variant: symbol(instance, variant) for variant in variants}
    values = {**_values(instance), "symbol": symbols.get(_DECODE)}
    if COMBINE not in symbols:
        values["stages"] = {}
    return DeviceUnit("device/hip_fmha_decode_device.hip.j2", values, tuple(symbols.values()))


def host_unit(instance: FmhaInstance, variants: Mapping[str, Sequence[AnyVariant]]) -> DeviceUnit:
    """The host unit, the same for each arch."""
    prepare, stages = prepare_symbol(instance.id), fmha_symbol(instance.id)
    values = {**_values(instance), "symbol": symbol(instance, _DECODE), "prepare": prepare}
    return DeviceUnit("device/hip_fmha_decode_host.cpp.j2", values, (prepare, stages))


def decode_config(instance: FmhaInstance) -> HipFmhaConfig:
    """The instance's Config; the instance must be one of ours."""
    config = instance.config
    assert isinstance(config, HipFmhaConfig), f"{instance.name} is no kernel of ours"
    return config


def _values(instance: FmhaInstance) -> dict[str, Any]:
    config, signature = decode_config(instance), instance.signature
    return {
        "instance": instance.name,
        "bf16": cpp_bool(signature.a is DType.BF16),
        "kv8": cpp_bool(signature.b.bits == 8),
        "kv_bytes": signature.b.bits // 8,
        "hdim_q": config.hdim_q,
        "hdim_v": config.hdim_v,
        "traits": cpp_traits(signature.traits),
        "stages": stage_values(signature, instance.id, symbol(instance, COMBINE), always=False),
    }


KIND: DeviceKind[FmhaInstance, AnyVariant] = DeviceKind(
    variants=(DecodeVariant, CombineVariant),
    unavailable=unavailable,
    all_variants=all_variants,
    device_unit=device_unit,
    host_unit=host_unit,
    expected=expected,
    symbol=symbol,
)
"""These instances as device code."""
