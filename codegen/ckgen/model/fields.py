"""Frozen dataclasses as JSON and back, by their fields alone: a new field takes part without a line of code here.

Booleans, integers and texts stand as they are, an enum as its value, a tuple as an array, a dataclass as an object of
all its fields, a member of a union of dataclasses as an object of one key, its `tag`. None is null.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache, reduce
from operator import or_
from types import NoneType, UnionType
from typing import Any, NoReturn, Union, get_args, get_origin, get_type_hints

from ckgen.model.suggestion import nearest_or_all

Path = tuple[str | int, ...]
Report = Callable[[str, Path, str, str | None], None]
"""Hears what is wrong: one of UNKNOWN, MISSING_KEY, WRONG; where; the message; a hint."""

UNKNOWN, MISSING_KEY, WRONG = "unknown", "missing", "wrong"


class Unreadable(Exception):
    """A value could not be read; `report` has heard why."""


@cache
def hints_of(kind: type) -> Mapping[str, Any]:
    """The types of a dataclass's fields by name, in order."""
    known = get_type_hints(kind)
    return {field.name: known[field.name] for field in fields(kind)}


def tag(kind: type) -> str:
    """A union member's key: `CkTileConfig` is `ck_tile`."""
    name = kind.__name__.removesuffix("Config")
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).removeprefix("_")


def encode(hint: Any, value: Any) -> Any:
    """`value`, of the type `hint`, as what `json` writes."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        items = get_args(_without_none(hint))
        kinds = [items[0]] * len(value) if len(items) == 2 and items[1] is Ellipsis else items
        return [encode(kind, item) for kind, item in zip(kinds, value, strict=True)]
    if not is_dataclass(value):
        raise TypeError(f"no JSON form of {hint}")
    concrete: Any = type(value)
    members = {name: encode(kind, getattr(value, name)) for name, kind in hints_of(concrete).items()}
    return {tag(concrete): members} if len(_members(_without_none(hint))) > 1 else members


def decode(hint: Any, value: Any, path: Path, report: Report) -> Any:
    """The inverse of `encode`; Unreadable after everything that is wrong was reported."""
    if _is_optional(hint):
        if value is None:
            return None
        hint = _without_none(hint)
    members = _members(hint)
    if len(members) > 1:
        return _union({tag(member): member for member in members}, value, path, report)
    if get_origin(hint) is tuple:
        return _tuple(get_args(hint), value, path, report)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _enum(hint, value, path, report)
    if is_dataclass(hint) and isinstance(hint, type):
        return _dataclass(hint, value, path, report)
    if hint not in _SCALARS:
        raise TypeError(f"no JSON form of {hint}")
    if type(value) is not hint:
        _wrong(report, path, f"expected {_SCALARS[hint]}, got {shown(value)}")
    return value


def json_schema(hint: Any) -> dict[str, Any]:
    """The JSON Schema of what `encode` makes of a type."""
    if _is_optional(hint):
        return {"oneOf": [{"type": "null"}, json_schema(_without_none(hint))]}
    members = _members(hint)
    if len(members) > 1:
        return {"oneOf": [_closed({tag(member): json_schema(member)}, [tag(member)]) for member in members]}
    if get_origin(hint) is tuple:
        items = get_args(hint)
        if len(items) == 2 and items[1] is Ellipsis:
            return {"type": "array", "items": json_schema(items[0])}
        kinds = [json_schema(item) for item in items]
        return {"type": "array", "prefixItems": kinds, "minItems": len(kinds), "maxItems": len(kinds)}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [member.value for member in hint]}
    if is_dataclass(hint) and isinstance(hint, type):
        return _closed({name: json_schema(kind) for name, kind in hints_of(hint).items()}, _required(hint))
    if hint not in _SCALARS:
        raise TypeError(f"no JSON form of {hint}")
    return {"type": {bool: "boolean", int: "integer", str: "string"}[hint]}


def check_keys(value: Any, known: list[str], required: Iterable[str], path: Path, report: Report) -> None:
    """Reports what is no object, unknown and missing keys; Unreadable where there are any."""
    if not isinstance(value, dict):
        _wrong(report, path, f"expected an object, got {shown(value)}")
    bad = False
    for key in value:
        if key not in known:
            report(UNKNOWN, (*path, key), f"unknown key '{key}'", nearest_or_all(key, known))
            bad = True
    for key in required:
        if key not in value:
            report(MISSING_KEY, path, f"key '{key}' is missing", None)
            bad = True
    if bad:
        raise Unreadable


def shown(value: Any) -> str:
    """A JSON value in a message."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "an array"
    return json.dumps(value)


