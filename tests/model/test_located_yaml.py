"""YAML documents: places, and bounds that end the reading where the text leaves them."""

from __future__ import annotations

import pytest
import yaml

from ckgen.model import located_yaml
from ckgen.model.diagnostic import Diagnostic
from ckgen.model.document import DEEPEST, MOST_DIGITS, Bounds
from ckgen.model.located_yaml import Located, read_documents

TEXT = """\
# nothing
a: [1, two, {b: 'three'}]
"c":
  - x
  - - y
d: |
  four
? [k]
: z
---
word
"""


@pytest.fixture(params=["libyaml", "python"])
def both(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With libyaml, and as where PyYAML was built without it."""
    if request.param == "python":
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)


def read(text: str) -> tuple[list[Located], list[Diagnostic]]:
    found: list[Diagnostic] = []
    return read_documents(text, "x.yaml", found.append), found


def refused(text: str) -> tuple[str, int]:
    """Message and line of the one thing that is wrong."""
    _, (found,) = read(text)
    assert found.code == "K001" and found.location is not None
    return found.message, found.location.line


def plain(node: Located) -> object:
    """A value and its line, without classes."""
    value = node.value
    if isinstance(value, list):
        value = [plain(one) for one in value]  # type: ignore[misc]
    elif isinstance(value, dict):
        value = {key: plain(one) for key, one in value.items()}  # type: ignore[misc]
    return (value, node.location.line)


@pytest.mark.usefixtures("both")
def test_values_are_texts_with_their_places() -> None:
    documents, found = read(TEXT)
    assert found == []
    first, second = map(plain, documents)
    assert second == ("word", 11)
    assert first == (
        {
            "a": ([("1", 2), ("two", 2), ({"b": ("three", 2)}, 2)], 2),
            "c": ([("x", 4), ([("y", 5)], 5)], 3),
            "d": ("four\n", 6),
            "": ("z", 8),
        },
        2,
    )


@pytest.mark.usefixtures("both")
def test_a_key_that_stands_twice_names_both_lines() -> None:
    _, (found,) = read("a: 1\nb:\n  c: 1\n  c: 2\n")
    assert found.render() == "error[K002] x.yaml:4 and x.yaml:3: key 'c' stands twice"


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize("text", ["a: [", "a: 'x", "a: 1\n b: 2", "\x00", "%YAML 9.9\n--- a", "@", "a: *b", "\x1b[31m"])
def test_broken_syntax_is_said_once(text: str) -> None:
    assert len(read(text)[1]) == 1


@pytest.mark.usefixtures("both")
def test_no_alias_is_followed() -> None:
    pairs = zip("abcdefgh", "bcdefghi", strict=True)
    bomb = "a: &a [x, x]\n" + "".join(f"{new}: &{new} [*{old}, *{old}]\n" for old, new in pairs)
    assert refused(bomb) == ("aliases are not read: write out what *a stands for", 2)
    assert refused("&a [*a]") == ("aliases are not read: write out what *a stands for", 1)
    assert read("a: &unused 1\n")[1] == []


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize(("opening", "levels"), [("[", 1), ("{k: ", 1), ("- ", 1), ("[{k: ", 2), ("? ", 1)])
def test_the_depth_is_bounded(opening: str, levels: int) -> None:
    assert refused(opening * 10_000) == (f"nested deeper than {DEEPEST} levels", 1)
    fits = opening * (DEEPEST // levels)
    assert not any("deeper" in found.message for found in read(fits)[1])


@pytest.mark.usefixtures("both")
def test_values_are_bounded_whatever_holds_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(located_yaml, "YAML", Bounds(1 << 20, 20))
    assert read("\n".join(["- 1"] * 19))[1] == []
    for text in ("- 1\n" * 99, "---\n" * 99, "".join(f"k{i}: v\n" for i in range(99)), "- []\n" * 99):
        message, line = refused(text)
        assert message == "more than 20 values" and 10 <= line <= 22


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize("number", ["9" * 5_001, "-" + "1" * 65, "0x" + "f" * 99, "1_" * 40, "'" + "7" * 65 + "'"])
def test_digits_are_bounded(number: str) -> None:
    message, line = refused(f"a: {'8' * MOST_DIGITS}\nb: [{number}]")
    assert message.startswith("a number of ") and message.endswith(f"at most {MOST_DIGITS} are read") and line == 2
