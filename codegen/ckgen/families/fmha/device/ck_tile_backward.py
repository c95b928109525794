"""ck_tile's kernels of attention's gradients as device code: one kernel and what runs before and behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ckgen.families.common.device.kind import DeviceKind
from ckgen.families.common.device.unit import DeviceUnit, fmha_symbol, prepare_symbol, symbol_of
from ckgen.families.common.device.variant import cpp_bool
from ckgen.families.fmha.backward_config import WAVES, CkTileBackwardConfig
from ckgen.families.fmha.device.cpp_traits import cpp_traits
from ckgen.families.fmha.device.recorded import allowed_overflow
from ckgen.families.fmha.device.stages import TYPES
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.families.fmha.tree import why_no_backward
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.dtype import DType
from ckgen.model.expectation import Expectation
from ckgen.specs.archs import load_arch

_FLAT = Tile(16, 16, 16)
_DEEP = Tile(16, 16, 32)
_ROW_NUMBERS = 8
"""Bytes of a row's lse and delta."""


@dataclass(frozen=True, slots=True, order=True)
class BackwardVariant:
    """One of the device kernels."""

    name: str


DOT_DO_O, DQ_DK_DV, SUM_HEADS, CONVERT_DQ = (
    BackwardVariant(name) for name in ("dot_do_o", "dq_dk_dv", "sum_heads", "convert_dq")
)


def unavailable(instance: FmhaInstance, arch: str) -> str | None:
    """Why the CK tree cannot make a legal instance for the arch; None if it can."""
    return why_no_backward(arch)


def splits_unavailable(instance: FmhaInstance, arch: str) -> str | None:
    """There is one workgroup for each tile of keys."""
    return "a kernel of gradients does not split keys"


def all_variants(instance: FmhaInstance) -> tuple[BackwardVariant, ...]:
    """The kernels, in the order of a plan."""
    of_heads = (SUM_HEADS,) if backward_config(instance).grouped else ()
    return (DOT_DO_O, DQ_DK_DV, *of_heads, CONVERT_DQ)


def expected(instance: FmhaInstance, arch: str, variant: BackwardVariant) -> Expectation:
    """Five products of a step of rows; the kernels around them have no matrix instruction, no LDS and no scratch.

    Of padded heads ck_tile's dot_do_o loads element by element, more than 128 registers hold: it may keep some in
    others of its own.
    """
    config, spec = backward_config(instance), load_arch(arch)
    overflow = allowed_overflow(instance.name, arch)
    if variant != DQ_DK_DV:
        spills = overflow.spills if variant == DOT_DO_O and config.pad else 0
        return Expectation(steps=(), copies=0, lds_bytes=0, scratch_bytes=0, spills=spills, waves_per_simd=1)
    return Expectation(
        steps=matrix_steps(instance.signature, config, spec),
        copies=2 if config.pad != 1 else 1,  # the loop of rows and its end; padded by 1 there is the loop alone
        lds_bytes=lds_bytes(instance.signature, config),
        scratch_bytes=overflow.scratch_bytes,
        spills=overflow.spills,
        waves_per_simd=1,
    )


def matrix_steps(signature: FmhaSignature, config: CkTileBackwardConfig, arch: ArchSpec) -> tuple[tuple[str, int], ...]:
    """Matrix instructions, and how many of each a wave would need for all of a step's products.

    Two products of scores and that for dQ take the deeper tile, those for dK and dV the flat one.
    """
    elements = config.m0 * config.n0 * config.hdim // WAVES
    known = {row.tile: row for row in arch.warp_tiles_for(Backend.CK_TILE, signature.a, signature.a, DType.FP32)}
    deep = known[_FLAT if signature.a is DType.FP32 else _DEEP]
    of_dq = known[_FLAT] if config.k4 < deep.tile.k else deep
    each: dict[str, int] = {}
    for row, products in ((deep, 2), (known[_FLAT], 2), (of_dq, 1)):
        issued = products * elements // (row.tile.m * row.tile.n * row.tile.k) * row.issues
        each[row.instruction] = each.get(row.instruction, 0) + issued
    return tuple((name, count * len(each)) for name, count in each.items())


def lds_bytes(signature: FmhaSignature, config: CkTileBackwardConfig) -> int:
    """Bytes that a workgroup takes: K twice, as rows and as columns, or Q and dO twice, dS and a row's numbers."""
    size = signature.a.bits // 8
    keys = 2 * config.n0 * config.hdim * size
    rows = (4 * config.m0 * config.hdim + config.m0 * config.n0) * size + config.m0 * _ROW_NUMBERS
    return max(keys, rows)


def device_unit(instance: FmhaInstance, variants: Sequence[BackwardVariant]) -> DeviceUnit:
    """The unit of the kernels."""
    names = tuple(symbol_of(instance, variant) for variant in variants)
    return DeviceUnit("device/ck_tile_fmha_backward_device.hip.j2", _values(instance), names)


def host_unit(instance: FmhaInstance, variants: Mapping[str, Sequence[BackwardVariant]]) -> DeviceUnit:
    """The host unit; `variants` are those of each arch's code object."""
    prepare, stages = prepare_symbol(instance.id), fmha_symbol(instance.id)
    values = {
        **_values(instance),
        "archs": sorted(arch for arch, held in variants.items() if DQ_DK_DV in held),
        "prepare": prepare,
        "stages": stages,
    }
    return DeviceUnit("device/ck_tile_fmha_backward_host.cpp.j2", values, (prepare, stages))


def backward_config(instance: FmhaInstance) -> CkTileBackwardConfig:
    """The instance's Config; the instance must be one of ck_tile's gradients."""
    config = instance.config
    assert isinstance(config, CkTileBackwardConfig), f"{instance.name} is no ck_tile kernel of gradients"
    return config


def _values(instance: FmhaInstance) -> dict[str, Any]:
    config, signature = backward_config(instance), instance.signature
    return {
        "instance": instance.name,
        "dtype": signature.a.value,
        "element": TYPES[signature.a],
        "traits": cpp_traits(signature.traits),
        "numbers": [
            *((name, getattr(config, name)) for name in ("m0", "n0", "k4", "hdim", "dq_waves", "pad")),
            ("grouped", cpp_bool(config.grouped)),
            ("ordered", cpp_bool(config.ordered)),
        ],
        "ordered": config.ordered,
        "symbols": {SUM_HEADS.name: ""} | {one.name: symbol_of(instance, one) for one in all_variants(instance)},
    }


KIND: DeviceKind[FmhaInstance, BackwardVariant] = DeviceKind(
    variants=(BackwardVariant,),
    unavailable=unavailable,
    all_variants=all_variants,
    device_unit=device_unit,
    host_unit=host_unit,
    expected=expected,
    splits_unavailable=splits_unavailable,
)
"""These instances as device code."""