_SCALARS: Mapping[Any, str] = {bool: "true or false", int: "an integer", str: "a text"}


def _wrong(report: Report, path: Path, message: str, hint: str | None = None) -> NoReturn:
    report(WRONG, path, message, hint)
    raise Unreadable


@cache
def _is_union(hint: Any) -> bool:
    return get_origin(hint) in (Union, UnionType)


@cache
def _is_optional(hint: Any) -> bool:
    return _is_union(hint) and NoneType in get_args(hint)


def _without_none(hint: Any) -> Any:
    if not _is_optional(hint):
        return hint
    rest = [member for member in get_args(hint) if member is not NoneType]
    return reduce(or_, rest)


def _members(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if _is_union(hint) else (hint,)


def _union(members: Mapping[str, Any], value: Any, path: Path, report: Report) -> Any:
    if not isinstance(value, dict) or len(value) != 1 or next(iter(value)) not in members:
        _wrong(report, path, f"expected an object of one key: {', '.join(members)}")
    name, inner = next(iter(value.items()))
    return decode(members[name], inner, (*path, name), report)


def _tuple(items: tuple[Any, ...], value: Any, path: Path, report: Report) -> Any:
    open_ended = len(items) == 2 and items[1] is Ellipsis
    if not isinstance(value, list) or (not open_ended and len(value) != len(items)):
        _wrong(report, path, f"expected an array{'' if open_ended else f' of {len(items)}'}, got {shown(value)}")
    kinds = [items[0]] * len(value) if open_ended else items
    return tuple(
        _each([((*path, at), kind, item) for at, (kind, item) in enumerate(zip(kinds, value, strict=True))], report)
    )


def _enum(kind: type[Enum], value: Any, path: Path, report: Report) -> Enum:
    for member in kind:
        if member.value == value and type(member.value) is type(value):
            return member
    known = [str(member.value) for member in kind]
    _wrong(report, path, f"unknown value {shown(value)}", nearest_or_all(str(value), known))


def _dataclass(kind: type, value: Any, path: Path, report: Report) -> Any:
    kinds = hints_of(kind)
    bad = False
    try:
        check_keys(value, list(kinds), _required(kind), path, report)
    except Unreadable:
        if not isinstance(value, dict):
            raise
        bad = True
    given = {name: hint for name, hint in kinds.items() if name in value}
    read = _each([((*path, name), hint, value[name]) for name, hint in given.items()], report)
    if bad:
        raise Unreadable
    return kind(**dict(zip(given, read, strict=True)))


def _each(parts: list[tuple[Path, Any, Any]], report: Report) -> list[Any]:
    """All parts read, so that every error is reported; Unreadable at the end where there was one."""
    found, bad = [], False
    for path, hint, value in parts:
        try:
            found.append(decode(hint, value, path, report))
        except Unreadable:
            bad = True
    if bad:
        raise Unreadable
    return found


@cache
def _required(kind: type) -> tuple[str, ...]:
    """Fields without a default: a document from before a field was there still means what it meant."""
    return tuple(f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING)


def _closed(properties: Mapping[str, Any], required: Iterable[str]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "required": [*required], "additionalProperties": False}
