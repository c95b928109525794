from __future__ import annotations

from dataclasses import replace

import pytest

from ckgen.families.fmha.config import CkTileFmhaConfig, FmhaPipeline
from ckgen.families.fmha.constraints import FmhaConstraints, constraints_of
from ckgen.families.fmha.enums import FmhaBias, FmhaEntry, FmhaKv, FmhaTraits
from ckgen.families.fmha.host_config import HostFmhaConfig
from ckgen.families.fmha.problem import check, check_problem, no_fmha_instance, supports
from ckgen.families.fmha.signature import parse_canonical
from ckgen.model.config import Tile
from ckgen.model.fmha_shape import FmhaCorner, FmhaShape

PLAIN = FmhaTraits()
USUAL = FmhaShape(batch=2, heads_q=8, heads_k=2, seqlen_q=256, seqlen_k=512, hdim_q=128, hdim_v=128)
WHOLE = FmhaConstraints(128, 64, 32, 128, 32, 128, 128, False, False, 0, 0)
PADDED = replace(WHOLE, pad_q=True, pad_k=True, d_multiple=8, dv_multiple=8)
SCHEDULE: dict[str, object] = {"split_items": 4, "split_m0": 128, "split_n0": 128}


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
        (FmhaTraits(varlen=True), {"min_seqlen_k": -1}, ("fmha.shape.min-seqlen", -1, USUAL.seqlen_k)),
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
    counted, shape = replace(PADDED, cache_limit=2**20), replace(USUAL, page_size=16, heads_q=2, heads_k=2, hdim_v=128)
    for count, rows in ((0, 0), (257, 4112)):
        cache = supports(counted, paged, replace(shape, pages=count))
        assert cache is not None and (cache.rule, cache.measured, cache.limit) == ("fmha.instance.cache", rows, 4096)
    assert supports(counted, paged, replace(shape, pages=256)) is None
    masked, limited = FmhaTraits(masked=True), replace(PADDED, max_keys=1000, sink_tokens=False)
    assert supports(limited, masked, replace(USUAL, seqlen_k=1000)) is None
    keys = supports(limited, masked, replace(USUAL, seqlen_k=1001))
    assert keys is not None and (keys.rule, keys.limit) == ("fmha.instance.max-keys", 1000)
    sinks = supports(limited, masked, replace(USUAL, seqlen_k=10, sink_tokens=3))
    assert sinks is not None and (sinks.rule, sinks.measured) == ("fmha.instance.sink-tokens", 3)


@pytest.mark.parametrize(
    ("sizes", "found"),
    [
        ({"split_items": -1}, ("fmha.shape.split-items", -1, 2**31 - 1)),
        ({"split_items": 0, "split_rows": 7}, ("fmha.shape.split-items", 7, 0)),
        ({"split_combines": 2**31}, ("fmha.shape.split-items", 2**31, 2**31 - 1)),
        ({"split_m0": 0}, ("fmha.shape.split-tile", 0, 4096)),
        ({"split_n0": 4097}, ("fmha.shape.split-tile", 4097, 4096)),
        ({"split_combines": 3, "split_rows": 9}, None),
    ],
)
def test_sizes_of_a_schedule(sizes: dict[str, object], found: tuple[str, int, int] | None) -> None:
    assert rule(PLAIN, **{**SCHEDULE, **sizes}) == found


def test_demands_of_a_schedule() -> None:
    scheduled = replace(USUAL, **SCHEDULE)  # type: ignore[arg-type]
    reads = replace(PADDED, takes_items=True, max_splits=8)

    def found(asked: FmhaConstraints, splits: int = 1, **sizes: object) -> tuple[str, int, int] | None:
        said = supports(asked, PLAIN, replace(scheduled, **sizes), splits)  # type: ignore[arg-type]
        return (said.rule, said.measured, said.limit) if said is not None else None

    assert found(reads) is None
    assert found(PADDED) == ("fmha.instance.items", 4, 0)
    assert found(reads, split_m0=16) == ("fmha.instance.split-tile", 16, 128)
    assert found(reads, split_n0=96) == ("fmha.instance.split-tile", 96, 64)
    assert found(reads, split_merged=True) == ("fmha.instance.split-heads", 1, 0)
    assert found(reads, 2) == ("fmha.instance.splits", 2, 1)


