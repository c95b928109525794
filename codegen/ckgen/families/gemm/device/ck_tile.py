"""ck_tile's dense GEMMs as device code: which kernels an instance has, its units' names and constants, its demands.

Source of the loop rules: the pipelines of the CK tree (include/ck_tile/ops/gemm/pipeline, BlockHasHotloop and
GetBlockLoopTailNum of each); the host side asks those very functions, and tests hold both equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from ckgen.families.common.device.kind import DeviceKind
from ckgen.families.common.device.unit import DeviceUnit, Use, prepare_symbol, symbol_of
from ckgen.families.common.device.variant import Tail, cpp_bool
from ckgen.families.gemm.ck_tile_geometry import (
    DENSE,
    has_two_buffers,
    is_multi_abd,
    least_k,
    stages,
)
from ckgen.families.gemm.ck_tile_tree import is_unknown, tree_lacks
from ckgen.families.gemm.config import Epilogue, Scheduler, TilePipeline
from ckgen.families.gemm.device.tile_parts import demands, shuffles_odd_tiles, tile_config
from ckgen.families.gemm.instance import Instance
from ckgen.model.expectation import Expectation
from ckgen.specs.archs import load_arch


@dataclass(frozen=True, slots=True)
class TileVariant:
    """One device kernel: whether the main loop turns (`hot`), its tail, and whether C is added to."""

    hot: bool
    tail: Tail
    add: bool

    @property
    def name(self) -> str:
        """Such as `hot_full_set`."""
        return "_".join(("hot" if self.hot else "cold", self.tail.value, "add" if self.add else "set")).lower()

    def __lt__(self, other: TileVariant) -> bool:
        return self.name < other.name


_COUNTED = (Tail.FULL, Tail.ONE, Tail.TWO, Tail.THREE, Tail.FOUR, Tail.FIVE, Tail.SIX, Tail.SEVEN)
_STEPS = {Tail.ONE: 1, Tail.TWO: 2, Tail.EVEN: 2, Tail.THREE: 3, Tail.ODD: 3}
_UNROLLED = 2
_MOST_TILES = 24
"""K tiles beyond which every main loop only repeats itself: three times the most stages."""


def unavailable(instance: Instance, arch: str) -> str | None:
    """Why the CK tree cannot make the instance's code for the arch; None if it can."""
    config = tile_config(instance)
    if config.pipeline not in DENSE:
        return f"{config.pipeline} is no pipeline of a dense GEMM"
    if is_multi_abd(instance.signature):
        return "a dense ck_tile GEMM has no batch, bias, epilogue or operand of two tensors: other kernels have"
    return lacking(instance, arch)


def lacking(instance: Instance, arch: str) -> str | None:
    """Why the CK tree cannot make the tiles and the pipeline for the arch, whatever is done beside the product."""
    config = tile_config(instance)
    if is_unknown(arch):
        return f"the CK tree does not know {arch}"
    if shuffles_odd_tiles(instance):
        return "CShuffleEpilogue writes wrong rows for odd tiles along M: docs/upstream/ck_tile_cshuffle_odd.md"
    return tree_lacks(instance.signature, config, arch)


