"""Diagnostics: what input holds is shown, and does nothing."""

from __future__ import annotations

import pytest

from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.errors import InputError

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
