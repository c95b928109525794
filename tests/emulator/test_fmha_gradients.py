"""The C++ dispatcher chooses, plans and runs our gradients of attention, on the emulator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from emulate_support import context, runtime

from ckgen.families.common.storage import Values
from ckgen.families.fmha.backward_config import HipBackwardConfig
from ckgen.families.fmha.backward_operands import BackwardOperands, make_backward_operands
from ckgen.families.fmha.operands import Lengths
from ckgen.families.fmha.reference_backward import Gradients, expect_backward
from ckgen.families.fmha.signature import FmhaSignature, parse_canonical
from ckgen.families.registry import make_instance
from ckgen_emulator.fmha.backward import backward_cases, backward_data, drawn_backward
from ckgen_emulator.fmha.dispatched import dispatched
from ckgen_emulator.fmha.problem import FmhaProblem, launched_shape
from ckgen_emulator.gemm.problem import Data
from ckgen_emulator.production.model import Output, compare

CONFIG = HipBackwardConfig(64, 64, 64)
CAPPED = parse_canonical("fmha_bf16_bwd_varlen_masked_softcap_sink_randval")
BIASED = parse_canonical("fmha_fp16_bwd_masked_elementwise_sink_dropout")
WIDE = parse_canonical("fmha_fp32_bwd_varlen_masked_elementwise")
STAGES = {
    CAPPED: ["delta", "dk_dv", "dq", "dsink"],
    BIASED: ["delta", "dk_dv", "dq", "dbias", "dsink"],
    WIDE: ["delta", "dk_dv", "dq", "dbias"],
}
SMALL = FmhaProblem((21, 13), (30, 26), 4, 2, 24, 16, window_left=9, sink_tokens=2, seed=4, data=Data.RANDOM)
SHARED = replace(SMALL, lengths_q=(21, 21), lengths_k=(30, 30), shared_bias=(True, False, True))


@pytest.mark.amd
@pytest.mark.cpp
@pytest.mark.parametrize(
    ("signature", "arch", "some"),
    [
        (CAPPED, "gfx942", slice(1, None, 2)),
        pytest.param(CAPPED, "gfx90a", slice(None), marks=pytest.mark.long),
        pytest.param(BIASED, "gfx942", slice(None), marks=pytest.mark.long),
        pytest.param(BIASED, "gfx950", slice(None), marks=pytest.mark.long),
        pytest.param(WIDE, "gfx942", slice(None), marks=pytest.mark.long),
    ],
)
def test_gradients_are_the_same_bits_within_their_bounds_in_any_order_of_waves(
    signature: FmhaSignature, arch: str, some: slice, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Under all checks, which find nothing; what does not count stays as it was."""
    instance = make_instance(signature, CONFIG, (arch,))
    cases = backward_cases(signature, CONFIG)[some]
    where = runtime(tmp_path_factory.getbasetemp())
    orders = [dispatched(instance, arch, cases, where, context(), seed=seed) for seed in (0, 3)]
    for problem, found, again in zip(cases, *orders, strict=True):
        assert found.instance == instance.name and found.right and not found.findings, problem
        assert ("dsink" in found.wrong) == (signature.traits.sink and not problem.qkv_only), problem
        assert [launch["kernel"].split("_", 2)[2] for launch in found.launches] == STAGES[signature], problem
        assert again.right and not again.findings and again.bits == found.bits, problem


def outputs(signature: FmhaSignature, problem: FmhaProblem) -> dict[str, Output]:
    return {one.name: one for one in backward_data(signature, problem)[3]}


def operands(signature: FmhaSignature, problem: FmhaProblem) -> BackwardOperands:
    shape = launched_shape(signature, problem)
    lengths = Lengths(problem.lengths_q, problem.lengths_k)
    return make_backward_operands(signature, shape, problem.seed, lengths)


