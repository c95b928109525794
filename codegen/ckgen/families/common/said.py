"""What a call says beside tensors is of the types that it is declared as: no type checker may have seen the caller."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from ckgen.model.errors import UsageError

_KINDS: dict[Any, tuple[type, ...]] = {bool: (Integral,), int: (Integral,), float: (Real,)}
_WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "True or False", NoneType: "None"}


@dataclass(frozen=True, slots=True)
class Said:
    """Base of such dataclasses: UsageError names the first field of another type."""

    def __post_init__(self) -> None:
        kind: Any = type(self)
        hints = _hints(kind)
        for one in fields(self):
            value = getattr(self, one.name)
            if not _is(value, hints[one.name]):
                raise UsageError(f"{one.name} is {value!r}, and {_words(hints[one.name])} is asked for")


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _is(value: Any, hint: Any) -> bool:
    if hint is Any:
        return True
    if isinstance(hint, UnionType):
        return any(_is(value, one) for one in get_args(hint))
    if get_origin(hint) is tuple:
        first, *rest = get_args(hint)
        if not isinstance(value, (tuple, list)) or (rest != [...] and len(value) != 1 + len(rest)):
            return False
        return all(_is(one, first) for one in value)
    return isinstance(value, _KINDS.get(hint, (hint,)))


def _words(hint: Any) -> str:
    if isinstance(hint, UnionType):
        return " or ".join(map(_words, get_args(hint)))
    if get_origin(hint) is tuple:
        first, *rest = get_args(hint)
        return f"a list of {'any number' if rest == [...] else 1 + len(rest)}, each {_words(first)},"
    return _WORDS[hint]
