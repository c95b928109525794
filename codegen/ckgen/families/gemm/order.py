"""The order of additions of GEMMs' kernels, by what their Configs say of K.

M and N of a tile, its waves along them, padding and how C is written say nothing of an order. What is not known to
leave the order alone counts as part of it.
"""

from __future__ import annotations

from collections.abc import Iterable

from ckgen.families.common.config_words import joined
from ckgen.families.common.order import NO_ORDER, Order
from ckgen.families.gemm.config import (
    AsmConfig,
    CkBlockScaleConfig,
    CkPreshuffledConfig,
    CkRowwiseConfig,
    CkTileConfig,
    FmaConfig,
    HipConfig,
    HostConfig,
    TilePipeline,
    strategy_of,
)
from ckgen.families.gemm.cutlass_config import CutlassConfig, CutlassSchedule
from ckgen.families.gemm.enums import Quant
from ckgen.families.gemm.host_panels import Panels, panels_of
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.arch import CPU_LEVELS
from ckgen.model.config import Config
from ckgen.model.dtype import DType

_DOTS_FROM = CPU_LEVELS.index("x86_64_v4_bf16")
_UNIVERSAL = (TilePipeline.MEM, TilePipeline.COMPV3, TilePipeline.COMPV4)
"""Main loops over one block product, which takes the K of a warp tile by the K of a warp tile."""


def order_of(signature: GemmSignature, config: Config, archs: Iterable[str]) -> Order:
    """Of one product on archs, of which CPU levels say what instructions there are."""
    if strategy_of(config).is_stream_k or isinstance(config, AsmConfig):
        return NO_ORDER  # tiles decide where K is cut; what a shipped kernel does is not told
    if isinstance(config, HostConfig):
        levels = [CPU_LEVELS.index(arch) for arch in archs if arch in CPU_LEVELS]
        return Order(_host(signature, config, min(levels))) if levels else NO_ORDER
    words = _words(signature, config)
    whole = "exact" if signature.acc is DType.INT32 and words else words
    return Order(whole, f"{words} splits of {_split_step(config)}") if words else NO_ORDER


def _words(signature: GemmSignature, config: Config) -> str:
    match config:
        case CkRowwiseConfig():
            loads = f"{joined(config.a_cluster)} {joined(config.b_cluster)} k{config.tile.k}"
            return f"ck rowwise {joined(config.xdl)} {loads} {config.scheduler} v{config.pipeline}"
        case CkBlockScaleConfig() | CkPreshuffledConfig():
            loads = f"{config.ak1}x{config.bk1} k{config.tile.k}"
            return f"{type(config).__name__} {joined(config.xdl)} {loads} {config.scheduler} v{config.pipeline}"
        case CkTileConfig():
            return _ck_tile(signature, config)
        case CutlassConfig():
            if config.parts > 1 or (config.schedule is CutlassSchedule.KC and signature.quant is Quant.BLOCKSCALE):
                return f"cutlass {config.parts} parts of K in steps of {config.tile.k}"
            return "" if config.stream_k else f"cutlass {_cutlass_loop(signature, config)}"
        case FmaConfig():
            return "fma one by one"
        case HipConfig():
            return config.text()
    return ""


def _ck_tile(signature: GemmSignature, config: CkTileConfig) -> str:
    """The matrix instruction's tile, and waves along K, whose sums are added up behind the main loop."""
    is_plain = signature.quant in (Quant.NONE, Quant.PER_TENSOR, Quant.ROWWISE)
    loop = "universal" if is_plain and config.pipeline in _UNIVERSAL else f"{config.pipeline} k{config.tile.k}"
    words = [f"ck_tile {loop} {config.warp_tile} waves {config.warps[2]} vec {config.vector}"]
    words += ["transposed"] if config.transpose_c else []
    words += ["sparse"] if config.structured_sparsity else []
    words += [f"groups {config.num_wave_groups}"] if config.num_wave_groups != 1 else []
    return " ".join(words)


def _cutlass_loop(signature: GemmSignature, config: CutlassConfig) -> str:
    """One matrix instruction after the other, whose K the types say; with block scales their sums leave it per tile."""
    return f"k{config.tile.k}" if signature.quant is Quant.BLOCKSCALE else "whole"


def _split_step(config: Config) -> int:
    """What K is cut in whole multiples of."""
    return config.macro_tile.k


def _host(signature: GemmSignature, config: HostConfig, level: int) -> str:
    """Packed panels are added up one K after the other; bf16 and what is exact in it by pairs, where there is such an
    instruction. Tile instructions round pairs their own way."""
    if signature.acc is DType.INT32:
        return "exact"
    if panels_of(signature, has_dots=level >= _DOTS_FROM) is not Panels.BF16:
        return "host one by one"
    return "host tiles" if config.has_tiles else "host pairs"
