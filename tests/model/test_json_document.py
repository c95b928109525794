"""JSON documents: what is beyond the bounds ends at the place where it leaves them."""

from __future__ import annotations

import json

import pytest

from ckgen.model.document import DEEPEST, JSON, MOST_DIGITS, Bounds, DocumentError
from ckgen.model.json_document import parse_json

SMALL = Bounds(1 << 10, 20)


def refused(text: str, bounds: Bounds = JSON) -> tuple[str, int]:
    """Message and line of what is wrong with a text."""
    with pytest.raises(DocumentError) as caught:
        parse_json(text, bounds)
    return caught.value.message, caught.value.line


@pytest.mark.parametrize("value", [{}, [], 1, -2.5e3, 'a\\"b[[[[', None, True, {"a": [1, {"b": "\n"}], "c": []}])
def test_values_are_those_of_the_text(value: object) -> None:
    document = parse_json(json.dumps(value))
    assert document.value == value and not document.repeats


def test_a_key_that_stands_twice_is_noticed_at_any_depth() -> None:
    assert parse_json('{"a": [{"b": 1, "b": 2}]}').repeats and not parse_json('{"a": {"a": 1}}').repeats


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"k":', "}"), ('[{"k":', "}]")])
def test_the_depth_is_bounded(opening: str, closing: str) -> None:
    levels = len(opening.replace('"k":', ""))
    deepest = DEEPEST // levels
    parse_json(opening * deepest + "0" + closing * deepest)
    for inner in ("0", "[]"):
        text = opening * (deepest + 1) + inner + closing * (deepest + 1)
        assert refused(text) == (f"nested deeper than {DEEPEST} levels", 1)
    for many in (5_000, 1_000_000):  # more than Python's own parser bears
        assert refused("\n\n" + opening * many) == (f"nested deeper than {DEEPEST} levels", 3)


def test_brackets_in_texts_are_no_levels_and_commas_in_texts_no_values() -> None:
    parse_json(json.dumps(["[{" * 999, ',"' * 999]), SMALL)


@pytest.mark.parametrize(
    ("opening", "closing", "held"), [("[", "]", 1), ('{"k": ', "}", 1), ("[0, ", "]", 2), ('[{"k": ', "}]", 2)]
)
def test_as_many_values_as_the_bound_are_read_and_no_more(opening: str, closing: str, held: int) -> None:
    def text(values: int) -> str:
        """A number in brackets that hold `values` with it."""
        return opening * (values // held) + "7" + closing * (values // held)

    assert not parse_json(text(20 - held), Bounds(1, 21 - held)).repeats
    assert refused(text(20), Bounds(1, 20)) == ("more than 20 values", 1)


def test_values_are_counted_before_any_is_made() -> None:
    parse_json(json.dumps([0] * 19), SMALL)
    assert refused(json.dumps([0] * 20), SMALL) == ("more than 20 values", 1)
    assert refused("[\n" + "0,\n" * 99 + "0]", SMALL) == ("more than 20 values", 20)
    assert refused("[" + "[],\n" * 99 + "0]", SMALL) == ("more than 20 values", 19)


@pytest.mark.parametrize("empty", ["[]", "{}", "[ ]", "{\n\t}"])
def test_a_list_or_an_object_without_anything_is_one_value(empty: str) -> None:
    parse_json(f"[{', '.join([empty] * 19)}]", SMALL)
    parse_json(empty, Bounds(1, 1))
    assert refused(f"[{', '.join([empty] * 20)}]", SMALL)[0] == "more than 20 values"


@pytest.mark.parametrize("sign", ["", "-"])
def test_digits_are_bounded(sign: str) -> None:
    for number in ("1" * MOST_DIGITS, f"1.{'2' * (MOST_DIGITS - 1)}", f"1.{'2' * (MOST_DIGITS - 3)}e+12"):
        assert parse_json(sign + number).value == json.loads(sign + number)
        assert refused(f"[\n{sign}{number}3]") == (f"a number of 65 digits: at most {MOST_DIGITS} are read", 2)
    for digits in (100, 5_001):  # Python's own bound is between
        found = refused(f'{{"a": "{"9" * 5001}",\n "b": [{sign}{"9" * digits}]}}')
        assert found == (f"a number of {digits:,} digits: at most {MOST_DIGITS} are read", 2)
    assert refused("0." + "1" * 5_000)[0].startswith("a number of 5,001 digits")


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("NaN", "NaN is not JSON", 1),
        ("[1,\n-Infinity]", "-Infinity is not JSON", 2),
        ('{"NaN[": "\\"Infinity",\n"b": Infinity}', "Infinity is not JSON", 2),
        ("[\n\n1e999]", "1e999 is out of range", 3),
        ("[\nNaN, 1-2]", "NaN is not JSON", 2),
        ("[1-2,\nNaN]", "Expecting ',' delimiter", 1),
        (f"[{'[], ' * 70}\n-1e400]", "-1e400 is out of range", 2),
    ],
)
def test_numbers_that_are_none_are_refused(text: str, message: str, line: int) -> None:
    assert refused(text) == (f"not JSON: {message}", line)


def test_a_stack_that_is_nearly_full_is_no_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise RecursionError("maximum recursion depth exceeded")

    monkeypatch.setattr(json, "loads", full)
    assert refused("[1]") == ("not JSON: maximum recursion depth exceeded", 0)
    assert refused("[" * 65) == (f"nested deeper than {DEEPEST} levels", 1)


@pytest.mark.parametrize(
    ("text", "line"), [("", 1), ("{", 1), ('[1,\n"', 2), ('"' + '\\"' * 100_000, 1), ("[1]\n\n]", 3), ("\ufeff{}", 1)]
)
def test_what_is_no_json_has_its_line(text: str, line: int) -> None:
    message, found = refused(text)
    assert message.startswith("not JSON: ") and found == line
