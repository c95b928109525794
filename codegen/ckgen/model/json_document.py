"""JSON within the bounds of a document: strict, and what is wrong has its line."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any, NoReturn

from ckgen.model.document import DEEPEST, JSON, MOST_DIGITS, Bounds, DocumentError, too_deep, too_long, too_many

_TOKEN = re.compile(
    r'(?P<text>"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z))|(?P<open>[\[{])|(?P<close>[\]}])|(?P<comma>,)|(?P<number>-?\d[\d.eE+-]*)'
    r"|(?P<word>NaN|-?Infinity)",
    re.DOTALL,
)
"""An open text goes to the end: nothing is looked at twice."""
_NOTHING = re.compile(r"\s*[\]}]")


@dataclass(frozen=True, slots=True)
class JsonDocument:
    """Its value, and whether an object in it gives a key twice; the last is in `value` then."""

    value: Any
    repeats: bool


def parse_json(text: str, bounds: Bounds = JSON) -> JsonDocument:
    """The document in a text; DocumentError for one that is not JSON or not within the bounds."""
    repeats = False

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeats
        found = dict(pairs)
        repeats = repeats or len(found) != len(pairs)
        return found

    if text.count("[") + text.count("{") + text.count(",") >= bounds.values:
        _look(text, bounds)
    try:
        value = json.loads(
            text, object_pairs_hook=members, parse_int=_whole, parse_float=_real, parse_constant=_constant
        )
    except json.JSONDecodeError as error:
        raise DocumentError(f"not JSON: {error.msg}", error.lineno) from None
    except (_Unlikely, RecursionError) as error:
        _look(text, bounds)
        raise DocumentError(f"not JSON: {error}") from None
    if _is_deep(value):
        _look(text, bounds)
    return JsonDocument(value, repeats)


class _Unlikely(Exception):
    """A number or a word that is no value here; `_look` finds where it stands."""


def _digits(number: str) -> int:
    return sum(map(str.isdigit, number))


def _whole(text: str) -> int:
    if _digits(text) > MOST_DIGITS:
        raise _Unlikely
    return int(text)


def _real(text: str) -> float:
    found = float(text)
    if _digits(text) > MOST_DIGITS or math.isinf(found):
        raise _Unlikely
    return found


def _is_infinite(text: str) -> bool:
    try:
        return math.isinf(float(text))
    except ValueError:
        return False


def _constant(_: str) -> NoReturn:
    raise _Unlikely


def _is_deep(value: Any) -> bool:
    """Level by level, without recursion."""
    level = [value]
    for _ in range(DEEPEST):
        holding = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list))
        level = [child for children in holding for child in children]
    return any(isinstance(one, dict | list) for one in level)


def _look(text: str, bounds: Bounds) -> None:
    """DocumentError at the first place where the text leaves the bounds, whatever else is wrong with it."""
    depth, values, line, at = 0, 1, 1, 0
    for token in _TOKEN.finditer(text):
        line += text.count("\n", at, token.start())
        at = token.start()
        match token.lastgroup:
            case "open":  # the first of what it holds; commas are the others
                depth, values = depth + 1, values + (_NOTHING.match(text, token.end()) is None)
            case "close":
                depth -= 1
            case "comma":
                values += 1
            case "number" if _digits(token[0]) > MOST_DIGITS:
                raise too_long(_digits(token[0]), line)
            case "number" if _is_infinite(token[0]):
                raise DocumentError(f"not JSON: {token[0]} is out of range", line)
            case "word":
                raise DocumentError(f"not JSON: {token[0]} is not JSON", line)
        if depth > DEEPEST:
            raise too_deep(line)
        if values > bounds.values:
            raise too_many(bounds, line)
