"""Grouped GEMMs over ck_tile's pipelines as device code: one kernel for all groups, and those that make its table.

Every form of the main loop is in the kernel's text, for groups may have any number of K tiles. Which kernels an
instance has, its units' names and constants, and what the machine code must be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from ckgen.families.common.device.kind import DeviceKind
from ckgen.families.common.device.unit import DeviceUnit, Use, groups_symbol, prepare_symbol, symbol_of
from ckgen.families.common.device.variant import cpp_bool
from ckgen.families.gemm.ck_tile_geometry import COMBINING, is_group_quant
from ckgen.families.gemm.config import Epilogue, TilePipeline
from ckgen.families.gemm.device import (
    ck_tile,
    ck_tile_absent,
    ck_tile_flatmm,
    ck_tile_group_quant,
    ck_tile_multi_abd,
    ck_tile_quant,
    hip_blockscale,
)
from ckgen.families.gemm.device.tile_parts import demands, tile_config
from ckgen.families.gemm.enums import Quant
from ckgen.families.gemm.instance import Instance
from ckgen.families.grouped_gemm.deepgemm import names
from ckgen.model.expectation import Expectation
from ckgen.specs.archs import load_arch

_HEADERS = {"gemm": "ck_tile/grouped", "grouped_blockscale": "hip/grouped_blockscale"}
_DESCRIBE_LDS = 1024
_STEPS_OF_ALL_LOOPS = {"quant": 5, "group_quant": 2, "flatmm": 7}
"""K steps in the text: one, two and two of quant's three loops; the loop and the last step of group_quant's; flatmm's
two loops of two steps, with one step behind the one and two behind the other."""


class Role(Enum):
    """What a device kernel does: sets C of all groups, adds K splits to it, writes the table from its arguments, or
    makes it of arrays on the device."""

    SET = "set"
    ADD = "add"
    UPLOAD = "upload"
    DESCRIBE = "describe"


@dataclass(frozen=True, slots=True)
class GroupedVariant:
    """One device kernel."""

    role: Role

    @property
    def name(self) -> str:
        """Such as `set`."""
        return self.role.value


_SET, _ADD, _UPLOAD, _DESCRIBE = map(GroupedVariant, Role)


def unavailable(instance: Instance, arch: str) -> str | None:
    """Why the CK tree cannot make the instance's code for the arch; None if it can."""
    config, signature = tile_config(instance), instance.signature
    if signature.bias:
        return "ck_tile's GEMMs add no fp32 bias: a D tensor with a leading dimension of 0 is one, in C's type"
    if _kind(instance) == "gemm":
        if config.pipeline not in COMBINING:
            return f"groups of any K need a pipeline that takes any number of K tiles, which {config.pipeline} does not"
        if config.epilogue is not Epilogue.CSHUFFLE:
            return "groups are stored through the C-shuffle: epilogue must be cshuffle"
        if config.warps[2] != 1 or config.num_wave_groups != 1:
            return "every wave of a grouped kernel has its part of the tile"
        return ck_tile.lacking(instance, arch)
    if signature.epilogue:
        return "scaled sums of ck_tile take no epilogue"
    once = replace(instance, config=replace(config, persistent=False))  # the loop over tiles is ours
    if _kind(instance) == "grouped_blockscale":
        return hip_blockscale.unavailable(once, arch)
    return ck_tile_absent.unavailable(once, arch)


def splits_unavailable(instance: Instance, arch: str) -> str | None:
    """Why K cannot be split; None if it can."""
    if not _splits(instance):
        return "sums of all of K are scaled, and set C"
    if instance.table_kernel in names():
        return "AITER's deepgemm does not split K: rows that only the device knows leave no C to zero"
    return None


def reachable(instance: Instance, uses: Iterable[Use]) -> tuple[GroupedVariant, ...]:
    """What the uses reach: a kernel by whether K is split, and those that make the table."""
    splits = _splits(instance)
    computing = sorted({_ADD if splits and use.k_batch > 1 else _SET for use in uses}, key=lambda one: one.name)
    return (*computing, _UPLOAD, _DESCRIBE)


def all_variants(instance: Instance) -> tuple[GroupedVariant, ...]:
    """Every kernel that a supported problem can reach."""
    adds = (_ADD,) if instance.constraints.max_k_batch > 1 and _splits(instance) else ()
    return (*adds, _SET, _UPLOAD, _DESCRIBE)


