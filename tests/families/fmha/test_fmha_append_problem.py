from __future__ import annotations

from dataclasses import replace

import pytest

from ckgen.families.fmha.append_problem import is_empty
from ckgen.families.fmha.constraints import FmhaConstraints
from ckgen.families.fmha.cost import cost
from ckgen.families.fmha.enums import FmhaEntry, FmhaKv, FmhaRope, FmhaTraits
from ckgen.families.fmha.problem import check, supports
from ckgen.model.fmha_shape import FmhaShape

PLAIN = FmhaTraits(entry=FmhaEntry.APPEND)
ROPE = replace(PLAIN, rope=FmhaRope.HALF)
VARLEN = replace(ROPE, varlen=True)
USUAL = FmhaShape(2, 8, 2, 3, 12, 64, 32, seqlen_new=3, rotary_dim=64)
ASKED = FmhaConstraints(8, 8, 1, 256, 1, 256, 256, True, True, 1, 1)


@pytest.mark.parametrize(
    ("traits", "sizes", "found"),
    [
        (PLAIN, {}, None),
        (PLAIN, {"seqlen_new": 12, "seqlen_q": 99, "rotary_dim": 7}, None),
        (PLAIN, {"seqlen_new": 13}, ("fmha.shape.seqlen-new", 13, 12)),
        (PLAIN, {"seqlen_new": -1}, ("fmha.shape.seqlen-new", -1, 12)),
        (ROPE, {"seqlen_q": 0}, None),
        (ROPE, {"seqlen_q": 5}, None),
        (ROPE, {"seqlen_q": 13}, ("fmha.shape.seqlen-new", 13, 12)),
        (VARLEN, {"seqlen_q": 0}, None),
        (VARLEN, {"seqlen_q": 5}, ("fmha.shape.append-q", 5, 3)),
        (ROPE, {"rotary_dim": 2}, None),
        (ROPE, {"rotary_dim": 0}, ("fmha.shape.rotary-dim", 0, 64)),
        (ROPE, {"rotary_dim": 33}, ("fmha.shape.rotary-dim", 33, 64)),
        (ROPE, {"rotary_dim": 66}, ("fmha.shape.rotary-dim", 66, 64)),
        (replace(PLAIN, kv=FmhaKv.PAGE_LIST), {}, ("fmha.shape.page-size", 0, 2048)),
    ],
)
def test_sizes(traits: FmhaTraits, sizes: dict[str, int], found: tuple[str, int, int] | None) -> None:
    one = check(traits, replace(USUAL, **sizes))  # type: ignore[arg-type]
    assert (one and (one.rule, one.measured, one.limit)) == found


def test_demands_of_instances() -> None:
    assert supports(ASKED, ROPE, USUAL) is None
    whole = supports(replace(ASKED, pad_q=False), ROPE, USUAL)
    assert whole is not None and (whole.rule, whole.measured) == ("fmha.instance.q-tile", 3)
    assert supports(replace(ASKED, pad_q=False), PLAIN, USUAL) is None
    turning = supports(replace(ASKED, rotary_multiple=16), ROPE, replace(USUAL, rotary_dim=24))
    assert turning is not None and (turning.rule, turning.limit) == ("fmha.instance.rotary-multiple", 16)


@pytest.mark.parametrize(
    ("traits", "sizes", "empty"),
    [
        (PLAIN, {"seqlen_new": 0, "seqlen_q": 9}, True), (PLAIN, {"seqlen_new": 1}, False),
        (ROPE, {"seqlen_new": 0, "seqlen_q": 0}, True), (ROPE, {"seqlen_new": 0, "seqlen_q": 1}, False),
        (FmhaTraits(), {"seqlen_q": 0}, True), (FmhaTraits(), {"seqlen_new": 0, "seqlen_q": 1}, False),
    ],
)  # fmt: skip
def test_what_does_nothing(traits: FmhaTraits, sizes: dict[str, int], empty: bool) -> None:
    assert is_empty(traits, replace(USUAL, **sizes)) is empty  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("traits", "sizes", "cus", "rounds"),
    [
        (PLAIN, {}, 4, 1), (PLAIN, {}, 3, 2), (PLAIN, {}, 0, 4), (PLAIN, {"seqlen_new": 9}, 4, 2),
        (ROPE, {}, 16, 1), (ROPE, {}, 15, 2), (ROPE, {"seqlen_q": 9}, 16, 2), (ROPE, {"seqlen_q": 0}, 4, 1),
    ],
)  # fmt: skip
def test_cost_is_of_rounds_of_tiles_of_both_head_dims_then_of_pads(
    traits: FmhaTraits, sizes: dict[str, int], cus: int, rounds: int
) -> None:
    """Two sequences of 8 heads of Q, if any of it turns, else of 2 of K; 8 rows of 64 + 32 elements; 4 pads of 8."""
    shape = replace(USUAL, **sizes)  # type: ignore[arg-type]
    assert cost(ASKED, traits, shape, cus) == rounds * 8 * (64 + 32) * 8 + 4
    whole = replace(ASKED, pad_q=False, pad_k=False, d_multiple=0, dv_multiple=0, n0=4)
    assert cost(whole, traits, replace(shape, seqlen_new=3), cus) % 8 == 0


def test_fewer_rounds_and_smaller_tiles_cost_less() -> None:
    large = replace(ASKED, m0=64, n0=64)
    assert cost(ASKED, ROPE, USUAL, 8) < cost(large, ROPE, USUAL, 8)
    long = replace(USUAL, seqlen_new=1 << 20, seqlen_q=1 << 20, seqlen_k=1 << 21)
    assert cost(large, ROPE, long, 8) == cost(ASKED, ROPE, long, 8)
    assert cost(ASKED, PLAIN, long, 8) * 3 < cost(ASKED, ROPE, long, 8)  # heads of Q, not of K alone
