"""What a document may be: the bounds that docs/errors.md states, and files at and beyond them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ckgen import paths
from ckgen.model.document import (
    DEEPEST,
    JSON,
    MOST_DIGITS,
    YAML,
    Bounds,
    DocumentError,
    read_bytes,
    read_text,
    too_deep,
    too_long,
    too_many,
)


def test_the_bounds_are_those_of_the_docs() -> None:
    text = " ".join((paths.root() / "docs/errors.md").read_text(encoding="utf-8").split())
    bounds = {
        kind: Bounds(int(size) * 1024 * 1024, int(values.replace(",", "")))
        for kind, size, values in re.findall(r"(YAML|JSON) \([^)]*\): (\d+) MiB, ([\d,]+) values\.", text)
    }
    assert bounds == {"YAML": YAML, "JSON": JSON}
    both = re.search(r"Both: (\d+) levels and numbers of (\d+) digits\.", text)
    assert both is not None and (int(both[1]), int(both[2])) == (DEEPEST, MOST_DIGITS)


def test_a_file_may_be_as_large_as_its_bound_and_no_larger(tmp_path: Path) -> None:
    file, bounds = tmp_path / "x", Bounds(3 << 20, 1)
    file.write_bytes(b"\xff" * (3 << 20))
    assert read_bytes(file, bounds) == b"\xff" * (3 << 20)
    file.write_bytes(b"a" * ((3 << 20) + 1))
    for read in (read_bytes, read_text):
        for endless in (file, Path("/dev/zero")):
            with pytest.raises(DocumentError) as caught:
                read(endless, bounds)
            assert (caught.value.message, caught.value.line) == ("cannot read: larger than 3 MiB", 0)


def test_a_file_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "none", "No such file or directory"), (tmp_path, "Is a directory")):
        with pytest.raises(DocumentError) as caught:
            read_text(path, JSON)
        assert (caught.value.message, caught.value.line) == (f"cannot read: {reason}", 0)
        assert isinstance(caught.value.__cause__, OSError)


@pytest.mark.parametrize(("data", "line"), [(b"\xff", 1), (b"\n\xff\n", 2), ("é\n\n".encode() + b"a\xe9\n", 3)])
def test_what_is_no_utf_8_has_its_line(tmp_path: Path, data: bytes, line: int) -> None:
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(DocumentError, match=r"^cannot read: 'utf-8' codec can't decode byte 0x") as caught:
        read_text(tmp_path / "x", JSON)
    assert caught.value.line == line


def test_an_error_becomes_a_diagnostic_of_its_file() -> None:
    error = DocumentError("it is broken", 7)
    assert str(error) == "it is broken"
    assert error.diagnostic("K001", Path("a/b.yaml"), "mend it").render() == (
        "error[K001] a/b.yaml:7: it is broken\n            mend it"
    )
    assert DocumentError("x").diagnostic("K001", "b").render() == "error[K001] b: x"


def test_what_is_beyond_a_bound_is_said_with_the_bound() -> None:
    said = {str(error): error.line for error in (too_deep(2), too_many(Bounds(1, 1_234_567), 3), too_long(5_001, 4))}
    assert said == {
        f"nested deeper than {DEEPEST} levels": 2,
        "more than 1,234,567 values": 3,
        f"a number of 5,001 digits: at most {MOST_DIGITS} are read": 4,
    }
