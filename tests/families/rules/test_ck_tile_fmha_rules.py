"""What ck_tile's attention kernels ask of a Config: each rule met by one change of a kernel of the pinned tree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ckgen.families.fmha.config import CkTileFmhaConfig, FmhaPipeline
from ckgen.families.fmha.lds import lds_bytes
from ckgen.families.fmha.rules.ck_tile_tiles import async_buffers
from ckgen.families.fmha.signature import FmhaSignature, parse_signature
from ckgen.families.fmha.tree import tree_configs, why_no_tiles
from ckgen.families.rules import all_rules, judge
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.specs.archs import load_archs

ASYNC = CkTileFmhaConfig(FmhaPipeline.QR_ASYNC, 128, 128, 32, 128, 32, 128, (4, 1, 1), Tile(32, 32, 16))
QR = replace(ASYNC, pipeline=FmhaPipeline.QR)
OF_256 = replace(QR, n1=256, k0_max=256)
TRLOAD = replace(ASYNC, pipeline=FmhaPipeline.QR_ASYNC_TRLOAD, n0=64, k1=16, pad_q=False, pad_k=False)
WMMA = replace(QR, m0=64, n0=64, warp_tile=Tile(16, 16, 16))
PAGED = replace(QR, pipeline=FmhaPipeline.QR_PAGEDKV, pad_hdim_q=False, pad_hdim_v=False)
GATHER = replace(ASYNC, pipeline=FmhaPipeline.QR_ASYNC_GATHER)
FP32 = replace(QR, n0=64, warp_tile=Tile(16, 16, 16))

SPLIT = CkTileFmhaConfig(FmhaPipeline.QR_SPLITKV, 64, 128, 32, 128, 32, 128, (4, 1, 1), Tile(16, 16, 16))
MERGED = replace(SPLIT, pipeline=FmhaPipeline.QR_SPLITKV_MERGED)
KEPT: tuple[tuple[str, CkTileFmhaConfig, str], ...] = (
    ("bf16_varlen_masked_lse", ASYNC, "gfx90a"),
    ("fp16_alibi_dropout", ASYNC, "gfx942"),
    ("fp16_elementwise", QR, "gfx942"),
    ("bf16_masked_lse", TRLOAD, "gfx950"),
    ("bf16_softcap", WMMA, "gfx1201"),
    ("fp32", FP32, "gfx942"),
    ("fp8_bf16_pertensor", replace(QR, warp_tile=Tile(32, 32, 32)), "gfx942"),
    ("fp16", OF_256, "gfx942"),
    ("bf16_varlen_masked_blocktable", PAGED, "gfx950"),
    ("bf16_varlen_masked_elementwise_lse_dropout_pagelist", GATHER, "gfx942"),
    ("fp16_lse_blocktable", GATHER, "gfx90a"),
    ("fp8_pertensor_blocktable", replace(PAGED, warp_tile=Tile(32, 32, 32)), "gfx942"),
    ("bf16_varlen_masked_softcap_lse", SPLIT, "gfx942"),
    ("fp16_masked_elementwise_blocktable", SPLIT, "gfx950"),
    ("bf16_lse_blocktable", MERGED, "gfx90a"),
    ("fp8_bf16_pertensor", replace(SPLIT, m0=128, warp_tile=Tile(32, 32, 32)), "gfx942"),
)
BROKEN: tuple[tuple[str, str, CkTileFmhaConfig, dict[str, Any], str], ...] = (
    ("arch", "bf16", WMMA, {}, "gfx1100"),
    ("types", "bf16_fp8_bf16_pertensor", ASYNC, {}, "gfx942"),
    ("types", "fp8_bf16_pertensor", QR, {"warp_tile": Tile(32, 32, 32)}, "gfx90a"),
    ("types", "fp32", FP32, {}, "gfx1201"),
    ("types", "bf8_bf16_pertensor", QR, {}, "gfx942"),
    ("features", "bf16_sink", ASYNC, {}, "gfx942"),
    ("features", "bf16_append", ASYNC, {}, "gfx942"),
    ("pages", "bf16_pagelist", PAGED, {}, "gfx942"),
    ("pages", "bf16_pagelist", ASYNC, {}, "gfx942"),
    ("pages", "bf16", GATHER, {}, "gfx942"),
    ("pages", "bf16_pagelist", GATHER, {"pad_k": False}, "gfx942"),
    ("pages", "fp8_pertensor_pagelist", GATHER, {"warp_tile": Tile(32, 32, 32)}, "gfx942"),
    ("pipeline", "bf16_pagelist", replace(WMMA, pipeline=FmhaPipeline.QR_ASYNC_GATHER), {}, "gfx1201"),
    ("features", "bf16_blocktable_vectorized", PAGED, {}, "gfx942"),
    ("pages", "bf16_blocktable", ASYNC, {}, "gfx942"),
    ("pages", "bf16", PAGED, {}, "gfx942"),
    ("pages", "bf16_lse_blocktable", PAGED, {}, "gfx942"),
    ("pages", "bf16_dropout_blocktable", PAGED, {}, "gfx942"),
    ("pages", "bf16_blocktable", PAGED, {"pad_k": False}, "gfx942"),
    ("pages", "fp8_bf16_pertensor_blocktable", PAGED, {}, "gfx942"),
    ("splits", "bf16_dropout", SPLIT, {}, "gfx942"),
    ("splits", "fp8_pertensor", SPLIT, {}, "gfx942"),
    ("splits", "fp8_bf16_pertensor_blocktable", SPLIT, {}, "gfx942"),
    ("splits", "bf16_blocktable", SPLIT, {"pad_k": False}, "gfx942"),
    ("splits", "bf16_elementwise", SPLIT, {"pad_k": False}, "gfx942"),
    ("splits", "bf16_masked", MERGED, {}, "gfx942"),
    ("splits", "bf16_alibi", MERGED, {}, "gfx942"),
    ("splits", "bf16", MERGED, {"k0_max": 64, "n1": 64}, "gfx942"),
    ("direction", "bf16_bwd_masked", ASYNC, {}, "gfx942"),
    ("features", "bf16_vcolumn", ASYNC, {}, "gfx942"),
    ("features", "bf16_randval", ASYNC, {}, "gfx942"),
    ("features", "fp8_bf16_blockscale", QR, {}, "gfx942"),
    ("fp8-features", "fp8_bf16_lse_pertensor", QR, {"warp_tile": Tile(32, 32, 32)}, "gfx942"),
    ("fp8-features", "fp8_bf16_elementwise_pertensor", QR, {"warp_tile": Tile(32, 32, 32)}, "gfx942"),
    ("varlen-pads", "bf16_varlen", ASYNC, {"pad_k": False}, "gfx942"),
    ("narrow-v", "bf16_alibi", ASYNC, {"k0_max": 192}, "gfx942"),
    ("narrow-v", "bf16_dropout", ASYNC, {"k0_max": 192}, "gfx942"),
    ("head-dims", "bf16", OF_256, {"k0_max": 512}, "gfx942"),
    ("head-dims", "bf16", ASYNC, {"k0": 48}, "gfx942"),
    ("head-dims", "bf16", QR, {"k0_max": 96, "pad_hdim_q": False}, "gfx942"),
    ("head-dims", "bf16", ASYNC, {"n1": 100}, "gfx942"),
    ("waves", "bf16", ASYNC, {"warps": (2, 2, 1)}, "gfx942"),
    ("waves", "bf16", ASYNC, {"m0": 64}, "gfx942"),
    ("waves", "bf16", replace(ASYNC, m0=1024), {"warps": (32, 1, 1)}, "gfx942"),
    ("warp-tile", "fp8_bf16_pertensor", QR, {"warp_tile": Tile(16, 16, 32)}, "gfx942"),
    ("warp-tile", "bf16", WMMA, {"warp_tile": Tile(32, 32, 16)}, "gfx1201"),
    ("pipeline", "bf16", WMMA, {"pipeline": FmhaPipeline.QR_ASYNC}, "gfx1201"),
    ("pipeline", "bf16", ASYNC, {"pad_hdim_q": False}, "gfx942"),
    ("pipeline", "bf16_elementwise", ASYNC, {}, "gfx942"),
    ("pipeline", "bf16", QR, {"k0": 128}, "gfx942"),
    ("pipeline", "bf16", TRLOAD, {}, "gfx942"),
    ("pipeline", "bf16_softcap", TRLOAD, {}, "gfx950"),
    ("tile", "bf16", ASYNC, {"n0": 64}, "gfx942"),
    ("tile", "bf16", OF_256, {"m0": 64, "warps": (2, 1, 1)}, "gfx942"),
    ("tile", "bf16", TRLOAD, {"n0": 128}, "gfx950"),
    ("gather-spills", "bf16_alibi_pagelist", GATHER, {}, "gfx942"),
    ("gather-spills", "bf16_pagelist", replace(GATHER, k0=64, k1=64, warp_tile=Tile(16, 16, 16)), {"m0": 64}, "gfx950"),
    ("scheduling", "fp8_bf16_pertensor", OF_256, {"n0": 32, "warp_tile": Tile(32, 32, 32)}, "gfx942"),
    ("loads", "bf16", ASYNC, {"m0": 256, "warps": (8, 1, 1), "k1": 16, "n0": 32}, "gfx942"),
    ("lds-order", "bf16", ASYNC, {"k0_max": 96}, "gfx942"),
    ("lds-order", "bf16", ASYNC, {"k0_max": 192}, "gfx950"),
    ("lds", "bf16", OF_256, {"k1": 128, "m0": 128}, "gfx942"),
)  # fmt: skip


def rules_broken(text: str, config: CkTileFmhaConfig, arch: str) -> set[str]:
    spec = load_archs()[arch]
    found = judge(parse_signature(text, spec.fp8_flavour), config, Backend.CK_TILE, spec)
    return {finding.rule.removeprefix("ck_tile.fmha.") for finding in found}


@pytest.mark.parametrize(("signature", "config", "arch"), KEPT)
def test_kernels_of_the_tree_keep_all_rules(signature: str, config: CkTileFmhaConfig, arch: str) -> None:
    assert rules_broken(signature, config, arch) == set()


@pytest.mark.parametrize(("rule", "signature", "config", "change", "arch"), BROKEN)
def test_a_broken_rule_is_named(
    rule: str, signature: str, config: CkTileFmhaConfig, change: dict[str, Any], arch: str
) -> None:
    assert rule in rules_broken(signature, replace(config, **change), arch)


def test_a_softcap_with_a_bias_is_refused_even_where_no_text_says_it() -> None:
    found = judge(softcap_with_bias(), ASYNC, Backend.CK_TILE, load_archs()["gfx942"])
    assert [finding.rule for finding in found] == ["ck_tile.fmha.softcap-bias"]


def softcap_with_bias() -> FmhaSignature:
    base = parse_signature("bf16_alibi", None)
    return replace(base, traits=replace(base.traits, softcap=True))


def test_every_rule_of_the_tree_is_met() -> None:
    rules = {one.id.removeprefix("ck_tile.fmha.") for one in all_rules() if one.id.startswith("ck_tile.fmha.")}
    assert rules == {rule for rule, *_ in BROKEN} | {"softcap-bias"}


@pytest.mark.parametrize(
    ("signature", "config", "arch", "bytes_"),
    [
        ("fp16", ASYNC, "gfx942", 27648),  # as CK's own GetSmemSize says of it
        ("fp16", replace(ASYNC, pipeline=FmhaPipeline.QR), "gfx942", 9216),
        ("fp16", TRLOAD, "gfx950", 65536),
        ("fp16_dropout", ASYNC, "gfx942", 27648 + 129 * 32),
    ],
)
def test_bytes_of_lds(signature: str, config: CkTileFmhaConfig, arch: str, bytes_: int) -> None:
    assert lds_bytes(parse_signature(signature, None), config, load_archs()[arch]) == bytes_


@pytest.mark.parametrize(
    ("signature", "arch", "valid"),
    [
        ("bf16", "gfx90a", 14),
        ("bf16", "gfx942", 14),
        ("bf16", "gfx950", 26),
        ("bf16", "gfx1201", 10),
        ("bf16_varlen_masked_lse", "gfx942", 8),
        ("fp32", "gfx942", 25),
        ("fp8_bf16_pertensor", "gfx942", 6),
        ("fp8_bf16_pertensor", "gfx90a", 0),
        ("bf16", "gfx1100", 0),
        ("bf16_blocktable", "gfx950", 2),
        ("bf16_blocktable", "gfx1201", 1),
        ("bf16_varlen_lse_pagelist", "gfx90a", 1),
        ("bf16_pagelist", "gfx1201", 0),
        ("fp8_pertensor_blocktable", "gfx942", 3),
        ("bf16_lse_blocktable", "gfx942", 1),
    ],
)
def test_how_many_kernels_of_the_tree_are_valid(signature: str, arch: str, valid: int) -> None:
    spec = load_archs()[arch]
    parsed = parse_signature(signature, spec.fp8_flavour)
    kept = [one for one in tree_configs(parsed, arch) if not judge(parsed, one, Backend.CK_TILE, spec)]
    assert len(kept) == valid and len(set(kept)) == valid


def test_why_an_arch_has_no_tiles() -> None:
    assert why_no_tiles("gfx942") is None
    assert "gfx11" in (why_no_tiles("gfx1100") or "") and "gfx908" in (why_no_tiles("gfx908") or "")


def test_v_starts_in_the_buffer_that_ck_tile_gives_it() -> None:
    """ck_tile's LdsBufferSequence, whole: parts of K, then of V; every other pair takes the three in turn, V so that
    its last part is in the last one."""
    sequences = {
        (4, 4): (1, 2, 0, 1, 0, 1, 2, 0), (4, 2): (1, 2, 0, 1, 2, 0), (2, 4): (1, 2, 0, 1, 2, 0),
        (3, 3): (1, 2, 0, 1, 2, 0), (3, 4): (1, 2, 0, 0, 1, 2, 0), (2, 2): (1, 2, 1, 0),
    }  # fmt: skip
    for (of_k, of_v), sequence in sequences.items():
        assert async_buffers(of_k, of_v) == (sequence[of_k - 1], sequence[of_k]), (of_k, of_v)
    assert [async_buffers(of_k, of_v) for of_k, of_v in ((1, 1), (2, 1), (3, 2), (4, 3), (6, 5), (8, 4))] == [
        (0, 2), (1, 2), (2, 1), (0, 0), (2, 1), (1, 2),
    ]  # fmt: skip


def test_parts_of_k_and_of_v_may_be_one_element_and_none_is_no_crash() -> None:
    """128 parts of K and 128 of V end and begin in the same buffer, 64 of K do not."""
    ones = replace(ASYNC, k0=1, k1=1)
    assert async_buffers(128, 128) == (1, 1) and async_buffers(64, 128) == (0, 1) and async_buffers(128, 64) == (1, 2)
    for one in (ones, replace(ones, k0=0), replace(ones, k1=0)):
        assert "lds-order" in rules_broken("bf16", one, "gfx942")
