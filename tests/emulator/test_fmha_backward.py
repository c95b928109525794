"""The C++ dispatcher chooses, plans and runs ck_tile's gradients of attention, on the emulator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from emulate_support import context, runtime

from ckgen.families.fmha.backward_config import CkTileBackwardConfig
from ckgen.families.fmha.backward_operands import make_backward_operands
from ckgen.families.fmha.enums import FmhaCorner
from ckgen.families.fmha.operands import Lengths
from ckgen.families.fmha.reference_backward import expect_backward
from ckgen.families.fmha.signature import FmhaSignature, parse_canonical
from ckgen.families.registry import make_instance
from ckgen.model.errors import UsageError
from ckgen_emulator.bindings import Options
from ckgen_emulator.fmha.backward import backward_cases, backward_data, drawn_backward
from ckgen_emulator.fmha.dispatched import dispatched
from ckgen_emulator.fmha.emulate import emulate_fmha
from ckgen_emulator.fmha.problem import FmhaProblem, launched_shape
from ckgen_emulator.gemm.problem import Data
from ckgen_emulator.production.model import Output, Values, compare

SIGNATURE = parse_canonical("fmha_bf16_bwd_masked")
CONFIG = CkTileBackwardConfig(0, 32, 128, 64, 32, 2, grouped=True)
INSTANCE = make_instance(SIGNATURE, CONFIG, ("gfx942",))
BIASED = parse_canonical("fmha_bf16_bwd_masked_elementwise")
STAGES = ["dot_do_o", "dq_dk_dv", "sum_heads", "convert_dq"]
GROUPED = FmhaProblem((37, 37), (45, 45), 4, 2, 32, 32, FmhaCorner.TOP_LEFT, 7, 3, seed=4, data=Data.RANDOM)


@pytest.mark.amd
@pytest.mark.cpp
@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 3])
def test_gradients_are_within_their_bounds_in_any_order_of_waves(
    seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Under all checks; all four waves write a row's lse and delta to one place in LDS, each the same number."""
    cases = backward_cases(SIGNATURE, CONFIG)[:: 1 if seed == 0 else 4]
    for problem, found in zip(
        cases, dispatched(INSTANCE, "gfx942", cases, runtime(tmp_path_factory.getbasetemp()), context(), seed=seed),
        strict=True,
    ):  # fmt: skip
        assert found.instance == INSTANCE.name and found.right and found.findings in ((), ("lds_race",)), problem
        assert [launch["kernel"].split("_", 2)[2] for launch in found.launches] == STAGES, problem


