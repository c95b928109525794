"""YAML documents: places, and bounds that end the reading where the text leaves them."""

from __future__ import annotations

import pytest
import yaml

from ckgen.model import located_yaml
from ckgen.model.diagnostic import Diagnostic
from ckgen.model.document import DEEPEST, MOST_DIGITS, Bounds
from ckgen.model.located_yaml import DocumentReader, Located, read_documents

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
@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("a: [", "expected the node content, but found '<stream end>'", 1),
        ("a: 'x", "found unexpected end of stream", 1),
        ("a: 1\n b: 2", "mapping values are not allowed here", 2),
        ("a:\n  - b\n c: d", "expected <block end>, but found '<block mapping start>'", 3),
        ("\n%YAML 9.9\n--- a", "found incompatible YAML document (version 1.* is required)", 2),
        ("a: 1\n\n@", "found character '@' that cannot start any token", 3),
        ("\x00", "unacceptable character #x0000: special characters are not allowed", 0),
        ("\x1b[31m", "unacceptable character #x001b: special characters are not allowed", 0),
    ],
)
def test_broken_syntax_is_said_once_in_the_same_words(text: str, message: str, line: int) -> None:
    assert refused(text) == (f"not YAML: {message}", line)


@pytest.mark.usefixtures("both")
def test_what_was_read_before_a_place_that_is_broken_counts() -> None:
    documents, found = read("a: 1\na: 2\n---\n[")
    assert [plain(one) for one in documents] == [({"a": ("1", 1)}, 1)]
    assert [one.code for one in found] == ["K002", "K001"]
    documents, found = read("a: 1\n---\n*a")
    assert [plain(one) for one in documents] == [({"a": ("1", 1)}, 1)]
    assert [(one.code, str(one.location)) for one in found] == [("K001", "x.yaml:3")]


def test_libyaml_reads_where_pyyaml_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    used = []

    class Noted(yaml.SafeLoader):
        def __init__(self, text: str) -> None:
            used.append(text)
            super().__init__(text)

    monkeypatch.setattr(yaml, "CSafeLoader", Noted, raising=False)
    assert read("a: 1")[1] == [] and used == ["a: 1"]


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
    assert len(read("---\n" * 20)[0]) == 20
    assert refused("\n".join(["- 1"] * 20)) == ("more than 20 values", 20)
    for text in ("- 1\n" * 99, "---\n" * 99, "".join(f"k{i}: v\n" for i in range(99)), "- []\n" * 99):
        message, line = refused(text)
        assert message == "more than 20 values" and 10 <= line <= 22


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize("number", ["9" * 5_001, "-" + "1" * 65, "0x" + "f" * 99, "1_" * 40, "'" + "7" * 65 + "'"])
def test_digits_are_bounded(number: str) -> None:
    message, line = refused(f"a: {'8' * MOST_DIGITS}\nb: [{number}]")
    length = len(number.strip("'"))
    assert (message, line) == (f"a number of {length:,} digits: at most {MOST_DIGITS} are read", 2)


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize("text", ["-" + "1" * 64, "0x" + "f" * 64, "g" + "1" * 99, "1" * 40 + "." + "1" * 40])
def test_what_is_within_the_bound_or_no_integer_is_a_text(text: str) -> None:
    assert plain(read(text)[0][0]) == (text, 1)


def test_the_elements_of_what_is_no_list_are_itself() -> None:
    (listed, single), _ = read("[a, b]\n--- {c: d}")
    assert [plain(one) for one in listed.items()] == [("a", 1), ("b", 1)]
    assert single.items() == [single]


def test_a_reader_keeps_each_error_once_and_says_which_keys_are_wrong() -> None:
    (document,), _ = read("name: x\nkernel: y\nzzz: w\n")
    reader = DocumentReader()
    assert reader.has_keys(document, ("name", "kernel", "zzz"), ("name", "zzz")) and reader.errors == []
    for _ in range(2):
        assert reader.has_keys(document, ("name", "kernels"), ("name",))
        assert not reader.has_keys(document, ("name", "kernel", "zzz"), ("kernel", "backend"))
    reader.say("K005", document, "no such thing", "choose another")
    assert [one.render() for one in reader.errors] == [
        "error[K003] x.yaml:2: unknown key 'kernel'\n            did you mean 'kernels'?",
        "error[K003] x.yaml:3: unknown key 'zzz'\n            known: name, kernels",
        "error[K004] x.yaml:1: key 'backend' is missing",
        "error[K005] x.yaml:1: no such thing\n            choose another",
    ]
