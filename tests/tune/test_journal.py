"""Journals: every line is on disk before the next begins, a torn one is dropped and said, nothing else is."""

from __future__ import annotations

import json
import lzma
import os
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckgen.measure.model import Candidate, Measured, MeasureStatus
from ckgen.model.errors import InputError, UsageError
from ckgen.tune.journal import Contents, Header, Journal, read_journals
from examples import examples
from tune.fake_measurer import ENVIRONMENT

HEADER = Header("c0de", ENVIRONMENT)
MEASURED = st.builds(
    Measured,
    st.builds(Candidate, st.text(max_size=9), st.integers(1, 99)),
    st.sampled_from(MeasureStatus),
    st.text(max_size=9),
    st.floats(0, 1e9),
    st.floats(0, 1),
    st.integers(0, 999),
    st.floats(0, 1),
    st.floats(0, 1),
    st.text(max_size=9),
)
ENTRIES = st.lists(st.tuples(st.text(max_size=9), st.sampled_from(["first", "confirm"]), MEASURED), max_size=6)


def write(path: Path, *entries: tuple[str, str, Measured], header: Header = HEADER) -> None:
    with Journal(path, header) as journal:
        for together, (problem, rung, measured) in enumerate(entries):
            journal.measured(problem, rung, together, measured)
        journal.asked("p", Candidate("usual", 2))
        journal.asked("q", None)


def measured(name: str, us: float = 1.0) -> Measured:
    return Measured(Candidate(name), MeasureStatus.OK, "", us, 0.01, 9)


@settings(max_examples=examples(50))
@given(ENTRIES)
def test_what_was_written_is_read(entries: list[tuple[str, str, Measured]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "j.jsonl"
        write(path, *entries)
        found = read_journals([path])
        expected = list(dict.fromkeys((*one, at) for at, one in enumerate(entries)))
        assert [(one.problem, one.rung, one.measured, one.together) for one in found.records] == expected
        assert [(one.problem, one.selected) for one in found.asked] == [("p", Candidate("usual", 2)), ("q", None)]
        assert found.headers == (HEADER,)


def test_cut_at_any_byte_it_holds_every_whole_line_and_goes_on(tmp_path: Path) -> None:
    path, cut = tmp_path / "j.jsonl", tmp_path / "cut.jsonl"
    write(path, ("p", "first", measured("a")), ("p", "first", measured("b")))
    data = path.read_bytes()
    whole = data.splitlines(keepends=True)
    for size in range(len(data) + 1):
        cut.write_bytes(data[:size])
        lines = data[:size].count(b"\n")
        found = read_journals([cut])
        assert len(found.headers) + len(found.records) + len(found.asked) == lines
        assert bool(found.torn) is (data[:size] != b"".join(whole[:lines]))
        with Journal(cut, HEADER) as journal:
            journal.measured("p", "first", 9, measured("c"))
        after = read_journals([cut])
        assert not after.torn
        assert after.records[: len(found.records)] == found.records
        assert [one.measured.candidate.instance for one in after.records[len(found.records) :]] == ["c"]


def test_a_run_that_keeps_nothing_leaves_the_journal_as_it_is(tmp_path: Path) -> None:
    path, other = tmp_path / "j.jsonl", replace(HEADER, conditions="graph=True")
    write(path, ("p", "first", measured("a")))
    before = path.read_bytes()
    with Journal(path, other) as journal:
        journal.go_on(HEADER)
    assert path.read_bytes() == before
    with Journal(path, HEADER) as journal:
        journal.go_on(other)
        journal.asked("r", None)
    assert read_journals([path]).headers == (HEADER, other)


def test_every_line_is_on_disk_before_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "j.jsonl"
    sizes: list[int] = []
    monkeypatch.setattr("os.fsync", lambda file: sizes.append(os.fstat(file).st_size))
    write(path, ("p", "first", measured("a")))
    ends = [len(line) for line in path.read_bytes().splitlines(keepends=True)]
    assert sizes == [sum(ends[: at + 1]) for at in range(len(ends))]


def test_a_journal_packed_with_xz_says_the_same(tmp_path: Path) -> None:
    path, packed = tmp_path / "j.jsonl", tmp_path / "j.jsonl.xz"
    write(path)
    packed.write_bytes(lzma.compress(path.read_bytes()))
    assert read_journals([packed]) == read_journals([path])
    packed.write_bytes(packed.read_bytes()[:-8])
    with pytest.raises(UsageError, match=r"cannot unpack .*j\.jsonl\.xz"):
        read_journals([packed])


def test_a_torn_line_is_said(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    write(path)
    path.write_bytes(path.read_bytes() + b'{"measured": {"pro')
    assert read_journals([path]).torn == (f"{path}: the last line is torn, 18 bytes were dropped",)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"measured": {}}', "KeyError 'problem'"),
        ("nonsense", "JSONDecodeError"),
        ("[]", "not an object"),
        ('{"other": {}}', "unknown kind 'other'"),
        ('{"header": {"schema": "ckgen.journal/0"}}', "its schema is not ckgen.journal/1"),
        ('{"a": 1, "b": 2}', "ValueError"),
        ('{"measured": 1}', "TypeError"),
    ],
)
def test_a_line_that_is_none_is_an_error_with_its_place(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "j.jsonl"
    write(path)
    count = len(path.read_bytes().splitlines())
    path.write_bytes(path.read_bytes() + line.encode() + b"\n")
    with pytest.raises(InputError) as error:
        read_journals([path])
    (one,) = error.value.diagnostics
    assert (one.code, one.location.line if one.location else 0) == ("J001", count + 1)
    assert said in one.message


def test_a_record_needs_a_header_above_it(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    path.write_text('{"asked": {"problem": "p", "selected": null}}\n')
    with pytest.raises(InputError, match="no header stands above it"):
        read_journals([path])


def test_journals_are_read_together_and_equal_records_count_once(tmp_path: Path) -> None:
    one, two = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    write(one, ("p", "first", measured("a")))
    write(two, ("q", "first", measured("a")), header=Header("other", ENVIRONMENT))
    both = read_journals([one, two])
    assert [(record.code, record.problem) for record in both.records] == [("c0de", "p"), ("other", "q")]
    assert read_journals([one, two, one]) == both


def test_every_line_is_one_object_and_carries_all_that_was_measured(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    write(path, ("p", "first", measured("a", 3.5)))
    header, record, *_ = map(json.loads, path.read_text().splitlines())
    assert header["header"]["environment"]["device"] == "a fake"
    assert record["measured"] == {
        "problem": "p", "rung": "first", "turn": 1, "together": 0, "instance": "a", "k_batch": 1, "status": "ok",
        "reason": "",
        **{one.name: getattr(measured("a", 3.5), one.name) for one in list(fields(Measured))[3:]},
    }  # fmt: skip


def test_what_an_older_journal_does_not_say_is_as_usual(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    write(path)
    line = {"problem": "p", "rung": "first", "together": 1, "instance": "a", "k_batch": 2, "status": "crashed"}
    path.write_text(path.read_text() + json.dumps({"measured": line}) + "\n")
    (found,) = read_journals([path]).records
    assert found.measured == Measured(Candidate("a", 2), MeasureStatus.CRASHED)


def test_a_journal_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write"):
        Journal(tmp_path / "no" / "j.jsonl", HEADER)
    with pytest.raises(UsageError, match="cannot read"):
        read_journals([tmp_path / "none.jsonl"])


def test_contents_of_nothing_are_empty() -> None:
    assert read_journals([]) == Contents()
