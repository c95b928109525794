"""Configs that are one change away from a given one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from enum import Enum
from typing import Any

from ckgen.model.config import Tile


def others(value: Any, least: int = 0) -> Iterator[Any]:
    """Values that a field may have instead, numbers not below `least`."""
    match value:
        case bool():
            yield not value
        case int():
            yield from (other for other in (value // 2, value * 2, value + value // 2) if other >= least)
        case Enum():
            yield from (member for member in type(value) if member is not value)
        case Tile(m, n, k):
            yield from (Tile(*sides) for sides in others((m, n, k), least))
        case tuple():
            for at, part in enumerate(value):
                yield from ((*value[:at], other, *value[at + 1 :]) for other in others(part, least))
        case _:
            pass


def neighbours(config: Any, least: int = 0) -> Iterator[Any]:
    """The Config, and all that differ from it in one number or word of one field; such as cannot be made are not."""
    yield config
    for field in fields(config):
        for other in others(getattr(config, field.name), least):
            try:
                yield replace(config, **{field.name: other})
            except ValueError:
                continue
