"""Diagnostics: what a user reads, what a program reads, in which order they come; what input holds does nothing."""

from __future__ import annotations

import pytest

from ckgen.model.diagnostic import Diagnostic, Location, Severity, in_order
from ckgen.model.errors import CkgenError, InputError, UsageError

PLACE = Location("tables/x.csv", 812)
WHOLE = Diagnostic(
    "T012",
    "two rows differ",
    PLACE,
    detail=("one line", "another"),
    hint="run `ckgen dedupe`",
    related=(Location("tables/y.csv"), Location("tables/z.csv", 4)),
    severity=Severity.WARNING,
)


def test_a_line_of_0_means_the_whole_file() -> None:
    assert (str(Location("x.csv")), str(Location("x.csv", 1))) == ("x.csv", "x.csv:1")


def test_places_come_by_file_then_by_line_as_numbers() -> None:
    ordered = [Location("a.csv"), Location("a.csv", 9), Location("a.csv", 10), Location("b.csv", 1)]
    assert [min(ordered[at:]) for at in range(len(ordered))] == ordered and max(ordered) == ordered[-1]


def test_a_user_reads_code_places_message_details_and_what_to_do() -> None:
    assert WHOLE.render() == (
        "warning[T012] tables/x.csv:812 and tables/y.csv and tables/z.csv:4: two rows differ\n"
        "            one line\n"
        "            another\n"
        "            run `ckgen dedupe`"
    )
    assert Diagnostic("C001", "no such arch").render() == "error[C001]: no such arch"


def test_a_line_break_in_a_name_of_a_file_does_not_break_the_line() -> None:
    assert Diagnostic("T001", "bad", Location("a\nb.csv", 2)).render() == "error[T001] a\\nb.csv:2: bad"


def test_a_program_reads_the_same() -> None:
    assert WHOLE.to_json() == {
        "code": "T012",
        "severity": "warning",
        "file": "tables/x.csv",
        "line": 812,
        "message": "two rows differ",
        "detail": ["one line", "another"],
        "hint": "run `ckgen dedupe`",
        "related": ["tables/y.csv", "tables/z.csv:4"],
    }
    bare = Diagnostic("C001", "no such arch").to_json()
    assert (bare["file"], bare["line"], bare["severity"], bare["hint"]) == (None, None, "error", None)
    assert Diagnostic("C001", "x", Location("f.csv")).to_json()["line"] is None


def test_diagnostics_come_by_place_then_code_then_message() -> None:
    ordered = [
        Diagnostic("Z9", "no place"),
        Diagnostic("A1", "a", Location(" .csv")),
        Diagnostic("A1", "a", Location("a.csv", 9)),
        Diagnostic("A1", "a", Location("a.csv", 10)),
        Diagnostic("A1", "b", Location("a.csv", 10)),
        Diagnostic("B1", "a", Location("a.csv", 10)),
        Diagnostic("A1", "a", Location("b.csv", 1)),
    ]
    assert list(in_order(set(ordered))) == ordered
    error = InputError(reversed(ordered))
    assert error.diagnostics == tuple(ordered)
    assert str(error) == "\n".join(one.render() for one in ordered)


def test_each_error_has_its_exit_code() -> None:
    assert [kind.exit_code for kind in (UsageError, InputError, CkgenError)] == [2, 3, 4]
    with pytest.raises(CkgenError):
        raise UsageError("x")


HOSTILE = "a\x1b[2J\r\x07\x9b\u202eb\nerror[X000] fake"
SHOWN = r"a\x1b[2J\r\x07\x9b\u202eb\nerror[X000] fake"


@pytest.mark.parametrize("part", ["message", "hint", "file", "detail"])
def test_control_characters_and_line_ends_are_escaped_wherever_they_stand(part: str) -> None:
    words = {"message": "m", "hint": "h", "file": "f", "detail": "d"} | {part: HOSTILE}
    found = Diagnostic("T001", words["message"], Location(words["file"], 3), (words["detail"],), words["hint"])
    text = str(InputError([found]))
    assert SHOWN in text and len(text.splitlines()) == 3
    assert all(line.isprintable() for line in text.split("\n"))


def test_text_in_any_language_is_shown_as_it_is() -> None:
    assert Diagnostic("T001", "für 行列 – …").render() == "error[T001]: für 行列 – …"
