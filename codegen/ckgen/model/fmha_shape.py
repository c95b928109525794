"""The sizes of an attention problem, as `ckgen::FmhaShape` has them."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.model.op_words import FmhaCorner as FmhaCorner

SIZES = ("batch", "heads_q", "heads_k", "seqlen_q", "seqlen_k", "hdim_q", "hdim_v")
"""The fields of FmhaShape that every problem says, in the order in which people read them."""


@dataclass(frozen=True, slots=True)
class FmhaShape:
    """Lengths are the largest of a sequence where they differ; corner, window and sink tokens are a mask's alone.

    A window below 0 is no limit; the defaults are causal. page_size and pages are of paged KV. total_q: rows of Q of
    all sequences of varlen; 0: batch * seqlen_q. split_...: of a schedule of unequal splits of KV; no items: none. Of
    append, seqlen_k is the room of a sequence in the cache, seqlen_q the rows of Q that rotate, and total_q those of
    all new tokens.
    min_seqlen_k: keys that each sequence of varlen or paged KV has at least. finite_kv: pages hold finite values too
    where no sequence has a key. gaps_q: of varlen, lengths of Q are given beside the starts: rows may lie between.
    """

    batch: int = 1
    heads_q: int = 1
    heads_k: int = 1
    seqlen_q: int = 0
    seqlen_k: int = 0
    hdim_q: int = 0
    hdim_v: int = 0
    corner: FmhaCorner = FmhaCorner.BOTTOM_RIGHT
    window_left: int = -1
    window_right: int = 0
    sink_tokens: int = 0
    page_size: int = 0
    pages: int = 0
    total_q: int = 0
    split_items: int = 0
    split_combines: int = 0
    split_rows: int = 0
    split_m0: int = 0
    split_n0: int = 0
    split_merged: bool = False
    seqlen_new: int = 0
    rotary_dim: int = 0
    min_seqlen_k: int = 0
    finite_kv: bool = False
    gaps_q: bool = False
