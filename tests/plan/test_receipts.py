"""CK's numbered receipts as profiles."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from ckgen.model.errors import UsageError
from ckgen.plan.profile_file import profile_files, shipped_names
from ckgen.plan.receipts import receipt_words, receipts


@pytest.mark.parametrize(
    ("number", "profiles"),
    [
        (0, ["ck_default"]),
        (2, ["flash"]),
        (3, ["flash_bwd"]),
        (4, ["pytorch"]),
        (100, ["aiter_batch"]),
        (199, ["aiter_batch"]),
        (200, ["aiter_group"]),
        (300, ["aiter_bwd_batch"]),
        (450, ["aiter_bwd_group"]),
        (600, ["aiter", "aiter_bwd_batch", "aiter_bwd_group"]),
        (800, ["fp32"]),
        (801, ["fp32_min"]),
        (888, ["fp8_test"]),
    ],
)
def test_a_receipt_is_its_profiles(number: int, profiles: list[str]) -> None:
    assert [file.stem for file in profile_files([Path(f"receipt:{number}")])] == profiles


def test_a_receipt_beside_a_profile_is_their_union_each_once() -> None:
    given = [Path("flash_bwd"), Path("receipt:3"), Path("receipt:1"), Path("receipt:0")]
    assert [file.stem for file in profile_files(given)] == ["flash_bwd", "ck_default"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("receipt:700", "CK's receipt 700, TransformerEngine, is no profile here: which types it has is not known"),
        ("receipt:5", "CK's receipt '5' is not known (known: 0, 1, 2, 3, 4, 100-199, 200-299"),
        ("receipt:500", "CK's receipt '500' is not known"),
        ("receipt:", "CK's receipt '' is not known"),
        ("receipt:flash", "CK's receipt 'flash' is not known"),
        ("receipt:-1", "CK's receipt '-1' is not known"),
    ],
)
def test_what_is_no_profile_is_refused_by_its_name(text: str, says: str) -> None:
    with pytest.raises(UsageError) as refused:
        profile_files([Path(text)])
    assert says in str(refused.value)


def test_numbers_ascend_apart_and_their_profiles_ship() -> None:
    found = receipts()
    assert all(one.first <= one.last < after.first for one, after in pairwise(found))
    assert all(bool(one.profiles) != bool(one.why) for one in found)
    assert {name for one in found for name in one.profiles} <= set(shipped_names())
    assert "receipt:150" in receipt_words() and "receipt:700" not in receipt_words()
