"""HOW CUTLASS's warp-specialised kernels for Hopper compute a product."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ckgen.families.common.tiled import Tiled
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.hash_once import hash_once
from ckgen.model.word import Word

WARPGROUP = 128
"""Threads that issue a matrix instruction together."""
WARP = 32
CONSUMERS = 2
"""Warpgroups that compute, of pingpong and cooperative; a third one loads."""
INSTRUCTION_M = 64
USUAL_WIDTHS = (8, 16, 32, 64, 96, 128, 192, 256)
"""Of matrix instructions that CUTLASS has in its usual headers; others are in those of the extended shapes."""
_LEAST_STAGES = 2
_MOST_OF_TWO = 64 * 128


class CutlassSchedule(Word):
    """PP, pingpong: each of two warpgroups has tiles of its own. CO, cooperative: both have halves of one. KC:
    each warpgroup has 64 rows of a tile, a warp loads, and a cluster of workgroups shares the tile's K."""

    PP = "pp"
    CO = "co"
    KC = "kc"


@hash_once
@dataclass(frozen=True, slots=True)
class CutlassConfig(Tiled):
    """`tile` of a workgroup, of which `cluster` (along M and N) share loads. `stream_k`: workgroups share the K of
    tiles that are left of whole rounds, or of all tiles in splits; parts meet in the workspace, in their order. `swap`:
    C^T is computed, so that tile and cluster are along N and M; for problems of few rows. `parts` of KC: workgroups
    that sum a part of a tile's K each and meet in their shared memory, in their order; 1 of others."""

    backend: ClassVar[Backend] = Backend.CUTLASS
    tile: Tile
    cluster: tuple[int, int]
    schedule: CutlassSchedule
    stream_k: bool = False
    swap: bool = False
    parts: int = 1

    @property
    def macro_tile(self) -> Tile:
        """What one workgroup computes per K step, of C itself."""
        return Tile(self.tile.n, self.tile.m, self.tile.k) if self.swap else self.tile

    @property
    def waves(self) -> None:
        """Warpgroups take the tile in turns or by halves, as the schedule says."""
        return

    @property
    def threads(self) -> int:
        """Of a workgroup."""
        loading = WARP if self.schedule is CutlassSchedule.KC else WARPGROUP
        return self.consumers * WARPGROUP + loading

    @property
    def consumers(self) -> int:
        """Warpgroups that compute."""
        return self.tile.m // INSTRUCTION_M if self.schedule is CutlassSchedule.KC else CONSUMERS

    @property
    def resident(self) -> int:
        """Workgroups that an SM holds: two of KC's where their sums leave registers for that."""
        return 2 if self.schedule is CutlassSchedule.KC and self.tile.m * self.tile.n <= _MOST_OF_TWO else 1

    @property
    def warpgroup_tile(self) -> Tile:
        """What one warpgroup computes per K step, as the kernel has its sides."""
        rows = self.tile.m if self.schedule is CutlassSchedule.PP else self.tile.m // self.consumers
        return Tile(rows, self.tile.n, self.tile.k)

    @property
    def has_extended_width(self) -> bool:
        """Whether the matrix instruction is one of CUTLASS's extended shapes."""
        return self.tile.n not in USUAL_WIDTHS

    @property
    def sums_per_thread(self) -> int:
        """Registers of a thread for its part of C."""
        return self.warpgroup_tile.m * self.tile.n // WARPGROUP

    def least_shared_bytes(self, bits: int) -> int:
        """Of shared memory: two stages of A and B of so many bits an element. CUTLASS takes as many as there is room
        for."""
        return _LEAST_STAGES * (self.tile.m + self.tile.n) * self.tile.k * bits // 8

    def text(self) -> str:
        """Tile, cluster, schedule with its parts of K, which only KC has."""
        words = str(self.parts) if self.schedule is CutlassSchedule.KC or self.parts != 1 else ""
        words += ("_sk" if self.stream_k else "") + ("_swap" if self.swap else "")
        return f"{self.tile}_{self.cluster[0]}x{self.cluster[1]}_{self.schedule}{words}"
