"""AMD's attention and mixture-of-experts kernels run unmodified, as test_production_runs has it for the others."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_production_runs import run, wheel

from ckgen_emulator.bindings import Options
from ckgen_emulator.production.kinds import KINDS
from ckgen_emulator.production.run import SIDE_BY_SIDE, run_production
from ckgen_emulator.production.wheel import KernelFile

pytestmark = pytest.mark.amd

RUNS: tuple[tuple[str, str, str, str, tuple[str, ...]], ...] = (
    ("pa", "gfx942", "pa/pa_bf16_noquant_gqa8_1tg_4w", "short", ()),
    ("pa", "gfx950", "pa/pa_fp16_pertokenFp8_gqa8_2tg_4w_uhp", "one-token", ()),
    ("pa", "gfx942", "pa/pa_bf16_pertokenFp8_gqa10_1tg_4w_qlen3_msk1", "short", ()),
    ("pa", "gfx942", "pa/pa_fp16_pertokenInt8_gqa8_1tg_4w_mtp_msk1", "one-query", ()),
    ("pa", "gfx950", "pa/pa_bf16_pertokenFp8_gqa16_2tg_4w", "short", ("before_wait", "hazard")),
    ("mla", "gfx942", "mla/mla_dec_stage1_bf16_a16w16_subQ16_mqa16", "split", ("lds_race",)),
    ("mla", "gfx942", "mla/mla_a16w16_qh16_m32x4_n16x1_coex0_mask1", "short", ("before_wait",)),
    ("mla", "gfx950", "mla/mla_a8w8_qh16_qseqlen1_gqaratio16", "few-tokens", ()),
    ("fmoe", "gfx942", "fmoe/silu/fmoe_bf16_pertokenFp8_g1u1_vs_silu_1tg_32x256", "few", ()),
    ("fmoe", "gfx950", "fmoe/gelu/fmoe_fp16_pertokenInt8_g1u1_vs_multix_gelu_1tg_ps_32x128", "wide", ()),
    ("fmoe", "gfx942", "fmoe/silu/fmoe_bf16_pertokenFp8_g1u1_vs_tkw1_silu_1tg_32x256", "few", ()),
    ("fmoe", "gfx942", "fmoe/silu/fmoe_bf16_blockscaleFp8_g1u1_vs_silu_1tg_32x256", "few", ("lds_race",)),
    ("fmoe", "gfx942", "fmoe_b16", "few", ("before_wait", "lds_race")),
    (
        "fmoe_stage1", "gfx942", "fmoe_2stages/fmoe_stage1_bf16_pertokenFp8_g1u1_16x128_4tg_pf2", "few",
        ("before_wait", "lds_race"),
    ),
    (
        "fmoe_stage1", "gfx950", "fmoe_2stages/fmoe_stage1_bf16_pertokenFp8_blockscale_g1u1_16x128_4tg_pf2", "gelu",
        ("hazard",),
    ),
    ("fmha_v3_bwd", "gfx942", "fmha_v3_bwd/bwd_hd64_fp16_causal_a32_pssk", "short", ()),
    ("fmha_v3_bwd", "gfx942", "fmha_v3_bwd/bwd_hd128_bf16_a32_rtz_psskddv", "short", ()),
    ("fmha_v3_bwd", "gfx950", "fmha_v3_bwd/bwd_hd64_bf16_causal_a16_rtne", "grouped", ("lds_race",)),
)  # fmt: skip

CLEAN = [one[:4] for one in RUNS if not one[4]]

WRONG = (
    ("fmoe", "gfx942", "fmoe/silu/fmoe_bf16_pertokenFp8_g1u1_vs_silu_1tg_32x128", "few"),
    ("fmoe", "gfx942", "fmoe/silu/fmoe_fp16_pertokenInt8_g1u1_silu_1tg_32x128", "few"),
    ("mla", "gfx950", "mla/mla_a8w8_qh16_qseqlen4_gqaratio16", "split"),
)
"""docs/upstream/asm_fmoe.md and asm_mla.md say what is wrong."""


@pytest.mark.parametrize(("kind", "arch", "path", "problem", "rules"), RUNS)
def test_right(kind: str, arch: str, path: str, problem: str, rules: tuple[str, ...]) -> None:
    outcome = run(kind, arch, path, problem)
    assert outcome.right, outcome.compared
    assert tuple(sorted({one.rule for one in outcome.findings})) == rules


@pytest.mark.parametrize("seed", (1, 4))
@pytest.mark.parametrize(("kind", "arch", "path", "problem"), CLEAN)
def test_clean_ones_stay_so_in_any_order(kind: str, arch: str, path: str, problem: str, seed: int) -> None:
    outcome = run(kind, arch, path, problem, seed)
    assert outcome.ok, (outcome.compared, outcome.findings)


@pytest.mark.parametrize(("kind", "arch", "path", "problem"), WRONG)
def test_what_is_wrong_in_the_kernel(kind: str, arch: str, path: str, problem: str) -> None:
    assert not run(kind, arch, path, problem).right


def test_a_race_that_lockstep_hides() -> None:
    """The 8-bit MLA kernels read probabilities from LDS that the next values replace, with no barrier in between."""
    file = KernelFile("gfx942", "mla/mla_a8w8_qh16_qseqlen2_gqaratio16")
    right = {}
    for turn in (1, 1000):
        options: Options = replace(SIDE_BY_SIDE, turn=turn)
        outcome = run_production(KINDS["mla"], file, "short", options, wheel=wheel())
        assert "lds_race" in {one.rule for one in outcome.findings}
        right[turn] = outcome.right
    assert right == {1: True, 1000: False}
