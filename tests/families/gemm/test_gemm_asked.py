"""Sizes of a GEMM as options say them: `ckgen.families.gemm.asked`."""

from __future__ import annotations

import pytest

from ckgen.families.common.asked import Asked
from ckgen.families.gemm.asked import asked_shape, read_shape
from ckgen.families.gemm.signature import parse_canonical
from ckgen.model.errors import UsageError
from ckgen.model.tuned_row import Shape

PLAIN = parse_canonical("gemm_bf16_rcr")
BATCHED = parse_canonical("gemm_bf16_rcr_batched")


@pytest.mark.parametrize(
    ("batched", "shape", "batch", "expected"),
    [
        (False, "1,2,3", None, Shape(0, 1, 2, 3)),
        (False, " 1 ,-2,\t+3 ", None, Shape(0, 1, -2, 3)),
        (False, "1,4,5,6", None, Shape(0, 4, 5, 6)),
        (False, "4,5,6", "1", Shape(0, 4, 5, 6)),
        (False, "0,4,5,6", None, Shape(0, 4, 5, 6)),
        (False, "2,4,5,6", None, Shape(2, 4, 5, 6)),
        (False, "4,5,6", "-1", Shape(-1, 4, 5, 6)),
        (True, "7,1,2,3", None, Shape(7, 1, 2, 3)),
        (True, "1,4,5,6", None, Shape(1, 4, 5, 6)),
        (True, "0,4,5,6", None, Shape(0, 4, 5, 6)),
        (True, "4,5,6", " 7 ", Shape(7, 4, 5, 6)),
        (True, "4,5,6", "1", Shape(1, 4, 5, 6)),
    ],
)
def test_a_batch_stands_before_the_sizes_or_alone_and_one_is_none_where_there_is_none(
    batched: bool, shape: str, batch: str | None, expected: Shape
) -> None:
    asked = Asked("gemm", shape=shape, batch=batch, module="a8w8")
    signature = BATCHED if batched else PLAIN
    assert asked_shape(signature, asked) == read_shape(signature, asked) == expected


@pytest.mark.parametrize(
    ("batched", "shape", "batch", "said"),
    [
        (False, "", None, "--shape takes M,N,K for gemm_bf16_rcr; got ''"),
        (False, "1,2", None, "--shape takes M,N,K for gemm_bf16_rcr; got '1,2'"),
        (False, "1,2,3,4,5", None, "--shape takes M,N,K for gemm_bf16_rcr; got '1,2,3,4,5'"),
        (False, "1,2", "3", "--shape takes M,N,K for gemm_bf16_rcr; got '1,2'"),
        (False, "1,2,3,4", "1", "--shape takes M,N,K for gemm_bf16_rcr; got '1,2,3,4'"),
        (True, "1, 2,3", None,
         "--shape takes B,M,N,K, or M,N,K with --batch, for gemm_bf16_rcr_batched; got '1, 2,3'"),
        (True, "1,2,3,4", "1",
         "--shape takes B,M,N,K, or M,N,K with --batch, for gemm_bf16_rcr_batched; got '1,2,3,4'"),
        (True, "1,2", "1",
         "--shape takes B,M,N,K, or M,N,K with --batch, for gemm_bf16_rcr_batched; got '1,2'"),
        (False, "1, x ,3", None, "--shape '1, x ,3': 'x' is not an integer"),
        (False, "1,2,", None, "--shape '1,2,': '' is not an integer"),
        (False, "y,x,3", None, "--shape 'y,x,3': 'y' is not an integer"),
        (True, "1,2,3", " two", "--shape '1,2,3': 'two' is not an integer"),
        (True, "1,2,3,4.0", None, "--shape '1,2,3,4.0': '4.0' is not an integer"),
    ],
)  # fmt: skip
def test_what_is_no_shape_is_told(batched: bool, shape: str, batch: str | None, said: str) -> None:
    with pytest.raises(UsageError) as told:
        asked_shape(BATCHED if batched else PLAIN, Asked("gemm", shape=shape, batch=batch))
    assert str(told.value) == said


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (Asked("gemm"), "gemm needs --shape"),
        (Asked("gemm", batch="2"), "gemm needs --shape"),
        (Asked("gemm", groups="1x2x3"), "--groups is not an option of gemm"),
        (Asked("gemm", shape="1,2,3", groups_on_device="1:1x2x3"), "--groups-on-device is not an option of gemm"),
        (Asked("gemm", shape="1,2,3", experts=8), "--experts is not an option of gemm"),
        (Asked("gemm", shape="1,2,3", top_k=2), "--top-k is not an option of gemm"),
        (Asked("gemm", shape="1,2,3", block_m=16), "--block-m is not an option of gemm"),
        (Asked("gemm", sizes=("M=1",)), "'M=1': the sizes of gemm are options, not KEY=VALUE"),
    ],
)
def test_a_shape_is_demanded_and_options_of_other_ops_are_refused(asked: Asked, said: str) -> None:
    with pytest.raises(UsageError) as told:
        asked_shape(PLAIN, asked)
    assert str(told.value) == said


def test_the_op_of_the_signature_is_named() -> None:
    with pytest.raises(UsageError, match=r"^grouped_gemm needs --shape$"):
        asked_shape(parse_canonical("grouped_gemm_bf16_rcr"), Asked("gemm"))
