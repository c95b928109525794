"""How the K iterations of a GEMM's tiles are given to workgroups: a property of a Config, and a wish of a problem."""

from __future__ import annotations

from ckgen.model.word import Word


class Strategy(Word):
    """ANY is only a wish; DATA_PARALLEL has whole tiles or fixed splits.

    The others are stream-K and differ in how the parts of a tile meet.
    """

    ANY = "any"
    DATA_PARALLEL = "data_parallel"
    ATOMIC = "atomic"
    LINEAR = "linear"
    TREE = "tree"

    @property
    def is_stream_k(self) -> bool:
        """Whether workgroups share the K iterations of a tile."""
        return self in (Strategy.ATOMIC, Strategy.LINEAR, Strategy.TREE)

    @property
    def number(self) -> int:
        """ckgen::Strategy's value."""
        return list(Strategy).index(self)
