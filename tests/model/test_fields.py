"""Dataclasses as JSON by their fields: round trips, and every error with its place."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckgen.model.fields import Unreadable, decode, encode, json_schema, tag


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Size:
    m: int
    n: int


@dataclass(frozen=True)
class RoundConfig:
    radius: int
    hue: Colour | None = None


@dataclass(frozen=True)
class CkSquareConfig:
    size: Size
    name: str
    pair: tuple[int, bool]
    many: tuple[Size, ...] = ()
    hues: tuple[Colour, ...] = ()


Shape = RoundConfig | CkSquareConfig

sizes = st.builds(Size, st.integers(), st.integers())
shapes = st.builds(RoundConfig, st.integers(), st.none() | st.sampled_from(Colour)) | st.builds(
    CkSquareConfig,
    sizes,
    st.text(),
    st.tuples(st.integers(), st.booleans()),
    st.lists(sizes, max_size=3).map(tuple),
    st.lists(st.sampled_from(Colour), max_size=3).map(tuple),
)


def read(hint: Any, value: Any) -> Any:
    problems: list[tuple[Any, ...]] = []
    try:
        return decode(hint, value, (), lambda *problem: problems.append(problem))
    except Unreadable:
        assert problems
        return problems


@given(shapes)
def test_what_was_written_reads_back(shape: Shape) -> None:
    document = json.loads(json.dumps(encode(Shape, shape)))
    assert read(Shape, document) == shape
    jsonschema.validate(document, json_schema(Shape))


@dataclass(frozen=True)
class Tuples:
    one: tuple[Size]
    pair: tuple[Size, Shape]
    three: tuple[int, Colour, Shape | None]
    some: tuple[Shape, ...] | None = None


tuples = st.builds(
    Tuples,
    st.tuples(sizes),
    st.tuples(sizes, shapes),
    st.tuples(st.integers(), st.sampled_from(Colour), st.none() | shapes),
    st.none() | st.lists(shapes, max_size=3).map(tuple),
)


OF_TUPLES = jsonschema.Draft202012Validator(json_schema(Tuples))


@settings(max_examples=30)
@given(tuples)
def test_each_item_of_a_tuple_is_of_its_own_type(value: Tuples) -> None:
    document = json.loads(json.dumps(encode(Tuples, value)))
    assert read(Tuples, document) == value
    assert list(document["pair"][1]) == [tag(type(value.pair[1]))]
    assert OF_TUPLES.is_valid(document)
    document["three"][1] = 1
    assert not OF_TUPLES.is_valid(document)


def test_a_union_member_stands_under_its_tag() -> None:
    assert (tag(RoundConfig), tag(CkSquareConfig)) == ("round", "ck_square")
    assert encode(Shape, RoundConfig(3)) == {"round": {"radius": 3, "hue": None}}
    assert encode(RoundConfig, RoundConfig(3)) == {"radius": 3, "hue": None}


def test_every_error_comes_with_its_place() -> None:
    document = {"ck_square": {"size": {"m": 1.5, "x": 2}, "name": None, "pair": [True, 1], "hues": ["rad"], "pears": 0}}
    found = read(Shape, document)
    at = ("ck_square",)
    assert {(kind, path) for kind, path, _, _ in found} == {
        ("unknown", (*at, "pears")),
        ("unknown", (*at, "size", "x")),
        ("missing", (*at, "size")),
        ("wrong", (*at, "size", "m")),
        ("wrong", (*at, "name")),
        ("wrong", (*at, "pair", 0)),
        ("wrong", (*at, "pair", 1)),
        ("wrong", (*at, "hues", 0)),
    }
    said = {path: (message, hint) for _, path, message, hint in found}
    assert said[(*at, "hues", 0)] == ('unknown value "rad"', "did you mean 'red'?")
    assert said[(*at, "pair", 0)] == ("expected an integer, got true", None)
    assert said[(*at, "pears")] == ("unknown key 'pears'", "did you mean 'pair'?")
    assert not jsonschema.Draft202012Validator(json_schema(Shape)).is_valid(document)


@pytest.mark.parametrize("document", [None, [], {}, {"ck_square": {}, "round": {}}, {"square": {}}, {"round": []}])
def test_what_is_of_no_member_is_refused(document: Any) -> None:
    assert [kind for kind, *_ in read(Shape, document)] in (["wrong"], ["missing"] * 3)


@dataclass(frozen=True)
class Unknown:
    number: float


def test_a_type_without_a_form_is_an_error_of_the_program() -> None:
    for call in (
        lambda: encode(Unknown, Unknown(1.0)),
        lambda: read(Unknown, {"number": 1.0}),
        lambda: json_schema(Unknown),
    ):
        with pytest.raises(TypeError, match=r"^no JSON form of "):
            call()


@dataclass(frozen=True)
class Everything:
    on: bool
    pair: tuple[int, str]
    many: tuple[bool, ...]
    hue: Colour = Colour.RED


def test_the_schema_says_what_is_written() -> None:
    assert json_schema(Everything) == {
        "type": "object",
        "properties": {
            "on": {"type": "boolean"},
            "pair": {
                "type": "array",
                "prefixItems": [{"type": "integer"}, {"type": "string"}],
                "minItems": 2,
                "maxItems": 2,
            },
            "many": {"type": "array", "items": {"type": "boolean"}},
            "hue": {"enum": ["red", "blue"]},
        },
        "required": ["on", "pair", "many"],
        "additionalProperties": False,
    }
    union = json_schema(Size | RoundConfig)["oneOf"]
    assert [(list(member["properties"]), member["required"]) for member in union] == [
        (["size"], ["size"]),
        (["round"], ["round"]),
    ]
    assert not any(member["additionalProperties"] for member in union)
    assert json_schema(int | None) == {"oneOf": [{"type": "null"}, {"type": "integer"}]}


@pytest.mark.parametrize(
    ("hint", "value", "kind", "path", "message", "help_text"),
    [
        (bool, 1, "wrong", (), "expected true or false, got 1", None),
        (int, True, "wrong", (), "expected an integer, got true", None),
        (str, [1], "wrong", (), "expected a text, got an array", None),
        (str, {}, "wrong", (), "expected a text, got an object", None),
        (tuple[int, str], [1], "wrong", (), "expected an array of 2, got an array", None),
        (tuple[int, ...], 7, "wrong", (), "expected an array, got 7", None),
        (tuple[int, ...], [1, 2, "x"], "wrong", (2,), 'expected an integer, got "x"', None),
        (Size, 3, "wrong", (), "expected an object, got 3", None),
        (Size, {"m": 1}, "missing", (), "key 'n' is missing", None),
        (Size, {"m": 1, "n": 2, "zz": 3}, "unknown", ("zz",), "unknown key 'zz'", "known: m, n"),
        (Size, {"m": 1, "n": 2, "N": 3}, "unknown", ("N",), "unknown key 'N'", "did you mean 'n'?"),
        (Colour, "RED", "wrong", (), 'unknown value "RED"', "did you mean 'red'?"),
        (Colour, 1, "wrong", (), "unknown value 1", "known: red, blue"),
        (Colour, "puce", "wrong", (), 'unknown value "puce"', "known: red, blue"),
        (Shape, {"square": {}}, "wrong", (), "expected an object of one key: round, ck_square", None),
        (Shape, {"round": {"radius": "x"}}, "wrong", ("round", "radius"), 'expected an integer, got "x"', None),
    ],
)
def test_what_is_wrong_is_said(
    hint: Any, value: Any, kind: str, path: tuple[Any, ...], message: str, help_text: str | None
) -> None:
    assert read(hint, value) == [(kind, path, message, help_text)]


def test_values_of_an_enum_are_of_its_type() -> None:
    class Number(Enum):
        ONE = 1
        TWO = 2

    assert read(Number, 1) is Number.ONE
    assert read(Number, True) == [("wrong", (), "unknown value true", "known: 1, 2")]


def test_optional_values_and_defaults_may_be_absent() -> None:
    assert read(int | None, None) is None
    assert read(Size | RoundConfig | None, {"size": {"m": 1, "n": 2}}) == Size(1, 2)
    assert read(RoundConfig, {"radius": 1}) == RoundConfig(1)
    assert read(tuple[int, str], [1, "a"]) == (1, "a")
    assert read(tuple[Size, ...], []) == ()


def test_a_tag_is_the_words_of_a_name_without_config() -> None:
    assert [tag(kind) for kind in (Size, RoundConfig, Everything)] == ["size", "round", "everything"]
    assert tag(type("HipMxFp8Config", (), {})) == "hip_mx_fp8"
