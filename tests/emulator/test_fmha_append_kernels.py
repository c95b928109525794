"""Our kernel that appends to a cache, launched as its host unit says, executed under all checks."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from amd_support import amd_toolchain
from ckgen.families.fmha.append_config import CkTileAppendConfig, HipAppendConfig
from ckgen.families.fmha.signature import parse_canonical
from ckgen.families.registry import make_instance
from ckgen.model.errors import UsageError
from ckgen_emulator.bindings import Options
from ckgen_emulator.fmha.append import AppendProblem, append_cases, append_data, run_append
from ckgen_emulator.fmha.build import build_kernel
from ckgen_emulator.fmha.call import prepare
from ckgen_emulator.fmha.run import FmhaKernel
from commands import as_json, run

CONFIG = HipAppendConfig(8)
SIGNATURE = parse_canonical("fmha_bf16_append_blocktable_rope_half")
PLAIN = AppendProblem((5, 20), (3, 3), 4, 2, 64, 64, page_size=16, rotary_dim=32)


@cache
def kernel() -> FmhaKernel:
    amd_toolchain()
    result, found = build_kernel(make_instance(SIGNATURE, CONFIG, ("gfx942",)), "gfx942")
    assert not result.findings
    return found


@pytest.mark.amd
@pytest.mark.slow
@pytest.mark.parametrize("problem", append_cases(SIGNATURE, CONFIG), ids=str)
def test_new_rows_and_o_are_within_their_bounds_and_nothing_else_is_written(problem: AppendProblem) -> None:
    outcome = run_append(kernel(), problem, Options(seed=1))
    assert outcome.right and outcome.findings == (), (outcome.compared, outcome.findings)


@pytest.mark.amd
@pytest.mark.slow
def test_the_command_runs_it() -> None:
    kernel()
    words = ("--kernel", kernel().name, "--target", "gfx942", "heads_q=4", "heads_k=2", "hdim_q=64", "page_size=16")
    document = as_json("emulate", "fmha", *words, "--lengths", "5+3,20+3", "rotary_dim=32")
    assert document["ok"] and document["problem"] == str(PLAIN), document
    assert [(one["name"], one["wrong"]) for one in document["outputs"]] == [("k", 0), ("v", 0), ("o", 0)]
    done = run("emulate", "fmha", *words, "--lengths", "5+3,20+3", "rotary_dim=33")
    assert done.exit_code == 1 and "(rule fmha.shape.rotary-dim)" in done.stdout, done.output


@pytest.mark.amd
@pytest.mark.slow
def test_a_call_without_what_the_kernel_reads_is_refused() -> None:
    shape, args, _, _ = append_data(SIGNATURE, PLAIN)
    for name in ("q", "o", "k_cache", "v_new", "rotary_sin", "seqlen_k", "block_table"):
        with pytest.raises(UsageError, match=f"{name} is null"):
            prepare(kernel().library, shape, {key: value for key, value in args.items() if key != name})
    call = prepare(kernel().library, shape, args)
    assert call.grid == (2, 2, 1) and call.block == (256, 1, 1)  # 2 + 2 + 4 heads


def test_expected_caches_hold_new_rows_alone() -> None:
    shape, args, inputs, outputs = append_data(SIGNATURE, PLAIN)
    k = next(one for one in outputs if one.name == "k")
    is_new = np.isfinite(np.asarray(k.expected))
    assert is_new.sum() == 2 * 3 * 2 * 64 and (np.asarray(k.bound)[~is_new] == 0).all()
    assert shape.pages * 16 * 2 * 64 == k.expected.size
    assert {id(one) for one in inputs} == {
        id(args[name]) for name in ("k_new", "v_new", "q", "rotary_cos", "rotary_sin", "block_table", "seqlen_k")
    }


def test_each_kind_of_kernel_has_problems_that_it_takes() -> None:
    tile = append_cases(SIGNATURE, CkTileAppendConfig(64, 64, 64, False, True, False))
    assert all(one.in_place or one.rows_q == 0 for one in tile) and {one.page_size for one in tile} == {64}
    assert {one.rows_q % 64 for one in tile} == {0}
    varlen = append_cases(parse_canonical("fmha_bf16_append_varlen_pagelist"), CONFIG)
    assert any(len(set(one.added)) > 1 and 0 in one.added for one in varlen)
