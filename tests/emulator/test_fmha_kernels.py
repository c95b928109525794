"""ck_tile's attention kernels, launched as their host units say, executed under all checks against the definition."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from amd_support import amd_toolchain
from ckgen.families.fmha.config import CkTileFmhaConfig, FmhaPipeline
from ckgen.families.fmha.enums import FmhaCorner
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.signature import parse_canonical
from ckgen.families.registry import make_instance
from ckgen.model.config import Tile
from ckgen.model.errors import UsageError
from ckgen_emulator.bindings import Options
from ckgen_emulator.fmha.build import build_kernel
from ckgen_emulator.fmha.call import prepare
from ckgen_emulator.fmha.cases import cases
from ckgen_emulator.fmha.problem import FmhaProblem, fmha_data
from ckgen_emulator.fmha.run import FmhaKernel, run_fmha
from ckgen_emulator.gemm.problem import Data

pytestmark = [pytest.mark.amd, pytest.mark.slow]

CONFIG = CkTileFmhaConfig(FmhaPipeline.QR_ASYNC, 128, 64, 32, 64, 32, 64, (4, 1, 1), Tile(32, 32, 16))
SIGNATURE = parse_canonical("fmha_bf16_varlen_masked_lse")
ARCHS = ("gfx942", pytest.param("gfx950", marks=pytest.mark.long))
KNOWN = {"lds_race"}
"""docs/upstream/ck_tile_fmha.md"""
PLAIN = FmhaProblem((130,), (70,))


@cache
def kernel(arch: str) -> FmhaKernel:
    """Of the CI kernel set, so that CI compiles it once."""
    amd_toolchain()
    result, found = build_kernel(instance(arch), arch)
    assert not [one for one in result.findings if one.severity.value == "error"]
    return found


def instance(arch: str) -> FmhaInstance:
    return make_instance(SIGNATURE, CONFIG, (arch,))


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("problem", cases(SIGNATURE, CONFIG), ids=str)
def test_o_and_lse_are_within_their_bounds(arch: str, problem: FmhaProblem) -> None:
    """Unequal and empty sequences, shared heads, lengths given apart, windows from both corners, smaller heads."""
    for seed, data in ((0, Data.RANDOM), (3, Data.SMALL_INTEGERS)):
        outcome = run_fmha(kernel(arch), replace(problem, data=data), Options(seed=seed))
        assert outcome.right, outcome.compared
        assert {one.rule for one in outcome.findings} <= KNOWN


def test_the_grid_has_other_axes_where_lengths_are_given_apart() -> None:
    lengths = FmhaProblem((300, 9, 40), (64, 150, 8), heads_q=2)
    grids = []
    for problem in (lengths, replace(lengths, spare=1)):
        data = fmha_data(SIGNATURE, problem)
        grids.append(prepare(kernel("gfx942").library, data.shape, data.args).grid)
    assert grids == [(2, 3, 3), (2, 3, 3)]
    taller = replace(lengths, lengths_q=(600, 9, 40))
    for spare, grid in ((0, (2, 5, 3)), (1, (2, 3, 5))):
        data = fmha_data(SIGNATURE, replace(taller, spare=spare))
        assert prepare(kernel("gfx942").library, data.shape, data.args).grid == grid


@pytest.mark.parametrize(
    ("problem", "splits", "words"),
    [
        (replace(PLAIN, hdim_q=72), 1, "head dims of 72 and 64"),
        (replace(PLAIN, hdim_v=60), 1, "head dims of 64 and 60"),
        (replace(PLAIN, sink_tokens=2), 1, "no sink tokens"),
        (PLAIN, 2, "does not split KV"),
        (FmhaProblem((1,) * 65536, (1,) * 65536, hdim_q=8, hdim_v=8), 1, "HIP takes 65535 along y and z"),
    ],
)
def test_what_the_kernel_cannot_do_is_refused(problem: FmhaProblem, splits: int, words: str) -> None:
    few = replace(problem, lengths_q=problem.lengths_q[:1], lengths_k=problem.lengths_k[:1])
    data = fmha_data(SIGNATURE, few)
    shape = replace(data.shape, batch=len(problem.lengths_q))
    with pytest.raises(UsageError, match=words):
        prepare(kernel("gfx942").library, shape, data.args, splits=splits)


def test_a_window_beyond_every_key_is_none() -> None:
    """Limits that would wrap in ck_tile's sums."""
    most = 2**31 - 1
    problem = FmhaProblem((70,), (90,), corner=FmhaCorner.TOP_LEFT, window_left=most, window_right=most)
    assert run_fmha(kernel("gfx942"), problem).right


def test_a_wrong_element_is_seen() -> None:
    """The judge itself: random data have results that are off by something, and bounds that are small."""
    problem = replace(PLAIN, data=Data.RANDOM)
    data = fmha_data(SIGNATURE, problem)
    outcome = run_fmha(kernel("gfx942"), problem)
    o = next(one for one in outcome.compared if one.name == "o")
    assert 0 < o.excess <= 1 and o.wrong == 0
    assert np.isfinite(data.outputs[0].expected).all() and (data.outputs[0].bound < 0.1).all()
