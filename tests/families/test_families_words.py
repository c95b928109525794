"""Words and defaults that files, documents and C++ share with this room."""

from __future__ import annotations

from collections.abc import Callable

from surface import changeable, words_and_defaults


def test_the_words_and_defaults_are_those_of_the_files_that_hold_them(golden: Callable[[str, str], None]) -> None:
    golden("families/words.txt", words_and_defaults("ckgen.families"))


def test_values_of_the_room_cannot_be_changed_but_those_that_gather() -> None:
    readers = {
        "_SetFileReader",
        "_Sum",
        "_Words",
        "SetReader",
        "FmhaSetReader",
        "TileEngineFile",
        "GemmSetReader",
        "GroupedSetReader",
        "MoeSetReader",
    }
    assert set(changeable("ckgen.families")) == readers
