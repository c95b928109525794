"""Ladders of M: lists, powers of two, and the steps of roundings."""

from __future__ import annotations

import pytest
from workload_support import rows

from ckgen.model.errors import UsageError
from ckgen.workload.ladder import ladder


def test_the_peer_s_steps_up_to_80000_are_the_681_of_its_tables() -> None:
    steps = ladder("gl0:80000")
    assert len(steps) == 681
    assert set(steps) == {int(row["M"]) for row in rows("a8w8_blockscale_tuned_gemm_qwen3_vl_32b")}


def test_lists_and_ladders_join_and_rise() -> None:
    assert ladder("64, 3,pow2:9,3") == (1, 2, 3, 4, 8, 64)
    assert ladder("pow2:8") == (1, 2, 4, 8) and ladder("pow2:7") == (1, 2, 4)


@pytest.mark.parametrize("text", ["", "0", "pow2:0", "gl0:15", "-1", "1,x", "1.5", "pow3:8", "gl0:", "99999999"])
def test_what_is_no_ladder_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--m"):
        ladder(text)


def test_an_unknown_name_has_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"unknown ladder 'rowwize'.*rowwise"):
        ladder("rowwize:100")
