"""Enums that stand for words."""

from __future__ import annotations

from enum import Enum


class Word(Enum):
    """An enum of texts that print as they are."""

    _value_: str

    __hash__ = object.__hash__  # members are singletons; Enum's own hash is a call in Python

    def __str__(self) -> str:
        return self._value_