def expected(instance: Instance, arch: str, variant: GroupedVariant) -> Expectation:
    """What the kernel's machine code must be: the single GEMM's K steps of every main loop, no registers spilled."""
    if variant.role in (Role.UPLOAD, Role.DESCRIBE):
        lds = _DESCRIBE_LDS if variant.role is Role.DESCRIBE else 0
        return Expectation(steps=(), copies=0, lds_bytes=lds, scratch_bytes=0, spills=0, waves_per_simd=1)
    kind = _kind(instance)
    if kind == "grouped_blockscale":
        return hip_blockscale.expected(instance, arch, hip_blockscale.BlockScaleVariant())
    preshuffled = kind == "flatmm"
    staged = ck_tile_flatmm.lds_of(instance) if preshuffled else None
    loops = ck_tile.main_loops(instance) if kind == "gemm" else ()
    copies = _STEPS_OF_ALL_LOOPS.get(kind) or sum(ck_tile.copies(instance, loop) for loop in loops)
    return demands(instance, load_arch(arch), copies, staged, preshuffle=preshuffled)


def device_unit(instance: Instance, variants: Sequence[GroupedVariant]) -> DeviceUnit:
    """The unit of these kernels, in the order given."""
    symbols = tuple(symbol_of(instance, variant) for variant in variants)
    rows = [{"role": one.role.value, "symbol": symbol} for one, symbol in zip(variants, symbols, strict=True)]
    return DeviceUnit("device/ck_tile_grouped_device.hip.j2", {**_values(instance), "variants": rows}, symbols)


def host_unit(instance: Instance, variants: Mapping[str, Sequence[GroupedVariant]]) -> DeviceUnit:
    """The host unit; `variants` are those of each arch's code object."""
    kernels = {
        one.role.value: {
            "symbol": symbol_of(instance, one),
            "archs": sorted(arch for arch, held in variants.items() if one in held),
        }
        for one in all_variants(instance)
    }
    prepare, groups = prepare_symbol(instance.id), groups_symbol(instance.id)
    values = {
        **_values(instance),
        "kernels": kernels,
        "prepare": prepare,
        "groups": groups,
    }
    return DeviceUnit("device/ck_tile_grouped_host.cpp.j2", values, (prepare, groups))


def _values(instance: Instance) -> dict[str, Any]:
    config, kind = tile_config(instance), _kind(instance)
    values = {
        "instance": instance.name,
        "template": f"device/ck_tile_{kind}_config.hpp.j2",
        "header": _HEADERS.get(kind, "ck_tile/grouped_scaled"),
        "bounds": config.block_per_cu,
        "persistent": cpp_bool(config.persistent),
        "block_per_cu": config.block_per_cu,
    }
    match kind:
        case "gemm":
            return {
                **values,
                "kind": "tile::GroupedDense<Config>",
                "config": ck_tile.constants(instance),
                "fused": ck_tile_multi_abd.fused(instance),
            }
        case "quant":
            return {**values, "kind": "tile::GroupedQuant<kConfig>", "config": ck_tile_quant.constants(instance)}
        case "group_quant":
            return {
                **values,
                "kind": "tile::GroupedBlockQuant<kConfig>",
                "config": ck_tile_group_quant.constants(instance),
            }
        case "grouped_blockscale":
            bounds = {"bounds": "Kind::kWavesPerSimd"}
            return {
                **values,
                **bounds,
                "kind": "hip::GroupedBlockScale<kConfig>",
                "config": hip_blockscale.constants(instance),
            }
    return {**values, "kind": "tile::GroupedFlatmm<kConfig>", "config": ck_tile_flatmm.constants(instance)}


def _splits(instance: Instance) -> bool:
    return _kind(instance) in ("gemm", "flatmm")


def _kind(instance: Instance) -> str:
    """Which single GEMM computes a tile, by the name of its unit's Config."""
    if tile_config(instance).pipeline is TilePipeline.FLATMM:
        return "flatmm"
    if tile_config(instance).pipeline is TilePipeline.ABQUANT:
        return "grouped_blockscale"
    if instance.signature.quant is Quant.NONE:
        return "gemm"
    return "group_quant" if is_group_quant(instance.signature) else "quant"


KIND: DeviceKind[Instance, GroupedVariant] = DeviceKind(
    variants=(GroupedVariant,),
    unavailable=unavailable,
    reachable=reachable,
    all_variants=all_variants,
    device_unit=device_unit,
    host_unit=host_unit,
    expected=expected,
    splits_unavailable=splits_unavailable,
)
"""These instances as device code."""
