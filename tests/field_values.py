"""Other values of a dataclass's field, by its type alone, for tests over every field of Signatures and Configs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import is_dataclass, replace
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from ckgen.model.fields import hints_of

WORDS = ("other", "another")


def others(hint: Any, value: Any) -> Iterator[Any]:
    """Values of the type that are not `value`, at least one; TypeError for a type that nobody has taught this."""
    if get_origin(hint) in (Union, UnionType):
        yield from _others_of_union(get_args(hint), value)
    elif get_origin(hint) is tuple:
        yield from _others_of_tuple(get_args(hint), value)
    elif hint is bool:
        yield not value
    elif hint is int:
        yield from (value + 1, value * 2 + 1, 10 * value + 2)
    elif hint is str:
        yield from (word for word in WORDS if word != value)
    elif isinstance(hint, type) and issubclass(hint, Enum):
        yield from (member for member in hint if member is not value)
    elif is_dataclass(hint):
        yield from changed(value)
    else:
        raise TypeError(f"no generator of values for {hint}: teach tests/field_values.py")


def changed(value: Any) -> Iterator[Any]:
    """The dataclass value with one field changed, for each field and each other value of it."""
    for name, hint in hints_of(type(value)).items():
        for other in others(hint, getattr(value, name)):
            yield replace(value, **{name: other})


def _others_of_union(members: tuple[Any, ...], value: Any) -> Iterator[Any]:
    inner = [member for member in members if member is not NoneType]
    if value is None:
        yield from (sample(member) for member in inner)
        return
    if NoneType in members:
        yield None
    own = next(member for member in inner if isinstance(value, get_origin(member) or member))
    yield from others(own, value)


def _others_of_tuple(items: tuple[Any, ...], value: tuple[Any, ...]) -> Iterator[Any]:
    open_ended = len(items) == 2 and items[1] is Ellipsis
    kinds = [items[0]] * len(value) if open_ended else list(items)
    for at, (kind, item) in enumerate(zip(kinds, value, strict=True)):
        for other in others(kind, item):
            yield (*value[:at], other, *value[at + 1 :])
    if open_ended:
        yield (*value, sample(items[0]))
        yield from (value[:-1],) if value else ()
        yield from (value[::-1],) if value[::-1] != value else ()


def sample(hint: Any) -> Any:
    """Any value of the type."""
    if get_origin(hint) is tuple:
        items = get_args(hint)
        return tuple(sample(item) for item in items if item is not Ellipsis)
    if hint in (bool, int, str):
        return {bool: True, int: 3, str: WORDS[0]}[hint]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return list(hint)[-1]
    if is_dataclass(hint) and isinstance(hint, type):
        return hint(**{name: sample(kind) for name, kind in hints_of(hint).items()})
    raise TypeError(f"no generator of values for {hint}: teach tests/field_values.py")
