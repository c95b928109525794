from __future__ import annotations

from dataclasses import replace

import pytest
from fmha_strategies import SHAPES
from hypothesis import given
from hypothesis import strategies as st

from ckgen.families.fmha.config import CkTileFmhaConfig, FmhaPipeline
from ckgen.families.fmha.constraints import FmhaConstraints, constraints_of
from ckgen.families.fmha.enums import FmhaCorner, FmhaEntry, FmhaKv, FmhaTraits
from ckgen.families.fmha.host_config import HostFmhaConfig
from ckgen.families.fmha.problem import check, cost, mean_columns, no_fmha_instance, supports
from ckgen.families.fmha.signature import parse_canonical
from ckgen.model.config import Tile
from ckgen.model.fmha_shape import FmhaShape

PLAIN = FmhaTraits()
USUAL = FmhaShape(batch=2, heads_q=8, heads_k=2, seqlen_q=256, seqlen_k=512, hdim_q=128, hdim_v=128)
WHOLE = FmhaConstraints(128, 64, 32, 128, 32, 128, 128, False, False, 0, 0)
PADDED = replace(WHOLE, pad_q=True, pad_k=True, d_multiple=8, dv_multiple=8)


def rule(traits: FmhaTraits, **sizes: object) -> tuple[str, int, int] | None:
    found = check(traits, replace(USUAL, **sizes))  # type: ignore[arg-type]
    return (found.rule, found.measured, found.limit) if found is not None else None


@pytest.mark.parametrize(
    ("sizes", "found"),
    [
        ({"batch": 0}, ("fmha.shape.batch", 0, 1)),
        ({"batch": 2**31}, ("fmha.shape.batch-max", 2**31, 2**31 - 1)),
        ({"heads_k": 0}, ("fmha.shape.heads", 0, 1)),
        ({"heads_q": 65536}, ("fmha.shape.heads-max", 65536, 65535)),
        ({"heads_q": 8, "heads_k": 3}, ("fmha.shape.head-groups", 8, 3)),
        ({"hdim_q": 0}, ("fmha.shape.hdim", 0, 256)),
        ({"hdim_v": 257}, ("fmha.shape.hdim", 257, 256)),
        ({"seqlen_k": -1}, ("fmha.shape.seqlen", -1, 2**31 - 1)),
        ({"seqlen_q": 0, "seqlen_k": 0}, None),
    ],
)
def test_sizes_of_every_signature(sizes: dict[str, int], found: tuple[str, int, int] | None) -> None:
    assert rule(PLAIN, **sizes) == found


@pytest.mark.parametrize(
    ("traits", "sizes", "found"),
    [
        (FmhaTraits(masked=True), {"window_left": -2}, ("fmha.shape.window", -2, -1)),
        (FmhaTraits(masked=True), {"window_right": -3}, ("fmha.shape.window", -3, -1)),
        (FmhaTraits(masked=True), {"sink_tokens": -1}, ("fmha.shape.window", -1, 0)),
        (FmhaTraits(kv=FmhaKv.PAGE_LIST), {"page_size": 0}, ("fmha.shape.page-size", 0, 2048)),
        (FmhaTraits(kv=FmhaKv.PAGE_LIST), {"page_size": 1, "pages": -1}, ("fmha.shape.pages", -1, 2**31 - 1)),
        (FmhaTraits(varlen=True), {"total_q": -1}, ("fmha.shape.total-q", -1, 2**31 - 1)),
    ],
)
def test_sizes_that_only_some_signatures_have(
    traits: FmhaTraits, sizes: dict[str, int], found: tuple[str, int, int]
) -> None:
    assert rule(traits, **sizes) == found
    assert rule(PLAIN, **sizes) is None


@pytest.mark.parametrize(
    ("constraints", "sizes", "found"),
    [
        (WHOLE, {}, None),
        (WHOLE, {"hdim_q": 136}, ("fmha.instance.hdim", 136, 128)),
        (WHOLE, {"hdim_v": 64}, ("fmha.instance.hdim-multiple", 64, 128)),
        (WHOLE, {"seqlen_q": 100}, ("fmha.instance.q-tile", 100, 128)),
        (WHOLE, {"seqlen_q": 0}, None),
        (WHOLE, {"seqlen_k": 100}, ("fmha.instance.k-tile", 100, 64)),
        (WHOLE, {"seqlen_k": 0}, ("fmha.instance.k-tile", 0, 64)),
        (PADDED, {"seqlen_q": 1, "seqlen_k": 0, "hdim_q": 8, "hdim_v": 120}, None),
        (PADDED, {"hdim_q": 36}, ("fmha.instance.hdim-multiple", 36, 8)),
    ],
)
def test_demands_of_an_instance(
    constraints: FmhaConstraints, sizes: dict[str, int], found: tuple[str, int, int] | None
) -> None:
    finding = supports(constraints, PLAIN, replace(USUAL, **sizes))  # type: ignore[arg-type]
    assert ((finding.rule, finding.measured, finding.limit) if finding else None) == found