@pytest.mark.amd
@pytest.mark.cpp
@pytest.mark.long
def test_ordered_kernels_give_the_same_bits_in_any_order_of_waves(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Over four tiles of keys, each of whose sums other kernels add to one as they come."""
    signature = parse_canonical("fmha_fp32_bwd")  # not rounded behind the sums
    problem = FmhaProblem((64,), (3 * CONFIG.n0 + 5,), 4, 2, 32, 32, seed=4, data=Data.RANDOM)

    def bits(config: CkTileBackwardConfig) -> set[str]:
        found = set()
        for seed in range(4):
            instance, where = make_instance(signature, config, ("gfx942",)), runtime(tmp_path_factory.getbasetemp())
            (one,) = dispatched(instance, "gfx942", (problem,), where, context(), seed=seed)
            assert one.right
            found.add(one.bits)
        return found

    assert len(bits(replace(CONFIG, ordered=True))) == 1
    assert len(bits(CONFIG)) > 1


@pytest.mark.amd
@pytest.mark.cpp
@pytest.mark.long
def test_a_bias_has_its_gradient_where_tiles_are_left_out_too(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Of what a mask hides dbias is 0: ck_tile visits no tile without a score that is seen."""
    instance = make_instance(BIASED, CONFIG, ("gfx942",))
    cases = backward_cases(BIASED, CONFIG)
    where = runtime(tmp_path_factory.getbasetemp())
    for problem, found in zip(cases, dispatched(instance, "gfx942", cases, where, context(), seed=1), strict=True):
        assert found.right and found.findings in ((), ("lds_race",)) and "dbias" in found.wrong, problem


def outputs(problem: FmhaProblem, signature: FmhaSignature = SIGNATURE) -> dict[str, Output]:
    return {one.name: one for one in backward_data(signature, problem)[3]}


def planted(problem: FmhaProblem) -> Iterator[tuple[str, str, Values]]:
    """Results that are wrong as kernels may be: what is wrong, of which gradient, and the gradient."""
    right = {name: np.asarray(one.expected, np.float64) for name, one in outputs(problem).items()}
    for name, values in right.items():
        tile = values.copy()
        tile[: 16 * problem.hdim_q] = 0.0
        yield "a dropped tile", name, tile
    operands = make_backward_operands(
        SIGNATURE, launched_shape(SIGNATURE, problem), problem.seed, Lengths(problem.lengths_q, problem.lengths_k)
    )
    dout = operands.dout.copy()
    dout[:, :, 1] = 0.0  # then what its head adds is 0
    missing = expect_backward(replace(operands, dout=dout))
    yield "a query head that is not summed", "dk", missing.dk.c.reshape(-1)
    yield "a query head that is not summed", "dv", missing.dv.c.reshape(-1)
    off = outputs(replace(problem, window_right=problem.window_right + 1))
    for name, one in off.items():
        yield "a mask off by one", name, np.asarray(one.expected, np.float64)
    shifted = outputs(replace(problem, corner=FmhaCorner.BOTTOM_RIGHT))
    for name, one in shifted.items():
        yield "a mask from the other corner", name, np.asarray(one.expected, np.float64)
    for name in ("dq", "dk"):
        yield "dS without its scale", name, right[name] * np.sqrt(problem.hdim_q)


def test_planted_errors_are_told() -> None:
    given = outputs(GROUPED)
    for output in given.values():
        assert compare(replace(output, actual=output.expected.astype(output.actual.dtype))).wrong == 0
    found = [(what, name, values) for what, name, values in planted(GROUPED)]
    assert len(found) == 3 + 2 + 3 + 3 + 2
    for what, name, values in found:
        wrong = replace(given[name], actual=values.astype(given[name].actual.dtype))
        assert compare(wrong).wrong, (what, name)


def test_planted_errors_of_dbias_are_told() -> None:
    """What nobody sees is not written; a tile is dropped; dS has the scale of scores; a mask is off by one."""
    given = outputs(GROUPED, BIASED)["dbias"]
    right = np.asarray(given.expected, np.float64)
    counted = np.isfinite(right)
    hidden, dropped = right.copy(), np.where(counted, right, 0.0)
    hidden[np.flatnonzero(right == 0.0)[0]] = np.nan
    dropped[np.flatnonzero(right > 0.0)[:16]] = 0.0
    off = outputs(replace(GROUPED, window_left=GROUPED.window_left + 1), BIASED)["dbias"].expected
    assert compare(replace(given, actual=given.expected.astype(given.actual.dtype))).wrong == 0
    for wrong in (hidden, dropped, right / np.sqrt(GROUPED.hdim_q), off):
        assert compare(replace(given, actual=wrong.astype(given.actual.dtype))).wrong


def test_one_launch_of_them_is_refused() -> None:
    with pytest.raises(UsageError, match="a plan of several launches"):
        emulate_fmha(INSTANCE, "gfx942", GROUPED, Options(), progress=cast(Any, None))


def test_drawn_problems_are_those_that_the_kernel_takes() -> None:
    alone = CkTileBackwardConfig(8, 32, 128, 32, 64, 1)
    drawn = [drawn_backward(parse_canonical("fmha_bf16_bwd_varlen_masked"), alone, seed) for seed in range(60)]
    assert len(set(map(str, drawn))) == 60
    assert all(one.heads_q == one.heads_k and one.hdim_q % 8 == one.hdim_v % 8 == 0 for one in drawn)
    assert any(0 in one.lengths_q for one in drawn) and any(one.spare for one in drawn)
    assert any(one.heads_q > one.heads_k for one in (drawn_backward(SIGNATURE, CONFIG, seed) for seed in range(9)))
