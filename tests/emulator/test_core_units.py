"""Which sources of the core are compiled together."""

from __future__ import annotations

from collections import Counter

from ckgen_emulator.core_library import SOURCES, units


def test_each_source_is_in_one_unit() -> None:
    assert Counter(name for unit in units() for name in unit) == Counter(path.stem for path in SOURCES.glob("*.cpp"))
