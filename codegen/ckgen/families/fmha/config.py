"""HOW ck_tile computes attention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ckgen.families.common.config_words import Ints3, joined
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.hash_once import HashOnce, hash_once
from ckgen.model.word import Word


class FmhaPipeline(Word):
    """ck_tile's main loops: Q in registers, K and V through LDS.

    QR_ASYNC: K goes to LDS straight from memory. QR_ASYNC_TRLOAD: V too, and is transposed as it is read (gfx950).
    QR_PAGEDKV: as QR, from the pages that a block table names. QR_SPLITKV: as QR, of a part of the keys, in pages or
    not; QR_SPLITKV_MERGED: with the rows of all query heads of a KV head in one tile.
    QR_ASYNC_GATHER: as QR_ASYNC, row by row from any pages.
    """

    QR = "qr"
    QR_ASYNC = "qr_async"
    QR_ASYNC_TRLOAD = "qr_async_trload"
    QR_PAGEDKV = "qr_pagedkv"
    QR_SPLITKV = "qr_splitkv"
    QR_SPLITKV_MERGED = "qr_splitkv_merged"
    QR_ASYNC_GATHER = "qr_async_gather"

    @property
    def splits(self) -> bool:
        """Whether workgroups share the keys of a row, and another kernel combines what they leave."""
        return self in (FmhaPipeline.QR_SPLITKV, FmhaPipeline.QR_SPLITKV_MERGED)

    @property
    def passes_registers(self) -> bool:
        """Whether K and V go to LDS through registers."""
        return self not in (FmhaPipeline.QR_ASYNC, FmhaPipeline.QR_ASYNC_TRLOAD, FmhaPipeline.QR_ASYNC_GATHER)


@hash_once
@dataclass(frozen=True, slots=True)
class CkTileFmhaConfig(HashOnce):
    """A workgroup has m0 rows of Q and n1 columns of V; a step takes n0 keys, k0 of the head dim or k1 keys at once.

    k0_max: largest head dim of Q and K that is computed. `warps`: waves along M, N and K, of both products; `warp_tile`
    of both products. Pads: lengths of Q and K, and head dims of Q and V, need not be whole. block_per_cu 0: the
    pipeline's own.
    """

    backend: ClassVar[Backend] = Backend.CK_TILE
    pipeline: FmhaPipeline
    m0: int
    n0: int
    k0: int
    n1: int
    k1: int
    k0_max: int
    warps: Ints3
    warp_tile: Tile
    pad_q: bool = True
    pad_k: bool = True
    pad_hdim_q: bool = True
    pad_hdim_v: bool = True
    block_per_cu: int = 0

    @property
    def waves(self) -> Ints3:
        """Waves along M, N, K."""
        return self.warps

    @property
    def macro_tile(self) -> Tile:
        """Rows of Q and columns of V per workgroup, and keys per step."""
        return Tile(self.m0, self.n1, self.n0)

    @property
    def k_grain(self) -> int:
        """Keys per step."""
        return self.n0

    def text(self) -> str:
        """Pipeline, padding, tiles, waves, then the occupancy where it is not the pipeline's own."""
        pads = (self.pad_q, self.pad_k, self.pad_hdim_q, self.pad_hdim_v)
        tiles = joined((self.m0, self.n0, self.k0, self.n1, self.k1, self.k0_max))
        words = [str(self.pipeline), "pad" + "".join(str(int(pad)) for pad in pads), tiles, joined(self.warps)]
        words += [str(self.warp_tile), *([f"bpc{self.block_per_cu}"] if self.block_per_cu else [])]
        return "_".join(words)
