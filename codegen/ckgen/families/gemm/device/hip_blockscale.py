"""Block scales of A and B in ck_tile's tiles as device code: kernels of ours, for the pinned CK tree has none.

A Config of the ABQUANT pipeline says the tile, the waves and their grid; dispatcher_cpp/backends/hip/blockscale.hpp
computes it. One kernel per instance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ckgen.families.common.device.kind import DeviceKind
from ckgen.families.common.device.unit import DeviceUnit, prepare_symbol, symbol_of
from ckgen.families.common.device.variant import cpp_bool
from ckgen.families.gemm.config import CkTileConfig
from ckgen.families.gemm.device.tile_parts import tile_config
from ckgen.families.gemm.enums import USUAL_SCALE_BLOCK
from ckgen.families.gemm.instance import Instance
from ckgen.model.config import Tile
from ckgen.model.dtype import DType
from ckgen.model.expectation import Expectation
from ckgen.specs.archs import load_arch

_EDGE, _GROUP, _WAVE, _CHUNK = 16, 128, 64, 16
_SMALL, _LARGE = "v_mfma_f32_16x16x32_fp8_fp8", "v_mfma_f32_16x16x128_f8f6f4"
_MFMA_OF_SMALL = 32
_MANY_SUMS, _MOST_WAVES = 8, 2
"""As BlockScale::kMostWaves: with more tiles of C per wave, registers are for two waves."""


@dataclass(frozen=True, slots=True, order=True)
class BlockScaleVariant:
    """The one device kernel."""

    name: str = "blockscale"


def unavailable(instance: Instance, arch: str) -> str | None:
    """Why there is no code for an arch; None where there is."""
    return next(_lacks(instance, tile_config(instance), arch), None)


def splits_unavailable(instance: Instance, arch: str) -> str | None:
    """Why not with K splits."""
    return "the block-scale kernels sum all of K in one workgroup"


def all_variants(instance: Instance) -> tuple[BlockScaleVariant, ...]:
    """The kernel."""
    return (BlockScaleVariant(),)


def expected(instance: Instance, arch: str, variant: BlockScaleVariant) -> Expectation:
    """One matrix instruction for 128 of K, or four; no scratch, no spills."""
    config = tile_config(instance)
    tile, rows, columns = config.tile, *_tiles_of_a_wave(config)
    large = config.warp_tile.k == _GROUP
    steps = rows * columns * tile.k // (_GROUP if large else _MFMA_OF_SMALL)
    return Expectation(
        steps=((_LARGE if large else _SMALL, steps),),
        copies=1,
        lds_bytes=(tile.m + tile.n) * (tile.k + _CHUNK),
        scratch_bytes=0,
        spills=0,
        waves_per_simd=min(config.block_per_cu, _MOST_WAVES) if rows * columns > _MANY_SUMS else config.block_per_cu,
    )


def device_unit(instance: Instance, variants: Sequence[BlockScaleVariant]) -> DeviceUnit:
    """The unit of the kernel."""
    (symbol,) = (symbol_of(instance, variant) for variant in variants)
    values = {"instance": instance.name, "symbol": symbol, "constants": constants(instance)}
    return DeviceUnit("device/hip_blockscale_device.hip.j2", values, (symbol,))


def constants(instance: Instance) -> list[str]:
    """The fields of BlockScaleConfig in dispatcher_cpp/backends/hip/blockscale.hpp, in its order."""
    config, signature = tile_config(instance), instance.signature
    tile = config.tile
    numbers = [tile.m, tile.n, tile.k, *config.warps[:2], config.warp_tile.k, config.block_per_cu]
    return [*map(str, numbers), *(cpp_bool(flag) for flag in (signature.preshuffle_b, signature.c is DType.FP16))]


def host_unit(instance: Instance, variants: Mapping[str, Sequence[BlockScaleVariant]]) -> DeviceUnit:
    """The host unit, the same for each arch."""
    (variant,) = all_variants(instance)
    config, prepare = tile_config(instance), prepare_symbol(instance.id)
    values = {
        "instance": instance.name,
        "symbol": symbol_of(instance, variant),
        "m": config.tile.m,
        "n": config.tile.n,
        "threads": _threads(config),
        "preshuffled_b": cpp_bool(instance.signature.preshuffle_b),
        "prepare": prepare,
    }
    return DeviceUnit("device/hip_blockscale_host.cpp.j2", values, (prepare,))


def _threads(config: CkTileConfig) -> int:
    return config.warps[0] * config.warps[1] * _WAVE


def _tiles_of_a_wave(config: CkTileConfig) -> tuple[int, int]:
    """Matrix instructions' tiles of C along M and N."""
    return config.tile.m // config.warps[0] // _EDGE, config.tile.n // config.warps[1] // _EDGE


def _lacks(instance: Instance, config: CkTileConfig, arch: str) -> Iterator[str]:
    """What keeps our kernel from computing the instance, each in a sentence."""
    signature, tile, warps, warp_tile = instance.signature, config.tile, config.warps, config.warp_tile
    spec = load_arch(arch)
    if spec.instruction(_SMALL) is None:
        yield f"the block-scale kernels are for archs with {_SMALL}, not {arch}"
    if signature.scale_block != USUAL_SCALE_BLOCK or signature.bias or signature.epilogue:
        yield "the block-scale kernels have scales of 1x128 and 128x128, no bias and no epilogue"
    if (warp_tile.m, warp_tile.n) != (_EDGE, _EDGE) or warps[2] != 1 or _GROUP % warp_tile.k:
        yield f"the block-scale kernels have warp tiles of 16x16 and one wave along K, not {warp_tile} by {warps[2]}"
    if warp_tile.k == _GROUP and spec.instruction(_LARGE) is None:
        yield f"{arch} has no matrix instruction for {_GROUP} of K"
    if not config.transpose_c:
        yield "the block-scale kernels compute C transposed"
    if config.persistent or config.permute_n or config.structured_sparsity or config.double_smem:
        yield "the block-scale kernels are neither persistent nor sparse, and have one buffer of LDS"
    if not _is_whole(tile, config):
        yield f"a tile of {tile} does not divide into whole loads and matrix instructions of {_threads(config)} lanes"


def _is_whole(tile: Tile, config: CkTileConfig) -> bool:
    rows, columns = _tiles_of_a_wave(config)
    of_waves = (rows * config.warps[0] * _EDGE, columns * config.warps[1] * _EDGE)
    loads = [extent * tile.k % (_CHUNK * _threads(config)) for extent in (tile.m, tile.n)]
    return of_waves == (tile.m, tile.n) and not any(loads) and tile.k % _GROUP == 0


KIND: DeviceKind[Instance, BlockScaleVariant] = DeviceKind(
    variants=(BlockScaleVariant,),
    unavailable=unavailable,
    all_variants=all_variants,
    device_unit=device_unit,
    host_unit=host_unit,
    expected=expected,
    splits_unavailable=splits_unavailable,
)
"""These instances as device code."""
