"""The order in which attention takes its keys: tiles of n0 from the first one on, whose sums are rescaled and added."""

from __future__ import annotations

from collections.abc import Sequence

from ckgen.families.common.config_words import joined
from ckgen.families.common.order import NO_ORDER, Order
from ckgen.families.fmha.append_config import CkTileAppendConfig, HipAppendConfig
from ckgen.families.fmha.config import CkTileFmhaConfig
from ckgen.families.fmha.forward_config import HipForwardConfig
from ckgen.families.fmha.hip_config import HipFmhaConfig
from ckgen.families.fmha.host_config import HostFmhaConfig
from ckgen.model.arch import CPU_LEVELS
from ckgen.model.config import Config


def order_of(config: Config, archs: Sequence[str]) -> Order:
    """Unsplit alone: how many keys a split has is a matter of the longest request's."""
    match config:
        case HostFmhaConfig():
            levels = [arch for arch in CPU_LEVELS if arch in archs]
            return Order(f"host {levels[0]} n0 {config.n0}") if levels else NO_ORDER
        case CkTileFmhaConfig():
            steps = joined((config.n0, config.k0, config.n1, config.k1, config.k0_max))
            return Order(f"ck_tile {config.pipeline} {steps} {config.warp_tile} waves {config.warps[2]}")
        case HipFmhaConfig() | HipForwardConfig():
            return Order(config.text())
        case CkTileAppendConfig() | HipAppendConfig():
            return Order("append")  # nothing is added up
    return NO_ORDER
