"""Which kernel of attention replaces another: every demand of it, one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ckgen.families.fmha.constraints import FmhaConstraints
from ckgen.families.fmha.profile import covers

PLAIN = FmhaConstraints(128, 64, 32, 128, 32, 128, 128, pad_q=True, pad_k=True, d_multiple=8, dv_multiple=8)


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ({"hdim_q": 256}, {}),
        ({"hdim_v": 256}, {}),
        ({}, {"pad_q": False}),
        ({}, {"pad_k": False}),
        ({"d_multiple": 4}, {}),
        ({"dv_multiple": 4}, {}),
        ({}, {"page_multiple": 16}),
        ({}, {"rotary_multiple": 16}),
        ({}, {"max_page": 64}),
        ({"max_page": 128}, {"max_page": 64}),
        ({}, {"max_rows": 64}),
        ({}, {"max_group": 4}),
        ({}, {"causal_only": True}),
        ({}, {"topleft_only": True}),
        ({}, {"needs_keys": True}),
        ({}, {"needs_finite": True}),
        ({}, {"max_keys": 64}),
        ({}, {"cache_limit": 64}),
        ({}, {"sink_tokens": False}),
        ({}, {"takes_gaps_q": False}),
        ({}, {"topleft_slopes": False}),
        ({}, {"unordered_dq": True}),
        ({}, {"last_resort": True}),
        ({"pad_q": False, "m0": 64}, {"pad_q": False}),
        ({"pad_k": False, "n0": 32}, {"pad_k": False}),
    ],
)
def test_a_kernel_that_asks_less_covers_and_never_the_other_way_round(
    wide: dict[str, Any], narrow: dict[str, Any]
) -> None:
    one, other = replace(PLAIN, **wide), replace(PLAIN, **narrow)
    assert covers(one, other)
    assert not covers(other, one)


def test_a_kernel_covers_itself_and_a_head_dim_without_a_multiple_is_that_one() -> None:
    exact = replace(PLAIN, d_multiple=0)
    assert covers(PLAIN, PLAIN) and covers(exact, exact) and covers(PLAIN, exact)
    assert not covers(exact, PLAIN)
    assert not covers(replace(exact, hdim_q=192), exact)
    assert not covers(PLAIN, replace(exact, hdim_q=100))
    assert not covers(replace(PLAIN, pad_q=False), PLAIN)
    assert not covers(replace(PLAIN, pad_q=False, m0=96), replace(PLAIN, pad_q=False))
