"""What a trail says of an attention problem's sizes."""

from __future__ import annotations

import pytest

from ckgen.families.fmha.enums import FmhaCorner
from ckgen.families.fmha.explain import mask_text, sizes_text
from ckgen.families.fmha.mask import FmhaMask, parse_mask
from ckgen.families.fmha.signature import parse_canonical
from ckgen.model.fmha_shape import FmhaShape

ALL = "batch=2 heads_q=4 heads_k=1 seqlen_q=5 seqlen_k=9 hdim_q=64 hdim_v=32"
SHAPE = FmhaShape(
    2, 4, 1, 5, 9, 64, 32, FmhaCorner.TOP_LEFT, 7, -1, 3, 16, 10, 11, split_items=6, split_combines=2, split_rows=8,
    split_m0=12, split_n0=13, split_merged=True, seqlen_new=14, rotary_dim=15, min_seqlen_k=1, finite_kv=True,
    gaps_q=True,
)  # fmt: skip
SCHEDULE = " split_items=6 split_combines=2 split_rows=8 split_m0=12 split_n0=13 split_merged=1"


@pytest.mark.parametrize(
    ("mask", "text"),
    [
        (FmhaMask(FmhaCorner.BOTTOM_RIGHT, -1, 0), "b:-1,0"),
        (FmhaMask(FmhaCorner.TOP_LEFT, 127, 0, 4), "t:127,0,4"),
        (FmhaMask(FmhaCorner.BOTTOM_RIGHT, 2, -1, 1), "b:2,-1,1"),
    ],
)
def test_a_mask_is_said_as_it_is_read(mask: FmhaMask, text: str) -> None:
    shape = FmhaShape(corner=mask.corner, window_left=mask.left, window_right=mask.right, sink_tokens=mask.sink_tokens)
    assert mask_text(shape) == str(mask) == text and parse_mask(text) == mask


@pytest.mark.parametrize(
    ("signature", "more"),
    [
        ("bf16", ""),
        ("bf16_masked", " mask=t:7,-1,3"),
        ("bf16_varlen", " total_q=11 min_seqlen_k=1 gaps_q=1"),
        ("bf16_blocktable", " page_size=16 pages=10 min_seqlen_k=1 finite_kv=1"),
        ("bf16_append_rope_half", " seqlen_new=14 rotary_dim=15"),
    ],
)
def test_sizes_are_those_of_the_traits(signature: str, more: str) -> None:
    assert sizes_text(parse_canonical(f"fmha_{signature}").traits, SHAPE) == f"{ALL}{more}{SCHEDULE}"


def test_sizes_that_are_usual_are_not_said() -> None:
    shape = FmhaShape(2, 4, 1, 5, 9, 64, 32, page_size=16)
    for signature, more in (("bf16_varlen", ""), ("bf16_blocktable", " page_size=16 pages=0")):
        assert sizes_text(parse_canonical(f"fmha_{signature}").traits, shape) == f"{ALL}{more}"
