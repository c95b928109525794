"""Enums that stand for words."""

from __future__ import annotations

from enum import Enum


class Word(Enum):
    """An enum of texts that print as they are.

    It is no str: members of different enums with one text, such as Quant.NONE and OperandOp.NONE, would be one key of a
    dict and one argument of a cached function, and a text that was never read as a member would compare like one.
    """

    _value_: str

    __hash__ = object.__hash__  # members are singletons; Enum's own hash is a call in Python

    def __str__(self) -> str:
        return self._value_
