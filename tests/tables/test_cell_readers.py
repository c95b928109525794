"""What each kind of cell may hold, and what is said of one that holds something else."""

from __future__ import annotations

import math

import pytest

from ckgen.tables.cell_readers import CellError, Reader, arch, number, one_of, positive

COUNT = ("T005", "is not an integer greater than 0", "expected a decimal integer from 1 to 2^31 - 1")
NUMBER = ("T008", "is not a number", "expected a decimal number, inf or nan")
ARCH = ("T006", "is not an arch name", "expected a name such as gfx942 or x86_64_v4")
WORD = ("T006", "is not a known value", "expected one of: a, b")
WORDS = one_of({"a": 1, "b": None})


@pytest.mark.parametrize(
    ("reader", "good"),
    [
        (positive, {"1": 1, "007": 7, f"{1:039}": 1, "2147483647": 2**31 - 1}),
        (number, {"1": 1.0, "-.5": -0.5, "+2.5e-3": 0.0025, "1.": 1.0, "INF": math.inf, "-infinity": -math.inf}),
        (arch, {name: name for name in ("gfx942", "gfx90a", "gfx1201", "sm_90a", "sm_120", "x86_64_v4_bf16")}),
        (WORDS, {"a": 1, "b": None}),
    ],
)
def test_what_is_read(reader: Reader, good: dict[str, object]) -> None:
    assert {text: reader(text) for text in good} == good


@pytest.mark.parametrize(
    ("reader", "problem", "bad"),
    [
        (positive, COUNT, ["0", "-1", "1.0", "x", "2147483648", "٣", "1_0", "1" * 40, f"{1:040}", " 1"]),
        (number, NUMBER, ["x", "1e", "1,5", "0x1", "1_0", "--1", "nano"]),
        (arch, ARCH, ["gfx", "gfx9421a", "GFX942", "x86_64", "x86_64_", "sm_", "sm_90A", "mi300", "gfx942 "]),
        (WORDS, WORD, ["c", "A", "a "]),
    ],
)
def test_what_is_refused(reader: Reader, problem: tuple[str, str, str], bad: list[str]) -> None:
    assert {text: reader(text) for text in bad} == dict.fromkeys(bad, CellError(*problem))