@pytest.mark.parametrize(
    ("sizes", "found"),
    [
        ({}, None),
        ({"heads_q": 20}, ("fmha.instance.group", 5, 4)),
        ({"seqlen_q": 3}, ("fmha.instance.rows", 3, 2)),
        ({"page_size": 32}, ("fmha.instance.page", 32, 16)),
    ],
)
def test_rows_heads_and_pages_that_are_too_many(sizes: dict[str, int], found: tuple[str, int, int] | None) -> None:
    asked = replace(PADDED, max_rows=2, max_group=4, max_page=16, page_multiple=16)
    shape = replace(USUAL, heads_q=16, heads_k=4, seqlen_q=2, page_size=16)
    finding = supports(asked, FmhaTraits(kv=FmhaKv.BLOCK_TABLE), replace(shape, **sizes))  # type: ignore[arg-type]
    assert ((finding.rule, finding.measured, finding.limit) if finding else None) == found


@pytest.mark.parametrize(
    ("traits", "keys", "mask", "taken"),
    [
        ({}, 96, (FmhaCorner.TOP_LEFT, 3, 3), True),
        ({"masked": True}, 96, (FmhaCorner.BOTTOM_RIGHT, -1, 0), True),
        ({"masked": True}, 64, (FmhaCorner.TOP_LEFT, -1, 0), True),
        ({"masked": True}, 96, (FmhaCorner.TOP_LEFT, -1, 0), False),
        ({"masked": True, "varlen": True}, 64, (FmhaCorner.TOP_LEFT, -1, 0), False),
        ({"masked": True, "kv": FmhaKv.PAGE_LIST}, 64, (FmhaCorner.TOP_LEFT, -1, 0), False),
        ({"masked": True}, 96, (FmhaCorner.BOTTOM_RIGHT, 8, 0), False),
        ({"masked": True}, 96, (FmhaCorner.BOTTOM_RIGHT, -1, 1), False),
        ({"masked": True}, 96, (FmhaCorner.BOTTOM_RIGHT, -1, -1), False),
    ],
)
@pytest.mark.parametrize("asked", ["causal_only", "topleft_only"])
def test_causal_masks_of_one_corner_alone(
    asked: str, traits: dict[str, object], keys: int, mask: tuple[FmhaCorner, int, int], taken: bool
) -> None:
    """Each takes what the other takes of the other corner."""
    corner, left, right = mask
    if asked == "topleft_only":
        corner = FmhaCorner.TOP_LEFT if corner is FmhaCorner.BOTTOM_RIGHT else FmhaCorner.BOTTOM_RIGHT
    sizes = {"seqlen_q": 64, "seqlen_k": keys, "page_size": 16}
    shape = replace(USUAL, **sizes, corner=corner, window_left=left, window_right=right)  # type: ignore[arg-type]
    finding = supports(replace(PADDED, **{asked: True}), FmhaTraits(**traits), shape)  # type: ignore[arg-type]
    rule = {"causal_only": "fmha.instance.mask", "topleft_only": "fmha.instance.mask-topleft"}[asked]
    assert (finding.rule if finding else None) == (None if taken else rule)


def test_a_key_that_is_needed() -> None:
    asked = replace(PADDED, needs_keys=True)
    finding = supports(asked, PLAIN, replace(USUAL, seqlen_k=0))
    assert finding is not None and (finding.rule, finding.measured, finding.limit) == ("fmha.instance.keys", 0, 1)
    assert supports(asked, PLAIN, replace(USUAL, seqlen_k=1)) is None
    assert supports(PADDED, PLAIN, replace(USUAL, seqlen_k=0)) is None
    for traits in (FmhaTraits(varlen=True), FmhaTraits(kv=FmhaKv.PAGE_LIST)):
        sized = replace(USUAL, page_size=16)
        unsaid = supports(asked, traits, sized)
        assert unsaid is not None and unsaid.rule == "fmha.instance.keys"
        assert supports(asked, traits, replace(sized, min_seqlen_k=1)) is None


