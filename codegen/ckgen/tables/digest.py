"""The digest by which running programs compare the tables that they loaded."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

_WORD = 2**64 - 1
_SEED, _X, _Y = 0x9E3779B97F4A7C15, 0xA0761D6478BD642F, 0xE7037ED1A0B428DB
_LAST_X, _LAST_Y = 0x8EBC6AF09C88C6E3, 0x589965CC75374CC3


def tables_digest(files: Iterable[Path]) -> int:
    """What `Dispatcher::loaded_tables_digest()` says of these files in this order; 0 without any.

    64 bits, of the bytes alone, by ShapeHash of dispatcher_cpp/src/operation/shape.hpp. OSError for what cannot be
    read.
    """
    every = list(files)
    value = _SEED
    for file in every:
        value = _with_bytes(value, file.read_bytes())
    return (_folded(value ^ _LAST_X, _LAST_Y) or 1) if every else 0


def _with_bytes(value: int, data: bytes) -> int:
    word = 0
    for at in range(0, len(data) - 7, 8):
        word = int.from_bytes(data[at : at + 8], "big")
        value = _added(value, word, at + 7)
    for byte in data[len(data) - len(data) % 8 :]:
        word = (word << 8 | byte) & _WORD
    return _added(value, word, len(data))


def _added(value: int, x: int, y: int) -> int:
    turned = (value << 1 | value >> 63) & _WORD
    return (_folded(x ^ _X, y ^ value ^ _Y) + turned) & _WORD


def _folded(x: int, y: int) -> int:
    product = x * y
    return (product ^ product >> 64) & _WORD
