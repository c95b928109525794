"""What of ck_tile the pinned CK tree cannot do, by the conditions of ck_tile_absent.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ckgen.families.gemm.ck_tile_tree import is_unknown
from ckgen.families.gemm.config import CkTileConfig
from ckgen.families.gemm.device.absent import Absent, Fact, absent_rules, first_fit
from ckgen.families.gemm.device.tile_parts import shuffles_odd_tiles, tile_config
from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.instance import Instance

_FILE = "ck_tile_absent.json"

_CHUNKS = 4
"""Chunks of a warp tile's K that flatmm reads of a row of B."""

_QUANT_FIELDS = (
    "scheduler", "pad_m", "pad_n", "pad_k", "partitioner_group_num", "partitioner_m01", "block_per_cu",
)  # fmt: skip
"""What QuantGemmKernel's bridge takes besides tiles and waves."""


def absent(instance: Instance) -> Absent | None:
    """Why the tree has no kernel for a ck_tile instance, whatever the arch; None where it has one."""
    return first_fit(absent_rules(_FILE), _facts(instance, tile_config(instance)))


def unavailable(instance: Instance, arch: str) -> str | None:
    """The same, as one line for people."""
    if is_unknown(arch):
        return f"the CK tree does not know {arch}"
    found = absent(instance)
    return found.text if found is not None else None


def _facts(instance: Instance, config: CkTileConfig) -> Mapping[str, Fact]:
    signature = instance.signature
    plain = CkTileConfig(config.tile, config.warps, config.warp_tile, config.pipeline)
    kept = {name: getattr(config, name) for name in _QUANT_FIELDS}
    return {
        "quant": signature.quant.value,
        "sides": signature.scale_block.sides.value,
        "operand": signature.a.value,
        "bias": signature.bias,
        "preshuffle_b": signature.preshuffle_b,
        "pipeline": config.pipeline.value,
        "waves": config.warps[0] * config.warps[1] * config.warps[2],
        "waves_m": config.warps[0],
        "warp_n": config.warp_tile.n,
        "warp_k": config.warp_tile.k,
        "odd_shuffle": shuffles_odd_tiles(instance),
        "options": replace(plain, **kept) != config,
        "grouped": signature.op is Op.GROUPED_GEMM,
        "chunk_bytes": config.warp_tile.k * signature.a.bits // 8 // _CHUNKS,
    }
