"""ck_tile's attention over pages, executed under all checks against the definition."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from amd_support import amd_toolchain
from ckgen.families.fmha.config import CkTileFmhaConfig, FmhaPipeline
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
from ckgen_emulator.unit_run import run_call

pytestmark = [pytest.mark.amd, pytest.mark.long]

PIPELINE, WARP_TILE = FmhaPipeline.QR_PAGEDKV, Tile(32, 32, 16)
CONFIG = CkTileFmhaConfig(
    PIPELINE, 128, 128, 32, 128, 32, 128, (4, 1, 1), WARP_TILE, pad_hdim_q=False, pad_hdim_v=False
)
SIGNATURE = parse_canonical("fmha_bf16_varlen_masked_blocktable")
PLAIN = FmhaProblem((130,), (300,), hdim_q=128, hdim_v=128, page_size=128)


@cache
def kernel() -> FmhaKernel:
    """Of the CI kernel set, so that CI compiles it once."""
    amd_toolchain()
    result, found = build_kernel(make_instance(SIGNATURE, CONFIG, ("gfx942",)), "gfx942")
    assert not [one for one in result.findings if one.severity.value == "error"]
    return found


@pytest.mark.parametrize("problem", cases(SIGNATURE, CONFIG), ids=str)
def test_o_is_within_its_bounds_and_nothing_else_is_read(problem: FmhaProblem) -> None:
    """Shuffled pages, NaN where nobody has rows, entries that name no page, empty sequences, windows, shared heads.

    Caches beyond 2 GiB, in memory of which the rest is never touched.
    """
    both = ((0, Data.RANDOM), (3, Data.SMALL_INTEGERS))
    for seed, data in both if len(problem.lengths_q) == 1 else both[1:]:
        outcome = run_fmha(kernel(), replace(problem, data=data), Options(seed=seed))
        assert outcome.right and not outcome.findings, (outcome.compared, outcome.findings)


def test_the_judge_sees_an_exchanged_page() -> None:
    problem = replace(PLAIN, lengths_k=(256,))
    data = fmha_data(SIGNATURE, problem)
    table = data.args["block_table"]
    call = prepare(kernel().library, data.shape, data.args)
    table[0, :2] = table[0, 1::-1]
    outcome = run_call("fmha", "gfx942", kernel().code_object, call, "", data.inputs, data.outputs, Options())
    assert not outcome.right and not outcome.findings


@pytest.mark.parametrize(
    ("change", "args", "words"),
    [
        ({"page_size": 64}, {}, "pages of 64 rows are no whole steps of 128 keys"),
        ({}, {"block_table": None}, "block_table or seqlen_k is null"),
        ({}, {"seqlen_q": np.zeros(1, np.int32)}, "lengths of Q from seqstart_q alone"),
        ({"hdim_q": 120}, {}, "head dims of 120 and 128"),
    ],
)
def test_what_the_kernel_cannot_do_is_refused(change: dict[str, int], args: dict[str, object], words: str) -> None:
    data = fmha_data(SIGNATURE, PLAIN)
    with pytest.raises(UsageError, match=words):
        prepare(kernel().library, replace(data.shape, **change), {**data.args, **args})
