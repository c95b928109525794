"""Sizes of an MoE problem as options say them: `ckgen.families.moe.asked`."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from ckgen.families.common.asked import Asked
from ckgen.families.gemm.signature import parse_signature
from ckgen.families.moe.asked import RoutedSizes, asked_sizes
from ckgen.model.errors import UsageError
from ckgen.model.groups import Routing
from ckgen.model.tuned_row import Shape

LAYER = parse_signature("moe:bf16:gated:silu", None)


@pytest.mark.parametrize(
    ("block_m", "shape", "m"), [(None, "9,256,128", 9), (0, "1,9,256,128", 9), (64, " -9, 256, 128", -9)]
)
def test_sizes_are_tokens_a_routing_and_a_block_if_one_is_asked(block_m: int | None, shape: str, m: int) -> None:
    asked = Asked("moe", shape=shape, experts=8, top_k=2, block_m=block_m, module="m")
    assert asked_sizes(LAYER, asked) == RoutedSizes(Shape(0, m, 256, 128), Routing(8, 2), block_m or 0)


def test_they_are_for_any_block_unless_one_is_said_and_do_not_change() -> None:
    sizes = RoutedSizes(Shape(0, 1, 2, 3), Routing(8, 2))
    assert sizes.block_m == 0
    with pytest.raises(FrozenInstanceError):
        sizes.block_m = 16  # type: ignore[misc]


def test_no_experts_are_said_and_not_missing() -> None:
    asked = Asked("moe", shape="9,256,128", experts=0, top_k=0)
    assert asked_sizes(LAYER, asked) == RoutedSizes(Shape(0, 9, 256, 128), Routing(0, 0), 0)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (Asked("moe"), "moe needs --shape, --experts, --top-k"),
        (Asked("moe", shape="1,2,3", experts=8), "moe needs --top-k"),
        (Asked("moe", experts=8, top_k=2), "moe needs --shape"),
        (Asked("moe", shape="1,2,3", top_k=2), "moe needs --experts"),
        (Asked("moe", shape="1,2", experts=8, top_k=2), f"--shape takes M,N,K for {LAYER}; got '1,2'"),
        (Asked("moe", shape="1,2,z", experts=8, top_k=2), "--shape '1,2,z': 'z' is not an integer"),
        (Asked("moe", shape="1,2,3", batch="1", experts=8, top_k=2), "--batch is not an option of moe"),
        (Asked("moe", groups="1x2x3"), "--groups is not an option of moe"),
        (Asked("moe", groups_on_device="1:1x2x3"), "--groups-on-device is not an option of moe"),
        (Asked("moe", sizes=("M=1",)), "'M=1': the sizes of moe are options, not KEY=VALUE"),
    ],
)
def test_what_is_missing_or_of_another_op_is_told(asked: Asked, said: str) -> None:
    with pytest.raises(UsageError) as told:
        asked_sizes(LAYER, asked)
    assert str(told.value) == said