def planted() -> Iterator[tuple[str, Gradients, tuple[str, ...]]]:
    """Gradients that are wrong as kernels may be: what is wrong, and of which it must be told."""
    given = operands(CAPPED, SMALL)
    forward = given.forward
    assert forward.dropout is not None and forward.dropout.rand_val is not None and forward.sink is not None
    every = ("dq", "dk", "dv", "dsink")

    def of(**changes: Any) -> Gradients:
        return expect_backward(replace(given, forward=replace(forward, **changes)))

    yield "scores without their cap", of(softcap=1e6), ("dq", "dk", "dv")
    yield "a cap that is a tenth too high", of(softcap=1.1 * forward.softcap), ("dq", "dk", "dv")
    for what, drawn in (
        ("the bytes of the next row", np.roll(forward.dropout.rand_val, 1, axis=2)),
        ("the bytes of the next key", np.roll(forward.dropout.rand_val, 1, axis=3)),
        ("the bytes of another head", forward.dropout.rand_val[:, ::-1]),
    ):
        yield what, of(dropout=replace(forward.dropout, rand_val=drawn)), ("dq", "dk", "dv")
    yield "what is dropped, kept", of(dropout=None), ("dq", "dk", "dv")
    yield "another head's sink", of(sink=forward.sink[::-1].copy()), ("dsink",)
    yield "no sink token", of(shape=replace(forward.shape, sink_tokens=1)), ("dq", "dk", "dv")
    yield "delta of other rows", expect_backward(replace(given, o=np.roll(given.o, 1, axis=1))), ("dq", "dk", "dsink")
    dout = given.dout.copy()
    dout[1] = 0.0
    yield "a sequence that is left out", expect_backward(replace(given, dout=dout)), every


def test_planted_errors_of_caps_sinks_and_given_bytes_are_told() -> None:
    right = expect_backward(operands(CAPPED, SMALL))
    for what, wrong, told in planted():
        for name in told:
            expected, found = getattr(right, name), getattr(wrong, name)
            assert (np.abs(found.c - expected.c) > expected.bound).any(), (what, name)


def sums(signature: FmhaSignature, problem: FmhaProblem) -> Iterator[tuple[str, Values]]:
    """A shared dbias that is wrong as sums may be."""
    whole = np.asarray(outputs(signature, problem)["dbias"].expected, np.float64)
    heads, keys = problem.heads_q, problem.lengths_k[0]
    yield "a row of zeros", np.concatenate([np.zeros(keys), whole[keys:]])
    yield "another head's", whole.reshape(heads, keys)[::-1].reshape(-1)
    yield "half of the sequences", whole / 2
    yield "the scale of the scores", whole * problem.hdim_q**-0.5


def test_planted_errors_of_a_shared_dbias_are_told() -> None:
    given = outputs(BIASED, SHARED)["dbias"]
    assert given.expected.size == SHARED.heads_q * SHARED.lengths_k[0]
    assert compare(replace(given, actual=given.expected.astype(given.actual.dtype))).wrong == 0
    for what, values in sums(BIASED, SHARED):
        assert compare(replace(given, actual=values.astype(given.actual.dtype))).wrong, what


def test_problems_have_what_is_shared_and_what_is_not() -> None:
    cases = backward_cases(BIASED, CONFIG)
    assert {one.shared_bias for one in cases} >= {(True, True, True), (False, True, False), (True, False, False)}
    assert {one.sink_tokens for one in cases} == {0, 3, 65}
    assert (
        {one.qkv_only for one in cases}
        == {one.qkv_only for one in backward_cases(CAPPED, CONFIG)[1::2]}
        == {False, True}
    )
    drawn = [drawn_backward(WIDE, CONFIG, seed) for seed in range(60)]
    assert len(set(map(str, drawn))) == 60
    assert all(one.shared_bias[0] == one.shared_bias[2] for one in drawn) and any(one.shared_bias[0] for one in drawn)
    assert any(one.hdim_q % 8 for one in drawn) and any(one.sink_tokens for one in drawn)
