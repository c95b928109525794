"""HOW an instance computes: GEMM's Config classes, each a `ckgen.model.config.Config`."""

from __future__ import annotations

from ckgen.families.common.asm_config import AsmConfig
from ckgen.families.common.config_words import Scheduler
from ckgen.families.gemm.ck_config import CkBlockScaleConfig, CkConfig, CkPreshuffledConfig, CkRowwiseConfig
from ckgen.families.gemm.ck_tile_config import CkTileConfig, Epilogue, TilePipeline
from ckgen.families.gemm.cutlass_config import CutlassConfig, CutlassSchedule
from ckgen.families.gemm.fma_config import FmaConfig
from ckgen.families.gemm.hip_config import HipConfig, HipKind
from ckgen.families.gemm.host_config import HostConfig
from ckgen.model.config import Config
from ckgen.model.strategy import Strategy

__all__ = [
    "AsmConfig", "CkBlockScaleConfig", "CkConfig", "CkPreshuffledConfig", "CkRowwiseConfig", "CkTileConfig",
    "CutlassConfig", "CutlassSchedule",
    "Epilogue", "FmaConfig", "GemmConfig", "HipConfig", "HipKind", "HostConfig", "Scheduler", "TilePipeline",
    "strategy_of",
]  # fmt: skip

GemmConfig = CkConfig | CkTileConfig | AsmConfig | HipConfig | FmaConfig | CutlassConfig | HostConfig


def strategy_of(config: Config) -> Strategy:
    """The Config's strategy; only some kinds of Config have a choice."""
    return config.strategy if isinstance(config, (CkTileConfig, HostConfig)) else Strategy.DATA_PARALLEL
