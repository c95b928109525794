"""What Config classes of several backends are made of."""

from __future__ import annotations

from ckgen.model.strategy import Strategy
from ckgen.model.word import Word

Ints2 = tuple[int, int]
Ints3 = tuple[int, int, int]
Ints4 = tuple[int, int, int, int]


class Scheduler(Word):
    """How a wave's memory and matrix instructions are interleaved."""

    INTRAWAVE = "intrawave"
    INTERWAVE = "interwave"


def joined(values: tuple[int, ...]) -> str:
    """Such as `16x16`."""
    return "x".join(map(str, values))


def strategy_word(strategy: Strategy) -> str:
    """The end of a name: empty where the strategy is the usual one."""
    return f"_streamk_{strategy}" if strategy.is_stream_k else ""
