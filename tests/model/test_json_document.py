"""JSON documents: what is beyond the bounds ends at the place where it leaves them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ckgen.model.document import DEEPEST, JSON, MOST_DIGITS, Bounds, DocumentError, read_text
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


def test_values_are_counted_before_any_is_made() -> None:
    parse_json(json.dumps([0] * 18), SMALL)
    assert refused("[\n" + "0,\n" * 99 + "0]", SMALL) == ("more than 20 values", 20)
    assert refused("[" + "[],\n" * 99 + "0]", SMALL) == ("more than 20 values", 10)


@pytest.mark.parametrize("sign", ["", "-"])
def test_digits_are_bounded(sign: str) -> None:
    parse_json("1" * MOST_DIGITS)
    for digits in (100, 5_001):  # Python's own bound is between
        found = refused(f'{{"a": "{"9" * 5001}",\n "b": [{sign}{"9" * digits}]}}')
        assert found == (f"a number of {digits:,} digits: at most {MOST_DIGITS} are read", 2)
    assert refused("0." + "1" * 5_000)[0].startswith("a number of 5,001 digits")


@pytest.mark.parametrize("text", ["NaN", "[1,\n-Infinity]", "1e999"])
def test_numbers_that_are_none_are_refused(text: str) -> None:
    assert refused(text)[0].startswith("not JSON: ")


@pytest.mark.parametrize(
    ("text", "line"), [("", 1), ("{", 1), ('[1,\n"', 2), ('"' + '\\"' * 100_000, 1), ("[1]\n\n]", 3), ("\ufeff{}", 1)]
)
def test_what_is_no_json_has_its_line(text: str, line: int) -> None:
    message, found = refused(text)
    assert message.startswith("not JSON: ") and found == line


def test_a_file_is_read_no_further_than_it_may_be_large(tmp_path: Path) -> None:
    place = tmp_path / "x"
    place.write_bytes(b"a" * 1024)
    assert read_text(place, SMALL) == "a" * 1024
    with pytest.raises(DocumentError, match="larger than 0 MiB"):
        read_text(Path("/dev/zero"), SMALL)
    place.write_bytes(b"one\ntwo\n\xff")
    with pytest.raises(DocumentError, match="can't decode") as caught:
        read_text(place, SMALL)
    assert caught.value.line == 3
    for other, reason in ((tmp_path, "Is a directory"), (tmp_path / "none", "No such file")):
        with pytest.raises(DocumentError, match=f"cannot read: {reason}"):
            read_text(other, SMALL)


def test_a_number_beyond_float64_is_refused_where_it_stands() -> None:
    with pytest.raises(DocumentError, match="not JSON: -1e400 is out of range") as raised:
        parse_json('{"a": 1,\n "b": [2, -1e400]}')
    assert raised.value.line == 2
