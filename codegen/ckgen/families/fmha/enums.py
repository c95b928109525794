"""The small vocabularies of an attention signature, in the words of its canonical name."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.model.fmha_shape import FmhaCorner as FmhaCorner
from ckgen.model.word import Word


class FmhaEntry(Word):
    """FORWARD: attention, whatever kernels it takes. APPEND: new keys and values go into the cache."""

    FORWARD = "forward"
    APPEND = "append"


class FmhaBias(Word):
    """What is added to the scores; ALIBI has fp32 slopes per query head, [heads_q] or [batch, heads_q]."""

    NONE = "none"
    ELEMENTWISE = "elementwise"
    ALIBI = "alibi"


class FmhaDropout(Word):
    """Where the bytes come from that drop elements of P: a generator, or the caller."""

    NONE = "none"
    PHILOX = "dropout"
    RANDVAL = "randval"


class FmhaQuant(Word):
    """Which elements of Q, K and V share a descale: all; 128 rows of a head; of K and V, a page of a KV head."""

    NONE = "none"
    PER_TENSOR = "pertensor"
    BLOCKSCALE = "blockscale"
    KV_BLOCKSCALE = "kvblockscale"


class FmhaKv(Word):
    """How a row of K or V is found: by strides, by a row of page numbers per sequence, or by one list of pages."""

    CONTIGUOUS = "contiguous"
    BLOCK_TABLE = "blocktable"
    PAGE_LIST = "pagelist"


class FmhaKvLayout(Word):
    """A page, with vectors of 16 bytes where VECTORIZED.

    LINEAR: [page_size, heads_k, D]. VECTORIZED: K [heads_k, D / vec, page_size, vec], V [heads_k, page_size / vec, D,
    vec].
    """

    LINEAR = "linear"
    VECTORIZED = "vectorized"


class FmhaRope(Word):
    """Which two elements of a head rotate together: neighbours, or those half a head apart."""

    NONE = "none"
    INTERLEAVED = "interleaved"
    HALF = "half"


@dataclass(frozen=True, slots=True)
class FmhaTraits:
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
        return self.kv is not FmhaKv.CONTIGUOUS
