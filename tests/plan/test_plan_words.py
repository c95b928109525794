"""Words and defaults that files, documents and C++ share with this room."""

from __future__ import annotations

from collections.abc import Callable

from surface import changeable, words_and_defaults


def test_the_words_and_defaults_are_those_of_the_files_that_hold_them(golden: Callable[[str, str], None]) -> None:
    golden("plan/words.txt", words_and_defaults("ckgen.plan"))


def test_values_of_the_room_cannot_be_changed_but_those_that_gather() -> None:
    assert sorted(changeable("ckgen.plan")) == [
        "Entry", "Filters", "Glob", "LegalCandidate", "Offers", "Profiled", "RowContext", "SharedRows", "_Gathered",
        "_Kept", "_Kernels", "_ProfileReader", "_Rows",
    ]  # fmt: skip