def variant_of(instance: Instance, use: Use) -> TileVariant:
    """The kernel that a supported problem reaches."""
    tiles = -(-use.shape.k // (use.k_batch * tile_config(instance).tile.k))
    return TileVariant(*_loop(instance, tiles), use.k_batch > 1)


def reachable(instance: Instance, uses: Iterable[Use]) -> tuple[TileVariant, ...]:
    """What the uses reach, sorted by name; M and N do not choose a kernel."""
    return tuple(sorted({variant_of(instance, use) for use in uses}))


@cache
def all_variants(instance: Instance) -> tuple[TileVariant, ...]:
    """Every kernel that a supported problem can reach, sorted by name."""
    adds = (False, True) if instance.constraints.max_k_batch > 1 else (False,)
    return tuple(sorted(replace(loop, add=add) for loop in main_loops(instance) for add in adds))


def main_loops(instance: Instance) -> tuple[TileVariant, ...]:
    """The forms of the main loop that some number of K tiles takes, each as the kernel that sets C."""
    config = tile_config(instance)
    least = max(-(-least_k(config) // config.tile.k), 1)
    loops = {_loop(instance, tiles) for tiles in range(least, _MOST_TILES)}
    return tuple(sorted(TileVariant(*loop, False) for loop in loops))


def copies(instance: Instance, variant: TileVariant) -> int:
    """K steps in the kernel's text: the main loop's body, as often as it is unrolled, and the tail."""
    config = tile_config(instance)
    match config.pipeline:
        case TilePipeline.COMPV3:
            return 2 if variant.hot or variant.tail is Tail.EVEN else 1
        case TilePipeline.COMPV5:
            return 0
        case TilePipeline.MEM:
            turn = stages(instance.signature, config)
            return (_COUNTED.index(variant.tail) or turn) + (turn if variant.hot else 0)
    return _STEPS[variant.tail] + (_UNROLLED if variant.hot else 0)


def expected(instance: Instance, arch: str, variant: TileVariant) -> Expectation:
    """What the kernel's machine code must be: the warp tile's instruction, as often as its K steps need it."""
    return demands(instance, load_arch(arch), copies(instance, variant))


def device_unit(instance: Instance, variants: Sequence[TileVariant]) -> DeviceUnit:
    """The unit of these kernels, in the order given."""
    symbols = tuple(symbol_of(instance, variant) for variant in variants)
    return DeviceUnit("device/ck_tile_gemm_device.hip.j2", device_values(instance, variants), symbols)


def host_unit(instance: Instance, variants: Mapping[str, Sequence[TileVariant]]) -> DeviceUnit:
    """The host unit; `variants` are those of each arch's code object."""
    values = host_values(instance, variants)
    return DeviceUnit("device/ck_tile_gemm_host.cpp.j2", values, (prepare_symbol(instance.id),))


def device_values(instance: Instance, variants: Sequence[TileVariant]) -> dict[str, Any]:
    """What a device unit's template takes."""
    rows = [_row(instance, variant) for variant in variants]
    return {"instance": instance.name, "config": constants(instance), "variants": rows}


def host_values(instance: Instance, variants: Mapping[str, Sequence[TileVariant]]) -> dict[str, Any]:
    """What a host unit's template takes."""
    every = sorted({variant for of_arch in variants.values() for variant in of_arch})
    rows = [
        _row(instance, variant) | {"archs": sorted(arch for arch, held in variants.items() if variant in held)}
        for variant in every
    ]
    prepare = prepare_symbol(instance.id)
    return {"instance": instance.name, "prepare": prepare, "config": constants(instance), "variants": rows}


def _row(instance: Instance, variant: TileVariant) -> dict[str, Any]:
    return {
        "symbol": symbol_of(instance, variant),
        "hot": cpp_bool(variant.hot),
        "tail": variant.tail.value,
        "add": cpp_bool(variant.add),
    }


def constants(instance: Instance) -> dict[str, Any]:
    """The fields of the unit's Config."""
    config, signature = tile_config(instance), instance.signature
    flags = ("pad_m", "pad_n", "pad_k", "transpose_c", "structured_sparsity", "persistent")
    numbers = ("partitioner_group_num", "partitioner_m01", "num_wave_groups", "vector", "block_per_cu")
    extents = {"tile": config.tile, "warp_tile": config.warp_tile}
    return {
        "a": signature.a.value,
        "b": signature.b.value,
        "c": signature.c.value,
        "acc": signature.acc.value,
        "layout": signature.layout.value,
        "loop": config.pipeline.value,
        "store": "cshuffle" if config.epilogue is Epilogue.CSHUFFLE else "direct",
        "flags": [
            ("interwave", cpp_bool(config.scheduler is Scheduler.INTERWAVE)),
            *((name, cpp_bool(getattr(config, name))) for name in flags),
        ],
        "numbers": [
            *((f"{name}_{axis}", getattr(tile, axis)) for name, tile in extents.items() for axis in "mnk"),
            *((f"warps_{axis}", waves) for axis, waves in zip("mnk", config.warps, strict=True)),
            *((name, getattr(config, name)) for name in numbers),
        ],
    }


def _loop(instance: Instance, tiles: int) -> tuple[bool, Tail]:
    """Main loop and tail for so many K tiles per split."""
    config = tile_config(instance)
    turn = stages(instance.signature, config)
    hot = tiles > turn
    match config.pipeline:
        case TilePipeline.MEM:
            return hot, _COUNTED[tiles % turn]
        case TilePipeline.COMPV3:
            return hot, Tail.FULL if hot else Tail.ODD if tiles == 1 else Tail.EVEN
        case TilePipeline.COMPV5:
            return True, Tail.EMPTY
        case TilePipeline.COMPV6:
            return hot, Tail.ODD if tiles % 2 else Tail.EVEN
    if has_two_buffers(config.pipeline) and tiles == 1:
        return False, Tail.ONE
    # three tiles fit the tail alone, see Gemm::loop_of in dispatcher_cpp/backends/ck_tile/gemm.hpp
    return tiles > turn + 1, Tail.THREE if tiles % 2 else Tail.TWO


KIND: DeviceKind[Instance, TileVariant] = DeviceKind(
    variants=(TileVariant,),
    unavailable=unavailable,
    reachable=reachable,
    all_variants=all_variants,
    device_unit=device_unit,
    host_unit=host_unit,
    expected=expected,
)
"""These instances as device code."""
