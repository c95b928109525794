"""What an attention signature says beside its types, in the words of its canonical name."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.model.hash_once import HashOnce, hash_once
from ckgen.model.op_words import FmhaBias as FmhaBias
from ckgen.model.op_words import FmhaCorner as FmhaCorner
from ckgen.model.op_words import FmhaDropout as FmhaDropout
from ckgen.model.op_words import FmhaEntry as FmhaEntry
from ckgen.model.op_words import FmhaKv as FmhaKv
from ckgen.model.op_words import FmhaKvLayout as FmhaKvLayout
from ckgen.model.op_words import FmhaQuant as FmhaQuant
from ckgen.model.op_words import FmhaRope as FmhaRope


@hash_once
@dataclass(frozen=True, slots=True)
class FmhaTraits(HashOnce):
    """What an attention signature says beside its types: Q's is a, that of K and V is b, O's is c.

    varlen: rows of all sequences lie one after the other. v_column: V is [hdim_v, length_k] per head. masked: corner
    and window are the problem's. sink: one logit more per query head, that has no value. lse: it is written.
    """

    entry: FmhaEntry = FmhaEntry.FORWARD
    varlen: bool = False
    v_column: bool = False
    masked: bool = False
    bias: FmhaBias = FmhaBias.NONE
    softcap: bool = False
    sink: bool = False
    lse: bool = False
    dropout: FmhaDropout = FmhaDropout.NONE
    quant: FmhaQuant = FmhaQuant.NONE
    kv: FmhaKv = FmhaKv.CONTIGUOUS
    kv_layout: FmhaKvLayout = FmhaKvLayout.LINEAR
    rope: FmhaRope = FmhaRope.NONE

    @property
    def is_paged(self) -> bool:
        """Whether K and V lie in pages."""
        return self.kv.is_paged