def test_pages_that_must_be_finite() -> None:
    asked, paged = replace(PADDED, needs_finite=True), FmhaTraits(kv=FmhaKv.BLOCK_TABLE)
    finding = supports(asked, paged, replace(USUAL, page_size=16))
    assert finding is not None and finding.rule == "fmha.instance.finite"
    assert supports(asked, paged, replace(USUAL, page_size=16, finite_kv=True)) is None


@pytest.mark.parametrize(
    ("signature", "hdim_q", "page_size", "said"),
    [
        ("fmha_bf16_blocktable_vectorized", 64, 12, (12, 8)),
        ("fmha_bf16_blocktable_vectorized", 36, 16, (36, 8)),
        ("fmha_bf16_append_pagelist_vectorized", 64, 8, None),
        ("fmha_bf16_fp8_ocp_bf16_append_pertensor_pagelist_vectorized", 64, 8, (8, 16)),
        ("fmha_bf16_blocktable", 36, 3, None),
    ],
)
def test_pages_in_vectors_are_of_whole_ones(
    signature: str, hdim_q: int, page_size: int, said: tuple[int, int] | None
) -> None:
    found = check_problem(parse_canonical(signature), replace(USUAL, hdim_q=hdim_q, page_size=page_size))
    assert (found and (found.rule, found.measured, found.limit)) == (said and ("fmha.shape.vectors", *said))


def test_gaps_between_sequences() -> None:
    asked, varlen = replace(PADDED, takes_gaps_q=False), FmhaTraits(varlen=True)
    finding = supports(asked, varlen, replace(USUAL, gaps_q=True))
    assert finding is not None and finding.rule == "fmha.instance.gaps-q"
    assert supports(asked, varlen, USUAL) is None and supports(asked, PLAIN, replace(USUAL, gaps_q=True)) is None
    assert supports(PADDED, varlen, replace(USUAL, gaps_q=True)) is None


def test_slopes_are_of_distances_to_the_last_key() -> None:
    asked, slopes = replace(PADDED, topleft_slopes=False), FmhaTraits(masked=True, bias=FmhaBias.ALIBI)
    shape = replace(USUAL, seqlen_q=64, seqlen_k=96, corner=FmhaCorner.TOP_LEFT)
    finding = supports(asked, slopes, shape)
    assert finding is not None and finding.rule == "fmha.instance.slopes"
    for taken in (replace(shape, seqlen_k=64), replace(shape, corner=FmhaCorner.BOTTOM_RIGHT)):
        assert supports(asked, slopes, taken) is None
    assert supports(asked, replace(slopes, varlen=True), replace(shape, seqlen_k=64)) is not None
    assert supports(PADDED, slopes, shape) is None


def test_why_there_is_no_instance() -> None:
    assert no_fmha_instance(FmhaTraits(entry=FmhaEntry.APPEND), USUAL).rule == "fmha.no-append"
    paged = no_fmha_instance(FmhaTraits(kv=FmhaKv.BLOCK_TABLE), replace(USUAL, page_size=16))
    text = "no instance that reads keys and values in pages (of 16 rows) was built for this signature"
    assert paged.text == f"{text} (rule fmha.no-paged-kv)"
    assert no_fmha_instance(PLAIN, USUAL).rule == "gemm.no-instance"


def test_numbers_follow_the_config() -> None:
    signature = parse_canonical("fmha_bf16")
    config = CkTileFmhaConfig(FmhaPipeline.QR_ASYNC, 128, 64, 32, 64, 32, 96, (4, 1, 1), Tile(32, 32, 16), pad_k=False)
    found = constraints_of(signature, config)
    assert (found.hdim_q, found.hdim_v, found.pad_q, found.pad_k, found.d_multiple) == (96, 64, True, False, 8)
    assert constraints_of(signature, replace(config, pipeline=FmhaPipeline.QR)).d_multiple == 1
    assert constraints_of(signature, replace(config, pad_hdim_v=False)).dv_multiple == 0
    host = constraints_of(signature, HostFmhaConfig(16, 64))
    assert (host.m0, host.n0, host.hdim_q, host.pad_k, host.d_multiple) == (16, 64, 256, True, 1)
