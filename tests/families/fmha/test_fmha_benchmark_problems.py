from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from ckgen.families.fmha import benchmark_problems as module
from ckgen.families.fmha.benchmark_problems import Phase, benchmark_problems, training_problems
from ckgen.families.fmha.enums import FmhaBias, FmhaCorner, FmhaDropout, FmhaEntry, FmhaKv, FmhaQuant
from ckgen.families.fmha.operands import Lengths, make_operands
from ckgen.families.fmha.reference import expect
from ckgen.model.dtype import DType, Fp8Flavour

MODEL = {"model": "a/b", "dtype": "bf16", "heads": [4, 2], "hdims": [64, 64], "config": {}}


def test_a_dozen_models_and_every_phase() -> None:
    problems = benchmark_problems()
    assert len({problem.model for problem in problems}) >= 12
    assert {problem.phase for problem in problems} == set(Phase) - {Phase.TRAINING}
    assert len(set(problems)) == len(problems)
    traits = [problem.signature.traits for problem in problems]
    assert any(one.bias is FmhaBias.ALIBI for one in traits) and any(one.softcap for one in traits)
    assert any(one.sink for one in traits) and any(one.quant is FmhaQuant.PER_TENSOR for one in traits)
    assert any(one.varlen for one in traits)


def test_training_goes_back_with_every_usual_option() -> None:
    problems = training_problems()
    assert {one.phase for one in problems} == {Phase.TRAINING}
    assert not set(problems) & set(benchmark_problems())
    traits = [one.signature.traits for one in problems]
    assert all(one.entry is FmhaEntry.BACKWARD for one in traits)
    assert any(one.varlen for one in traits) and any(one.dropout is FmhaDropout.PHILOX for one in traits)
    assert any(one.sink for one in traits) and any(one.softcap for one in traits)
    assert any(one.bias is FmhaBias.ALIBI for one in traits) and any(not one.masked for one in traits)
    assert {one.mask.left for one in problems} >= {-1, 127, 4095}


def test_serving_reads_pages_of_every_usual_kind() -> None:
    paged = [problem for problem in benchmark_problems() if problem.signature.traits.is_paged]
    kinds = {(problem.phase, problem.signature.traits.kv, problem.shape.page_size) for problem in paged}
    of_list = product(
        (Phase.DECODE, Phase.PREFILL), ((FmhaKv.BLOCK_TABLE, 16), (FmhaKv.BLOCK_TABLE, 128), (FmhaKv.PAGE_LIST, 1))
    )
    assert kinds == {(phase, *pages) for phase, pages in of_list}
    for phase in (Phase.DECODE, Phase.PREFILL):
        assert any(one.phase is phase and one.signature.b is DType.FP8 for one in paged)
        assert any(one.phase is phase and one.signature.traits.sink and one.mask.left == 127 for one in paged)
    assert all(one.signature.traits.varlen for one in paged if one.phase is Phase.PREFILL)
    assert all(one.shape.pages * one.shape.page_size >= one.shape.batch * one.shape.seqlen_k for one in paged)


ALL = (*benchmark_problems(), *training_problems())


@pytest.mark.parametrize("problem", ALL, ids=lambda problem: f"{problem.model}-{problem.phase}")
def test_every_entry_is_a_legal_problem(problem: module.BenchmarkProblem) -> None:
    shape, traits = problem.shape, problem.signature.traits
    assert shape.heads_q % shape.heads_k == 0 and max(shape.hdim_q, shape.hdim_v) <= 256
    assert {"heads", "hdims"} <= {field for field, _ in problem.config}
    assert (problem.softcap > 0) == traits.softcap
    assert problem.phase is not Phase.DECODE or shape.seqlen_q <= 4
    assert not traits.masked or not problem.mask.over(shape.seqlen_q, shape.seqlen_k).blind_rows()
    assert ("mask" in dict(problem.config)) or problem.mask.left < 0


def test_windows_are_those_of_the_models() -> None:
    windows = {problem.model: problem.mask.left for problem in benchmark_problems() if problem.mask.left >= 0}
    assert windows == {
        "openai/gpt-oss-120b": 127, "mistralai/Mistral-7B-v0.1": 4095, "google/gemma-2-9b": 4095,
        "google/gemma-3-27b-it": 1023,
    }  # fmt: skip
    assert all(problem.shape.corner is FmhaCorner.BOTTOM_RIGHT for problem in benchmark_problems())


def test_small_ones_have_a_reference() -> None:
    for problem in benchmark_problems():
        shape = replace(problem.shape, batch=1, seqlen_q=min(problem.shape.seqlen_q, 3), seqlen_k=5)
        shape = replace(shape, heads_q=shape.heads_q // shape.heads_k, heads_k=1)
        signature = problem.signature.resolved(Fp8Flavour.OCP)
        operands = make_operands(signature, shape, 0, Lengths((shape.seqlen_q,), (5,)))
        assert expect(operands).o.c.any()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"window": 3, "problems": []}, "a/b: unknown window"),
        ({"problems": [{"phase": "decode", "batch": 1, "length": 3}]}, "a/b: unknown length"),
        (
            {"softcap": 3.0, "bias": "alibi", "problems": [{"phase": "decode", "batch": 1, "lengths": [1, 2]}]},
            "a/b: softcap goes without a bias",
        ),
    ],
)
def test_a_bad_entry_is_named(more: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        module._of_model(MODEL | more)
