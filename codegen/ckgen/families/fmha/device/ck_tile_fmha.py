"""ck_tile's attention kernels as device code: one kernel, and of split keys what combines them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any

from ckgen.families.common.device.kind import DeviceKind
from ckgen.families.common.device.unit import DeviceUnit, fmha_symbol, kernel_symbol, prepare_symbol
from ckgen.families.common.device.variant import cpp_bool
from ckgen.families.fmha.config import CkTileFmhaConfig, FmhaPipeline
from ckgen.families.fmha.device.cpp_traits import cpp_traits
from ckgen.families.fmha.device.recorded import allowed_overflow
from ckgen.families.fmha.device.stages import COMBINE, CombineVariant, expected_combine, stage_values
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.lds import lds_bytes
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.families.fmha.tree import why_no_tiles
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.dtype import DType
from ckgen.model.expectation import Expectation
from ckgen.specs.archs import load_arch

_FORWARD_ENTRY = ("fmha", "FmhaForward")
_SPLIT_ENTRY = ("fmha_split_kv", "FmhaSplitKv")
_ENTRIES = {
    FmhaPipeline.QR_PAGEDKV: ("fmha_paged", "FmhaPaged"),
    FmhaPipeline.QR_SPLITKV: _SPLIT_ENTRY,
    FmhaPipeline.QR_SPLITKV_MERGED: _SPLIT_ENTRY,
    FmhaPipeline.QR_ASYNC_GATHER: ("fmha_gather", "FmhaGather"),
}
"""The header of a pipeline's kernel and the class there; the launch is of the same names."""


@dataclass(frozen=True, slots=True, order=True)
class FmhaVariant:
    """The device kernel that computes; of splits another one combines what it leaves."""

    name: str = "forward"


_FORWARD = FmhaVariant()
_Variant = FmhaVariant | CombineVariant
_LARGEST = {DType.FP8_FNUZ: "240.0F", DType.FP8_OCP: "448.0F"}


def unavailable(instance: FmhaInstance, arch: str) -> str | None:
    """Why the CK tree cannot make a legal instance for the arch; None if it can."""
    return why_no_tiles(arch)


def splits_unavailable(instance: FmhaInstance, arch: str) -> str | None:
    """Why KV cannot be split; None where it can."""
    if tile_config(instance).pipeline.splits:
        return None
    return "the forward kernel takes all keys of a row in one workgroup"


def all_variants(instance: FmhaInstance) -> tuple[_Variant, ...]:
    """The kernel, and what combines its splits."""
    return (_FORWARD, COMBINE) if tile_config(instance).pipeline.splits else (_FORWARD,)


def symbol(instance: FmhaInstance, variant: _Variant) -> str:
    """The kernel's name in every code object that has it."""
    return kernel_symbol(instance.id, variant)


def expected(instance: FmhaInstance, arch: str, variant: _Variant) -> Expectation:
    """What the kernel's machine code must be: both products of a step of keys; registers overflow as recorded."""
    if isinstance(variant, CombineVariant):
        return expected_combine()
    config, spec = tile_config(instance), load_arch(arch)
    overflow = allowed_overflow(instance.name, arch)
    unrolled = config.pipeline is FmhaPipeline.QR_ASYNC_TRLOAD
    return Expectation(
        steps=(matrix_step(instance.signature, config, spec),),
        copies=0 if unrolled else 1,
        lds_bytes=min(lds_bytes(instance.signature, config, spec), spec.lds_bytes),
        scratch_bytes=overflow.scratch_bytes,
        spills=overflow.spills,
        waves_per_simd=max(config.block_per_cu, 1),
    )


def matrix_step(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> tuple[str, int]:
    """The matrix instruction, and how many of them a wave needs for Q·Kᵀ and P·V of one step of keys.

    qr_async_trload takes parts of both products out of its loop: then as many as go into each.
    """
    part = config.warp_tile
    tiles = arch.warp_tiles_for(Backend.CK_TILE, signature.a, signature.a, DType.FP32)
    row = next(row for row in tiles if row.tile == part)
    rows = config.m0 // (config.warps[0] * part.m)
    scores = (config.n0 // part.n) * (config.k0_max // part.k)
    values = (config.n1 // part.n) * (config.n0 // part.k)
    both = gcd(scores, values) if config.pipeline is FmhaPipeline.QR_ASYNC_TRLOAD else scores + values
    return row.instruction, rows * both * row.issues


def device_unit(instance: FmhaInstance, variants: Sequence[_Variant]) -> DeviceUnit:
    """The unit of the kernels."""
    names = tuple(symbol(instance, variant) for variant in variants)
    return DeviceUnit("device/ck_tile_fmha_device.hip.j2", {**_values(instance), "symbol": names[0]}, names)


def host_unit(instance: FmhaInstance, variants: Mapping[str, Sequence[_Variant]]) -> DeviceUnit:
    """The host unit; `variants` are those of each arch's code object."""
    prepare, stages = prepare_symbol(instance.id), fmha_symbol(instance.id)
    values = {
        **_values(instance),
        "symbol": symbol(instance, _FORWARD),
        "archs": sorted(arch for arch, held in variants.items() if _FORWARD in held),
        "prepare": prepare,
    }
    symbols = (prepare, stages) if tile_config(instance).pipeline.splits else (prepare,)
    return DeviceUnit("device/ck_tile_fmha_host.cpp.j2", values, symbols)


def tile_config(instance: FmhaInstance) -> CkTileFmhaConfig:
    """The instance's Config; the instance must be one of ck_tile."""
    config = instance.config
    assert isinstance(config, CkTileFmhaConfig), f"{instance.name} is no ck_tile instance"
    return config


def _values(instance: FmhaInstance) -> dict[str, Any]:
    config, signature = tile_config(instance), instance.signature
    numbers = ("m0", "n0", "k0", "n1", "k1", "k0_max")
    tile = config.warp_tile
    header, entry = _ENTRIES.get(config.pipeline, _FORWARD_ENTRY)
    # 8-bit P is multiplied by its type's largest value, which what combines takes out, and applies V's descale
    largest = _LARGEST.get(signature.a)
    stages = None
    if config.pipeline.splits:
        factor = f"1.0F / {largest}" if largest else ""
        stages = stage_values(signature, instance.id, symbol(instance, COMBINE), always=True, o_factor=factor)
    return {
        "stages": stages,
        "header": header,
        "entry": entry,
        "instance": instance.name,
        "types": {"q": signature.a.value, "kv": signature.b.value, "o": signature.c.value},
        "traits": cpp_traits(signature.traits),
        "pipeline": config.pipeline.value,
        "numbers": [(name, getattr(config, name)) for name in numbers],
        "arrays": [("warps", list(config.warps)), ("warp_tile", [tile.m, tile.n, tile.k])],
        "flags": [(name, cpp_bool(getattr(config, name))) for name in ("pad_q", "pad_k", "pad_hdim_q", "pad_hdim_v")],
        "block_per_cu": config.block_per_cu or -1,
    }


KIND: DeviceKind[FmhaInstance, _Variant] = DeviceKind(
    variants=(FmhaVariant, CombineVariant),
    unavailable=unavailable,
    all_variants=all_variants,
    device_unit=device_unit,
    host_unit=host_unit,
    expected=expected,
    splits_unavailable=splits_unavailable,
    symbol=symbol,
)
"""These instances as device code."""
