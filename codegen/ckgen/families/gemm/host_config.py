"""HOW a CPU computes a GEMM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ckgen.families.common.config_words import strategy_word
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.hash_once import HashOnce, hash_once
from ckgen.model.strategy import Strategy


@hash_once
@dataclass(frozen=True, slots=True)
class HostConfig(HashOnce):
    """A CPU GEMM: an mr x nr register tile inside mc x nc x kc cache blocks; `threads` 0 means all that the run has.

    Of an MoE signature `mc` is block_m: the rows that the sorted tokens of an expert are padded to.
    """

    backend: ClassVar[Backend] = Backend.HOST
    mr: int
    nr: int
    mc: int
    nc: int
    kc: int
    threads: int = 0
    strategy: Strategy = Strategy.DATA_PARALLEL

    @property
    def macro_tile(self) -> Tile:
        """The cache block."""
        return Tile(self.mc, self.nc, self.kc)

    @property
    def has_tiles(self) -> bool:
        """Whether AMX's tile instructions compute it: no other register tile has a multiple of 16 rows."""
        return self.mr % 16 == 0

    @property
    def k_grain(self) -> int:
        """K is taken one by one at its end."""
        return 1

    @property
    def waves(self) -> None:
        """A CPU has none."""
        return

    def text(self) -> str:
        """Register tile, cache blocks, threads, the strategy where it is stream-K."""
        blocks = f"{self.mr}x{self.nr}_{self.mc}x{self.nc}x{self.kc}"
        return f"{blocks}_t{self.threads}{strategy_word(self.strategy)}"
