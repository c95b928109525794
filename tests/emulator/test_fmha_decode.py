"""Our attention kernel over a KV cache, launched as its host unit says, executed under all checks."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import pytest

from amd_support import amd_toolchain
from ckgen.families.fmha.enums import FmhaCorner
from ckgen.families.fmha.hip_config import HipFmhaConfig
from ckgen.families.fmha.signature import parse_canonical
from ckgen.families.registry import make_instance
from ckgen.model.errors import UsageError
from ckgen.runtime.fmha_split import FmhaSplitPlanner, FmhaSplitProblem
from ckgen_emulator.bindings import Options
from ckgen_emulator.fmha.build import build_kernel
from ckgen_emulator.fmha.call import prepare
from ckgen_emulator.fmha.decode_cases import decode_cases
from ckgen_emulator.fmha.problem import FmhaData, FmhaProblem, fmha_data
from ckgen_emulator.fmha.run import FmhaKernel, run_fmha
from runtime_build import load_own

pytestmark = [pytest.mark.amd, pytest.mark.slow]

WIDE = HipFmhaConfig(16, 128, 128, 64)
NARROW = HipFmhaConfig(16, 256, 64, 128)
KERNELS = {
    "gfx942": ("fmha_bf16_fp8_fnuz_bf16_varlen_masked_sink_lse_kvblockscale_blocktable", NARROW),
    "gfx950": ("fmha_fp16_masked_softcap_lse_pagelist_vectorized", WIDE),
}
CASES = [
    (arch, case) for arch, (name, config) in KERNELS.items() for case in decode_cases(parse_canonical(name), config)
]


@cache
def kernel(arch: str) -> FmhaKernel:
    amd_toolchain()
    name, config = KERNELS[arch]
    result, found = build_kernel(make_instance(parse_canonical(name), config, (arch,)), arch)
    assert not result.findings
    return found


@pytest.mark.parametrize(("arch", "problem"), CASES, ids=str)
def test_o_and_lse_are_within_their_bounds(arch: str, problem: FmhaProblem) -> None:
    """Whatever the order of waves, and nothing is found."""
    for seed in (0, 3):
        outcome = run_fmha(kernel(arch), problem, Options(seed=seed))
        assert outcome.right and not outcome.findings, (outcome.compared, outcome.findings)


@pytest.mark.parametrize(("arch", "problem"), CASES, ids=str)
def test_equal_splits_are_combined(arch: str, problem: FmhaProblem) -> None:
    """More splits than blocks of some sequences, and none of empty ones."""
    for splits in (2, 5):
        outcome = run_fmha(kernel(arch), problem, Options(seed=splits), splits=splits)
        assert outcome.right and not outcome.findings, (outcome.compared, outcome.findings)


@pytest.fixture(scope="module")
def planner(tmp_path_factory: pytest.TempPathFactory) -> FmhaSplitPlanner:
    return load_own(tmp_path_factory.mktemp("fmha_split")).fmha_split


def split_problem(arch: str, problem: FmhaProblem, cu_num: int = 8) -> FmhaSplitProblem:
    """The planner's words for a kernel and a problem; few compute units, so that not everything is split."""
    name, config = KERNELS[arch]
    return FmhaSplitProblem(
        problem.heads_q, problem.heads_k, problem.hdim_v, config.m0, config.n0, cu_num, merge_heads=True,
        page_size=problem.page_size, masked="masked" in name, top_left=problem.corner is FmhaCorner.TOP_LEFT,
        window_left=problem.window_left, window_right=problem.window_right, sink_tokens=problem.sink_tokens,
    )  # fmt: skip


@pytest.mark.parametrize(("arch", "problem"), CASES, ids=str)
def test_schedules_of_the_planner_are_read(arch: str, problem: FmhaProblem, planner: FmhaSplitPlanner) -> None:
    """Its own plan, one of fixed cuts, and one in the room of a bound, whose rest is padding."""
    base = split_problem(arch, problem)
    lengths = (problem.lengths_q, problem.lengths_k)
    fixed = replace(base, fixed_split_size=math.lcm(base.n0, base.page_size or 1))
    bound = planner.bound(base, len(lengths[0]), max(lengths[0]), max(lengths[1]))
    plans = (planner.plan(base, *lengths), planner.plan(fixed, *lengths), planner.plan(base, *lengths, bound))
    assert (plans[2].items["request"] == -1).any() or len(plans[2].items) == len(plans[0].items)
    for plan, rows in zip(plans, (0, 0, bound.partial_rows), strict=True):
        outcome = run_fmha(kernel(arch), problem, Options(seed=2), schedule=plan, partial_rows=rows)
        assert outcome.right and not outcome.findings, (plan.sizes, outcome.compared, outcome.findings)


def test_a_cache_may_be_larger_than_32_bits_count() -> None:
    """Pages beyond 2 GiB of V, in memory of which the rest is never touched."""
    found = kernel("gfx942")
    problem = FmhaProblem((3, 1), (300, 40), 8, 2, 64, 128, page_size=16, pages_before=530_000)
    assert fmha_data(found.signature, problem).args["v"].nbytes > 2**31
    outcome = run_fmha(found, problem, Options(seed=1))
    assert outcome.right and not outcome.findings, (outcome.compared, outcome.findings)


def plain() -> FmhaData:
    problem = FmhaProblem((2,), (9,), 4, 2, 128, 64, page_size=8)
    return fmha_data(parse_canonical(KERNELS["gfx950"][0]), problem)


def test_the_grid_is_a_workgroup_per_tile_and_kv_head() -> None:
    data = plain()
    shape = replace(data.shape, batch=3, seqlen_q=9)
    call = prepare(kernel("gfx950").library, shape, data.args)
    assert (call.grid, call.block) == ((3 * 2 * 2, 1, 1), (256, 1, 1))


@pytest.mark.parametrize(
    ("shape", "args", "words"),
    [
        ({}, {"k_strides": (0, 132, 2048)}, "a stride of K of 132: the kernel loads 16 bytes at a time"),
        ({}, {"o_strides": (130, 64, 0)}, "a stride of O of 130"),
        ({}, {"sink": None, "lse": None}, "lse is null"),
        ({"batch": 1 << 24}, {}, "a grid holds 1 to 16777215 workgroups"),
        ({"seqlen_k": 2**31 - 1}, {}, "2147483647 keys: the kernel counts to 2147482624"),
    ],
)
def test_what_the_kernel_cannot_do_is_refused(shape: dict[str, int], args: dict[str, object], words: str) -> None:
    data = plain()
    with pytest.raises(UsageError, match=words):
        prepare(kernel("gfx950").library, replace(data.shape, **shape), {**data.args, **args})  # type: ignore[arg-type]
