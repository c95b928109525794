"""What our attention kernel over a KV cache is written for: each rule met by one change of a legal kernel."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ckgen.families.fmha.hip_config import HipFmhaConfig
from ckgen.families.fmha.signature import parse_signature
from ckgen.families.rules import judge
from ckgen.model.backend import Backend
from ckgen.specs.archs import load_archs

WIDE = HipFmhaConfig(16, 128, 128, 128)
NARROW = replace(WIDE, n0=256)

KEPT: tuple[tuple[str, HipFmhaConfig, str], ...] = (
    ("bf16", WIDE, "gfx942"),
    ("fp16_masked_sink_blocktable", WIDE, "gfx90a"),
    ("fp16_varlen_masked_softcap_sink_lse_pagelist_vectorized", replace(WIDE, hdim_q=192), "gfx950"),
    ("bf16_fp8_bf16_masked_pertensor", NARROW, "gfx942"),
    ("fp16_fp8_fp16_kvblockscale_blocktable", replace(NARROW, hdim_q=256, hdim_v=256), "gfx950"),
)
BROKEN: tuple[tuple[str, str, HipFmhaConfig, dict[str, Any], str], ...] = (
    ("arch", "bf16", WIDE, {}, "gfx1201"),
    ("types", "bf16_fp8_ocp_bf16_pertensor", NARROW, {}, "gfx90a"),
    ("types", "fp32", WIDE, {"n0": 64}, "gfx942"),
    ("types", "fp8_bf16_pertensor", NARROW, {}, "gfx942"),
    ("types", "bf16_fp8_ocp_bf16_pertensor", NARROW, {}, "gfx942"),
    ("types", "bf16_bf8_bf16_pertensor", NARROW, {}, "gfx950"),
    ("features", "bf16_append", WIDE, {}, "gfx942"),
    ("features", "bf16_vcolumn", WIDE, {}, "gfx942"),
    ("features", "bf16_alibi", WIDE, {}, "gfx942"),
    ("features", "bf16_dropout", WIDE, {}, "gfx942"),
    ("features", "bf16_fp8_bf16_blockscale", NARROW, {}, "gfx942"),
    ("tile", "bf16", WIDE, {"n0": 256}, "gfx942"),
    ("tile", "bf16_fp8_bf16_pertensor", NARROW, {"m0": 32}, "gfx942"),
    ("head-dims", "bf16", WIDE, {"hdim_q": 96}, "gfx942"),
    ("head-dims", "bf16", WIDE, {"hdim_v": 32}, "gfx942"),
    ("head-dims", "bf16", WIDE, {"hdim_v": 512}, "gfx942"),
)


@pytest.mark.parametrize(("words", "config", "arch"), KEPT)
def test_legal_kernels_keep_every_rule(words: str, config: HipFmhaConfig, arch: str) -> None:
    spec = load_archs()[arch]
    assert judge(parse_signature(f"fmha_{words}", spec.fp8_flavour), config, Backend.HIP, spec) == ()


@pytest.mark.parametrize(("rule", "words", "config", "change", "arch"), BROKEN)
def test_one_change_breaks_one_rule(
    rule: str, words: str, config: HipFmhaConfig, change: dict[str, Any], arch: str
) -> None:
    spec = load_archs()[arch]
    found = judge(parse_signature(f"fmha_{words}", spec.fp8_flavour), replace(config, **change), Backend.HIP, spec)
    assert [finding.rule for finding in found] == [f"hip.fmha.{rule}"]
