"""Files on disk: which are found, what is said of those that cannot be, and how they are replaced."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ckgen.model.errors import UsageError
from ckgen.tables.files import without_lines, write_files
from ckgen.tables.load import TableSource, find_tables
from ckgen.tables.read import quoted, read_bytes


def test_each_argument_is_a_layer_of_its_files_in_order(tmp_path: Path) -> None:
    for name in ("t/b.csv", "t/a/z.csv", "t/a.txt", "one.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "t/folder.csv").mkdir()
    tables, one = tmp_path / "t", tmp_path / "one.csv"
    assert find_tables([one, tables]) == (
        TableSource(one, "one.csv", one.as_posix(), 0, named=True),
        TableSource(tables / "a/z.csv", "a/z.csv", f"{tables.as_posix()}/a/z.csv", 1, named=False),
        TableSource(tables / "b.csv", "b.csv", f"{tables.as_posix()}/b.csv", 1, named=False),
    )


def test_what_is_no_table_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"^no \\*.csv beneath {tmp_path}$"):
        find_tables([tmp_path])
    with pytest.raises(UsageError, match=f"^no such file or directory: {tmp_path}/x$"):
        find_tables([tmp_path / "x"])
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match=f"^neither a file nor a directory: {tmp_path}/pipe$"):
        find_tables([tmp_path / "pipe"])
    with pytest.raises(UsageError, match=f"^cannot read {tmp_path}: Is a directory$"):
        read_bytes(tmp_path)


def test_lines_are_removed_by_number_and_all_other_bytes_stay() -> None:
    data = b"\xef\xbb\xbfa\r\nb\n\nc\rd"
    assert without_lines(data, {2, 4}) == b"\xef\xbb\xbfa\r\n\nd"
    assert without_lines(data, {1}) == b"b\n\nc\rd"
    assert without_lines(data, ()) == data


def test_a_replacement_that_fails_leaves_nothing_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(UsageError, match=r"^cannot write tables: No space left on device$"):
        write_files({tmp_path / "a.csv": b"1", tmp_path / "b.csv": b"2"})
    assert list(tmp_path.iterdir()) == []


def test_a_cell_is_quoted_trimmed_and_cut_where_it_is_very_long() -> None:
    assert quoted("  a'b ") == '"a\'b"'
    assert quoted("x" * 100) == f"'{'x' * 100}'"
    assert quoted("x" * 101) == f"'{'x' * 100}…'"
