"""Groups as options say them: `ckgen.families.grouped_gemm.asked`."""

from __future__ import annotations

import pytest

from ckgen.families.common.asked import Asked
from ckgen.families.grouped_gemm.asked import asked_groups
from ckgen.model.errors import UsageError
from ckgen.model.groups import Groups, GroupSize

LARGE = "9" * 19


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("1x2x3", [(1, 2, 3)]),
        (" 1x2x3 ,\t4x5x6 ", [(1, 2, 3), (4, 5, 6)]),
        ("2*1x2x3,4x5x6,1*7x8x9", [(1, 2, 3), (1, 2, 3), (4, 5, 6), (7, 8, 9)]),
        ("0*1x2x3", []),
        ("0x2x3,-1x-2x-3", [(0, 2, 3), (-1, -2, -3)]),
        (f"{LARGE}x-{LARGE}x{LARGE}", [(int(LARGE), -int(LARGE), int(LARGE))]),
        ("000002*1x2x3", [(1, 2, 3), (1, 2, 3)]),
    ],
)
def test_groups_are_sizes_with_alike_ones_counted(text: str, sizes: list[tuple[int, int, int]]) -> None:
    found = asked_groups("grouped_gemm", Asked("grouped_gemm", groups=text, module="m"))
    assert found == Groups.of(GroupSize(*size) for size in sizes)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("16:256x4096x7168", (16, 256, 4096, 7168)),
        (" 0:0x1x2 ", (0, 0, 1, 2)),
        (f"{'9' * 9}:{LARGE}x{LARGE}x{LARGE}", (999999999, *[int(LARGE)] * 3)),
    ],
)
def test_groups_on_the_device_are_a_count_and_a_bound(text: str, expected: tuple[int, int, int, int]) -> None:
    found = asked_groups("grouped_gemm", Asked("grouped_gemm", groups_on_device=text, module="m"))
    assert found == Groups.on_device(*expected)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", ""),
        ("1x2", "1x2"),
        ("1x2x3,", ""),
        ("1x2x3, 1x2x3x4", "1x2x3x4"),
        ("1x2x3,*1x2x3", "*1x2x3"),
        ("-1*1x2x3", "-1*1x2x3"),
        ("0000001*1x2x3", "0000001*1x2x3"),
        ("1x2x3;4x5x6", "1x2x3;4x5x6"),
        ("1 x2x3", "1 x2x3"),
        ("axbxc", "axbxc"),
        (f"1{LARGE}x1x1", f"1{LARGE}x1x1"),
        (f"1x1{LARGE}x1", f"1x1{LARGE}x1"),
        (f"1x1x1{LARGE}", f"1x1x1{LARGE}"),
    ],
)
def test_the_word_that_is_no_group_is_told(text: str, word: str) -> None:
    with pytest.raises(UsageError) as told:
        asked_groups("grouped_gemm", Asked("grouped_gemm", groups=text))
    expected = f"--groups takes MxNxK,… with COUNT* before alike ones, as in 3*64x256x512; got '{word}'"
    assert str(told.value) == expected


@pytest.mark.parametrize(
    "text",
    ["", "1x2x3", "1:1x2", "1:1x2x3x4", "-1:1x2x3", "1:-1x2x3", "1:1x-2x3", "1:1x2x-3", "1: 1x2x3", "1*1x2x3",
     "1000000000:1x2x3", f"1:1{LARGE}x1x1", f"1:1x1{LARGE}x1", f"1:1x1x1{LARGE}"],
)  # fmt: skip
def test_what_is_no_bound_is_told(text: str) -> None:
    with pytest.raises(UsageError) as told:
        asked_groups("grouped_gemm", Asked("grouped_gemm", groups_on_device=f" {text}"))
    expected = f"--groups-on-device takes COUNT:MxNxK, as in 16:256x4096x7168; got ' {text}'"
    assert str(told.value) == expected


@pytest.mark.parametrize("asked", [Asked("g"), Asked("g", groups="1x2x3", groups_on_device="1:1x2x3")])
def test_one_of_both_is_needed(asked: Asked) -> None:
    with pytest.raises(UsageError) as told:
        asked_groups("g", asked)
    assert str(told.value) == "g needs either --groups or --groups-on-device"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (Asked("g", groups="1x2x3", shape="1,2,3"), "--shape is not an option of g"),
        (Asked("g", groups="1x2x3", batch="1"), "--batch is not an option of g"),
        (Asked("g", groups="1x2x3", experts=8), "--experts is not an option of g"),
        (Asked("g", groups="1x2x3", top_k=2), "--top-k is not an option of g"),
        (Asked("g", groups="1x2x3", block_m=16), "--block-m is not an option of g"),
        (Asked("g", sizes=("M=1",)), "'M=1': the sizes of g are options, not KEY=VALUE"),
    ],
)
def test_options_of_other_ops_are_refused(asked: Asked, said: str) -> None:
    with pytest.raises(UsageError) as told:
        asked_groups("g", asked)
    assert str(told.value) == said
