"""HOW an MoE layer is computed by two kernels."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.families.common.asm_config import AsmConfig
from ckgen.families.gemm.ck_tile_config import CkTileConfig
from ckgen.families.gemm.cutlass_config import CutlassConfig
from ckgen.families.gemm.fma_config import FmaConfig
from ckgen.families.gemm.hip_config import HipConfig
from ckgen.families.gemm.host_config import HostConfig
from ckgen.families.moe.ck_config import CkMoeConfig
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.hash_once import HashOnce, hash_once

MoeStageConfig = CkMoeConfig | CkTileConfig | AsmConfig | HipConfig | FmaConfig | CutlassConfig | HostConfig
"""The Configs that one part of a layer may have."""


@hash_once
@dataclass(frozen=True, slots=True)
class MoePairConfig(HashOnce):
    """A layer as a gate_up and a down kernel, each with the Config of an instance of its part; both sort alike.

    Its name is `gateup_<backend>_<config>_down_<backend>_<config>`: no Config of a part has such words in its text.
    """

    gate_up: MoeStageConfig
    down: MoeStageConfig

    @property
    def backend(self) -> Backend:
        """The gate_up kernel's."""
        return self.gate_up.backend

    @property
    def macro_tile(self) -> Tile:
        """The gate_up kernel's; its M is block_m."""
        return self.gate_up.macro_tile

    @property
    def k_grain(self) -> int:
        """The gate_up kernel's."""
        return self.gate_up.k_grain

    @property
    def waves(self) -> None:
        """Each kernel has its own."""
        return

    def text(self) -> str:
        """Both kernels' backends and texts."""
        parts = (("gateup", self.gate_up), ("down", self.down))
        return "_".join(f"{word}_{config.backend}_{config.text()}" for word, config in parts)
