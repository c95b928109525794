"""ck_tile's attention over parts of the keys, and what combines them, executed under all checks."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from amd_support import amd_toolchain
from ckgen.families.fmha.config import CkTileFmhaConfig, FmhaPipeline
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.signature import parse_canonical
from ckgen.families.registry import make_instance
from ckgen.model.config import Tile
from ckgen.model.errors import UsageError
from ckgen_emulator.bindings import Options
from ckgen_emulator.fmha.build import build_kernel
from ckgen_emulator.fmha.call import SplitOf, partial_bytes, prepare
from ckgen_emulator.fmha.cases import cases
from ckgen_emulator.fmha.problem import FmhaProblem, fmha_data
from ckgen_emulator.fmha.run import FmhaKernel, run_fmha
from ckgen_emulator.gemm.problem import Data

pytestmark = [pytest.mark.amd, pytest.mark.long]

CONFIG = CkTileFmhaConfig(
    FmhaPipeline.QR_SPLITKV, 64, 64, 32, 64, 32, 64, (4, 1, 1), Tile(16, 16, 16), pad_hdim_q=False, pad_hdim_v=False
)
INSTANCE: FmhaInstance = make_instance(parse_canonical("fmha_bf16_lse"), CONFIG, ("gfx942",))
PLAIN = FmhaProblem((1, 1), (300, 300), heads_q=4, heads_k=2)


@cache
def kernel() -> FmhaKernel:
    """Of the CI kernel set, so that CI compiles it once."""
    amd_toolchain()
    result, found = build_kernel(INSTANCE, "gfx942")
    assert not result.findings
    return found


@pytest.mark.parametrize("problem", cases(INSTANCE.signature, CONFIG), ids=str)
def test_o_and_lse_are_within_their_bounds(problem: FmhaProblem) -> None:
    """One to eight splits, some without a key; unequal and empty sequences; nothing is found in either kernel."""
    for seed, data in ((0, Data.RANDOM), (3, Data.SMALL_INTEGERS)):
        outcome = run_fmha(kernel(), replace(problem, data=data), Options(seed=seed))
        assert outcome.right and not outcome.findings, (outcome.compared, outcome.findings)


def test_more_splits_than_keys_leave_the_rest_empty() -> None:
    assert run_fmha(kernel(), replace(PLAIN, lengths_k=(5, 3), splits=8)).right


def test_the_order_of_workgroups_does_not_count() -> None:
    """Sums of splits are in a fixed order: whichever comes first, results are as far from the exact ones."""
    problem = replace(PLAIN, splits=5, data=Data.RANDOM)
    runs = [run_fmha(kernel(), problem, Options(seed=seed)) for seed in (0, 1, 2)]
    assert len({tuple(one.excess for one in run.compared) for run in runs}) == 1


@pytest.mark.parametrize(("splits", "grid"), [(1, (1, 4, 2)), (7, (7, 4, 2))])
def test_a_workgroup_has_one_split_of_a_tile(splits: int, grid: tuple[int, int, int]) -> None:
    data = fmha_data(INSTANCE.signature, PLAIN)
    of = SplitOf(INSTANCE, splits)
    rows = splits * 2 * 4
    assert partial_bytes(kernel().library, data.shape, of) == rows * 64 * 4 + rows * 4
    of = replace(of, workspace=np.empty(rows * 65 * 4, np.uint8))
    assert prepare(kernel().library, data.shape, data.args, of=of).grid == grid
    combine = prepare(kernel().library, data.shape, data.args, of=of, combines=True)
    assert (combine.grid, combine.block) == ((1, 4, 2), (256, 1, 1))


def test_what_the_kernel_cannot_do_is_refused() -> None:
    data = fmha_data(INSTANCE.signature, PLAIN)
    many = replace(data.shape, batch=65535, heads_q=512, heads_k=512)
    for shape, splits, words in (
        (many, 8, "8 splits of 33553920 rows of partial results of 64: ck_tile counts in 32 bits"),
        (replace(data.shape, batch=65536), 1, "HIP takes 65535 along y and z"),
        (replace(data.shape, hdim_q=56), 2, "head dims of 56 and 64 do not fit"),
    ):
        with pytest.raises(UsageError, match=words):
            prepare(kernel().library, shape, data.args, of=SplitOf(INSTANCE, splits))
