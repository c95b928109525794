"""What variants of ck and ck_tile have in common, and how templates write it."""

from __future__ import annotations

from enum import Enum


class Tail(Enum):
    """TailNumber of ck and of ck_tile: what the K loop leaves to do after its last whole turn. EMPTY is ck_tile's."""

    FULL = "Full"
    ODD = "Odd"
    EVEN = "Even"
    ONE = "One"
    TWO = "Two"
    THREE = "Three"
    FOUR = "Four"
    FIVE = "Five"
    SIX = "Six"
    SEVEN = "Seven"
    EMPTY = "Empty"


def cpp_bool(value: bool) -> str:
    """The C++ literal."""
    return "true" if value else "false"