def test_demands_of_some_signatures() -> None:
    varlen = supports(WHOLE, FmhaTraits(varlen=True), USUAL)
    assert varlen is not None and (varlen.rule, varlen.measured, varlen.limit) == ("fmha.instance.varlen", 128, 64)
    assert supports(PADDED, FmhaTraits(varlen=True), USUAL) is None
    splits = supports(PADDED, PLAIN, USUAL, 2)
    assert splits is not None and (splits.rule, splits.measured, splits.limit) == ("fmha.instance.splits", 2, 1)
    paged = FmhaTraits(kv=FmhaKv.BLOCK_TABLE)
    pages = supports(replace(PADDED, page_multiple=16), paged, replace(USUAL, page_size=24))
    assert pages is not None and (pages.rule, pages.limit) == ("fmha.instance.page-multiple", 16)


def test_why_there_is_no_instance() -> None:
    assert no_fmha_instance(FmhaTraits(entry=FmhaEntry.APPEND), USUAL).rule == "fmha.no-append"
    paged = no_fmha_instance(FmhaTraits(kv=FmhaKv.BLOCK_TABLE), replace(USUAL, page_size=16))
    text = "no instance that reads keys and values in pages (of 16 rows) was built for this signature"
    assert paged.text == f"{text} (rule fmha.no-paged-kv)"
    assert no_fmha_instance(PLAIN, USUAL).rule == "gemm.no-instance"


@given(st.integers(1, 40), st.integers(0, 40), st.sampled_from(FmhaCorner), st.integers(-1, 45), st.integers(-1, 45))
def test_the_mean_of_columns_is_that_of_the_mask(
    rows: int, columns: int, corner: FmhaCorner, left: int, right: int
) -> None:
    """Counted column by column, as the formula of fmha.hpp says."""
    shift = 0 if corner is FmhaCorner.TOP_LEFT else columns - rows
    seen = sum(
        (left < 0 or j >= i + shift - left) and (right < 0 or j <= i + shift + right)
        for i in range(rows)
        for j in range(columns)
    )
    shape = replace(USUAL, seqlen_q=rows, seqlen_k=columns, corner=corner, window_left=left, window_right=right)
    assert mean_columns(FmhaTraits(masked=True), shape) == -(-seen // rows)
    assert mean_columns(PLAIN, shape) == columns


def test_cost_prefers_exact_head_dims_whole_tiles_and_fewer_pads() -> None:
    def of(constraints: FmhaConstraints, **sizes: int) -> int:
        return cost(constraints, PLAIN, replace(USUAL, **sizes), 304)  # type: ignore[arg-type]

    wide = replace(PADDED, hdim_q=256, hdim_v=256, n1=256)
    small = replace(PADDED, m0=16)
    assert of(WHOLE) < of(PADDED) < of(wide)
    assert of(small, seqlen_q=1) < of(PADDED, seqlen_q=1)
    causal = cost(PADDED, FmhaTraits(masked=True), replace(USUAL, seqlen_q=512), 304)
    assert causal < of(PADDED, seqlen_q=512)


@given(SHAPES)
def test_costs_of_legal_problems_are_below_128_bits(shape: FmhaShape) -> None:
    if check(PLAIN, shape) is None:
        assert 0 <= cost(PADDED, PLAIN, shape, 1) < 2**128


def test_numbers_follow_the_config() -> None:
    signature = parse_canonical("fmha_bf16")
    config = CkTileFmhaConfig(FmhaPipeline.QR_ASYNC, 128, 64, 32, 64, 32, 96, (4, 1, 1), Tile(32, 32, 16), pad_k=False)
    found = constraints_of(signature, config)
    assert (found.hdim_q, found.hdim_v, found.pad_q, found.pad_k, found.d_multiple) == (96, 64, True, False, 8)
    assert constraints_of(signature, replace(config, pipeline=FmhaPipeline.QR)).d_multiple == 1
    assert constraints_of(signature, replace(config, pad_hdim_v=False)).dv_multiple == 0
    host = constraints_of(signature, HostFmhaConfig(16, 64))
    assert (host.m0, host.n0, host.hdim_q, host.pad_k, host.d_multiple) == (16, 64, 256, True, 1)
