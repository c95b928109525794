from __future__ import annotations

import pytest

from commands import as_json, ok, run

SIZES = ("seqlen_q=8", "seqlen_k=5")


def test_ranges_and_a_picture() -> None:
    text = ok("fmha", "mask", *SIZES, "mask=b:1,2,1")
    lines = text.splitlines()
    assert lines[0] == "mask b:1,2,1 over 8 x 5: 22 of 40 visible, 1 row without a column"
    assert [line.split() for line in lines[1:4]] == [
        ["i", "=", "0", "no", "column"],
        ["i", "=", "1..5", "0..i-1"],
        ["i", "=", "6..7", "0..0", "and", "i-4..4"],
    ]
    assert [line.strip() for line in lines[4:]][-2:] == ["#.###", "#..##"]


def test_the_same_as_json() -> None:
    assert as_json("fmha", "mask", *SIZES, "mask=b:1,2,1") == {
        "mask": "b:1,2,1", "seqlen_q": 8, "seqlen_k": 5, "visible": 22, "blind_rows": [[0, 0]],
        "runs": [
            {"rows": [0, 0], "columns_of_first": [], "columns_of_last": []},
            {"rows": [1, 5], "columns_of_first": [[0, 0]], "columns_of_last": [[0, 4]]},
            {"rows": [6, 7], "columns_of_first": [[0, 0], [2, 4]], "columns_of_last": [[0, 0], [3, 4]]},
        ],
    }  # fmt: skip


def test_no_rows_are_no_runs() -> None:
    assert ok("fmha", "mask", "seqlen_q=0", "seqlen_k=3").strip() == "mask b:-1,0 over 0 x 3: 0 of 0 visible"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("seqlen_q=8",), "fmha mask needs seqlen_k=…"),
        ((*SIZES, "mask=b:1"), "mask 'b:1' is not none"),
        ((*SIZES, "window=3"), "word 3, 'window=3', is none of seqlen_q=…"),
        (("seqlen_q", "seqlen_k=5"), "word 1, 'seqlen_q', is none of"),
        ((*SIZES, "seqlen_q=9"), "word 3, 'seqlen_q=9': seqlen_q stands twice"),
        (("seqlen_q=-1",), "seqlen_q=-1: not an integer within 0..2147483647"),
        (("seqlen_q=1", "seqlen_k=2147483648"), "not an integer within"),
    ],
)
def test_what_is_wrong_is_said(words: tuple[str, ...], said: str) -> None:
    result = run("fmha", "mask", *words)
    assert result.exit_code == 2 and said in result.stderr
