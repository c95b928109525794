"""Lines of keys and items, held against a writer that counts its own lines."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckgen.model.json_positions import Path, Positions, scan

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False)
    | st.text(alphabet='a"\\[{]},:\n é1', max_size=5)
)  # fmt: skip
KEYS = st.text(alphabet='ab"\\}\n,', max_size=2)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.lists(st.tuples(KEYS, inner), max_size=4), max_leaves=12
)
"""Objects are lists of pairs, so that a key may stand twice."""


@dataclass
class Written:
    """A text as it grows, and what its writer knows of it."""

    random: Random
    text: str = ""
    lines: dict[Path, int] = field(default_factory=dict)
    duplicates: list[tuple[Path, int, int]] = field(default_factory=list)

    @property
    def line(self) -> int:
        return self.text.count("\n") + 1

    def blank(self) -> None:
        self.text += "".join(self.random.choices(" \t\r\n", k=self.random.choice((0, 0, 1, 3))))

    def value(self, value: Any, path: Path) -> None:
        self.blank()
        self.lines.setdefault(path, self.line)
        if not isinstance(value, list):
            self.text += json.dumps(value, ensure_ascii=self.random.random() < 0.5)
        elif value and all(isinstance(one, tuple) for one in value):
            self.members(value, path)
        else:
            self.text += "["
            for at, one in enumerate(value):
                self.text += "," * bool(at)
                self.value(one, (*path, at))
                self.blank()
            self.blank()
            self.text += "]"

    def members(self, pairs: list[tuple[str, Any]], path: Path) -> None:
        self.text += "{"
        first: dict[str, int] = {}
        for at, (key, one) in enumerate(pairs):
            self.text += "," * bool(at)
            self.blank()
            if key in first:
                self.duplicates.append(((*path, key), self.line, first[key]))
            first.setdefault(key, self.line)
            self.lines.setdefault((*path, key), self.line)
            self.text += json.dumps(key)
            self.blank()
            self.text += ":"
            self.value(one, (*path, key))
            self.blank()
        self.text += "}"


@given(VALUES, st.randoms(use_true_random=False))
def test_every_key_and_item_has_the_line_where_it_was_written(value: Any, random: Random) -> None:
    written = Written(random)
    written.value(value, ())
    json.loads(written.text)
    found = scan(written.text)
    assert found.lines == written.lines
    assert sorted(found.duplicates) == sorted(written.duplicates)


def test_empty_values_and_blanks_of_all_kinds_end_where_they_end() -> None:
    found = scan('\n\t[ {} ,\r\n [ ] , [{\n}], {"a" : {}\n,\n"b"\n:\n[\n-1.5e3\n]}]\n\n')
    assert found.lines == {
        (): 2, (0,): 2, (1,): 3, (2,): 3, (2, 0): 3, (3,): 4, (3, "a"): 4, (3, "b"): 6, (3, "b", 0): 9,
    }  # fmt: skip
    assert found.duplicates == []


def test_a_key_is_given_twice_by_one_object_not_by_two() -> None:
    found = scan('{"a": {"b": 1},\n"a": {"b": 2},\n"a": 3,\n"c": [{"b": 1}, {"b": 2}]}')
    assert found.duplicates == [(("a",), 2, 1), (("a",), 3, 1)]
    assert found.lines["a", "b"] == 1


@pytest.mark.parametrize(
    ("path", "line"),
    [((), 2), (("a",), 3), (("a", 1), 5), (("a", 2), 3), (("a", 1, "x", 7), 5), (("b",), 2), (("b", "c"), 2)],
)
def test_what_is_missing_stands_where_its_nearest_ancestor_stands(path: Path, line: int) -> None:
    assert scan('\n{\n"a":\n[1,\n2]}').line_of(path) == line


def test_without_any_position_it_is_the_first_line() -> None:
    assert Positions().line_of(("a", 0)) == Positions().line_of(()) == 1
