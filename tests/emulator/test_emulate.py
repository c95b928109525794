"""GEMMs through the dispatcher on the emulator: kernels of the recorded set, against the definition of a GEMM."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from emulate_support import context, runtime

from ckgen.build.cache import default_cache
from ckgen.cli.option_values import tuning_or_shipped
from ckgen.families.common.comparison import Comparison, Expected, Wrong, compare
from ckgen.families.common.sensitivity import Sensitivity
from ckgen.families.common.storage import encode
from ckgen.families.gemm.reference import expect, scaled_operands, shuffle_mx_scale
from ckgen.families.gemm.signature import parse_canonical
from ckgen.model.dtype import DType
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.specs.archs import load_archs
from ckgen_emulator.choose import Place, choose_kernel
from ckgen_emulator.gemm.drive import Request, RunOptions, emulate
from ckgen_emulator.gemm.job import Answer, Job
from ckgen_emulator.gemm.problem import Data, GemmProblem, expected_of, operands_of
from ckgen_emulator.gemm.result import GemmResult
from ckgen_emulator.gemm.runtime import Runtime

SIGNATURES = [
    "gemm_fp16_rcr",
    "gemm_bf16_rcr_batched",
    "gemm_int8_bf16_rcr_rowwise",
    "gemm_fp8_fnuz_bf16_rcr_blockscale",
    "gemm_fp4_bf16_rcr_mx_preshuffle",
    "gemm_bf16_rcr_bias",
]
EXACT = {DType.FP16: 2048, DType.BF16: 256}


@pytest.mark.parametrize("name", SIGNATURES)
def test_sums_of_small_integers_are_exact_in_any_order(name: str) -> None:
    signature = parse_canonical(name)
    problem = GemmProblem(Shape(2 if signature.batched else 0, 48, 64, 1024), seed=3)
    operands = operands_of(signature, problem)
    a, b = scaled_operands(operands)
    sums = np.abs(a) @ np.abs(b) + (0 if operands.bias is None else np.abs(operands.bias))
    assert sums.max() <= EXACT[signature.c] and sums.max() > EXACT[signature.c] / 3
    assert np.array_equal(np.round(a), a) and a.any(axis=-2).mean() > 0.9 and b.any(axis=-1).all()
    expected = expected_of(operands, problem)
    assert expected.bound.max() == 0 and compare(expected, encode(expected.c, signature.c)).ok


def test_a_result_is_compared_element_by_element() -> None:
    expected = Expected(np.array([[[1.0, 2.0], [3.0, 4.0]]]), np.array([[[0.5, 0.5], [0.5, np.inf]]]))
    near = compare(expected, np.array([[[1.25, 2.0], [3.0, 99.0]]], np.float32))
    assert expected.sensitivity == Sensitivity(0.375, np.inf)
    assert near == Comparison(0.25, 0.5, 0.5, 0, None) and near.ok
    far = compare(expected, np.array([[[1.0, 2.0], [4.0, 4.0]]], np.float32))
    assert far == Comparison(1.0, 0.5, 2.0, 1, Wrong(0, 1, 0, 3.0, 4.0)) and not far.ok
    unwritten = compare(expected, np.array([[[1.0, np.nan], [3.0, 4.0]]], np.float32))
    assert unwritten.excess == np.inf and not unwritten.ok
    exact = Expected(expected.c, np.zeros((1, 2, 2)))
    assert not compare(exact, np.array([[[1.0, 2.0], [3.0, 4.0000005]]], np.float32)).ok


def test_shuffled_scales_lie_as_documented() -> None:
    rows, groups = 70, 12
    scales = np.arange(2 * rows * groups).reshape(2, rows, groups) + 1
    found = shuffle_mx_scale(scales).reshape(2, 3, 2, 4, 16, 2, 2)
    for batch, row, group in np.ndindex(2, rows, groups):
        place = (batch, row // 32, group // 8, group % 4, row % 16, group % 8 // 4, row % 32 // 16)
        assert found[place] == scales[batch, row, group]
    assert np.count_nonzero(found) == scales.size


def test_work_and_answers_survive_json() -> None:
    problem = GemmProblem(Shape(0, 1, 2, 3), 2, 5, Data.RANDOM)
    work = Job("d", "h", "k", "l", "m", "i", "s", "gfx942:304", "r", "a", (problem,))
    assert Job.from_json(json.loads(json.dumps(work.to_json()))) == work
    launch = {"kernel": "k", "instructions": 5, "findings": [{"rule": "hazard", "count": 2}]}
    wrong = Comparison(np.inf, 0.0, np.inf, 3, Wrong(0, 1, 2, 3.0, float("-inf")))
    answer = Answer(wrong, None, Sensitivity(0.25, np.inf), ("host twin: no",), 0.25, (launch,))
    assert Answer.from_json(json.loads(json.dumps(answer.to_json()))) == answer
    result = GemmResult("k", "", "gfx942:304", problem, answer, answer.trouble)
    document = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert not document["ok"] and document["excess"] is None and document["wrong"]["first"]["actual"] is None
    assert document["sensitivity"] == {"median": 0.25, "worst": None}
    assert document["findings"] == [{"symbol": "k", "rule": "hazard", "count": 2}] and document["instructions"] == 5


def test_the_bound_is_that_of_the_reference() -> None:
    signature = parse_canonical("gemm_fp16_rcr_epi_silu")
    for data in Data:
        problem = GemmProblem(Shape(0, 4, 5, 64), 1, 1, data)
        operands = operands_of(signature, problem)
        assert np.array_equal(expected_of(operands, problem).bound, expect(operands).bound)


INT8 = "gemm_int8_bf16_rcr_rowwise_ck_256x64x64x128_32x32_1x1_8x32x1_8x32x1_1x32x1x8_8x8x1_1x1_intrawave_v3"
BLOCK = (
    "gemm_fp8_ocp_bf16_rcr_blockscale_ck_1x128x128_"
    "256x64x64x128_16x16_32x32_1x1_8x32x1_8x32x1_1x32x1x8_8_1x1_intrawave_v3"
)
FLATMM = (
    "gemm_fp8_ocp_bf16_rcr_rowwise_preshuffle_ck_tile_flatmm_default_cshuffle_pad000_48x64x256_1x4x1_16x16x128_bpc4"
)
"""Three tiles of a wave along M, which the C-shuffle would take in pairs."""
DENSE = "gemm_bf16_ccr_ck_tile_compv3_intrawave_cshuffle_pad111_16x64x64_1x4x1_16x16x16"


CRASH = "#include <cstdlib>\n__attribute__((constructor)) static void crash() { std::abort(); }\n"
"""A HIP runtime that ends the process when it is loaded."""


def request(name: str, arch: str, *problems: GemmProblem) -> Request:
    """Problems of a kernel on the arch's usual device."""
    archs = load_archs()
    target = Target(arch, archs[arch].default_cu_num)
    kernel = choose_kernel(name, target, Place(tuning_or_shipped(())), archs, default_cache())
    return Request(kernel, target.cu_num, problems)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("emulate")


@pytest.mark.amd
@pytest.mark.cpp
@pytest.mark.slow
def test_kernels_give_what_a_gemm_is(folder: Path) -> None:
    small, adversary = GemmProblem(Shape(0, 67, 192, 384)), GemmProblem(Shape(0, 33, 128, 512), 1, 7, Data.RANDOM)
    asked = (
        request(INT8, "gfx942", small, adversary),
        request(BLOCK, "gfx950", small, adversary),
        request(
            DENSE, "gfx942", GemmProblem(Shape(0, 20, 72, 136)), GemmProblem(Shape(0, 4, 64, 72), 1, 3, Data.RANDOM)
        ),
    )
    heard: list[GemmResult] = []
    results = emulate(asked, runtime(folder), context(), RunOptions(processes=2), heard.append)
    assert [(result.problem, result.trouble) for result in results] == [
        (problem, ()) for one in asked for problem in one.problems
    ]
    assert [result.to_json() for result in results if not result.ok] == []
    assert sorted(map(id, heard)) == sorted(map(id, results))
    assert all(result.gpu is not None and result.instructions > 100 for result in results)
    stats = results[0].stats()
    assert stats["by_class"]["matrix"] > 0 and stats["global_written"] == 67 * 192 * 2 and stats["occupancy"] >= 1


@pytest.mark.amd
@pytest.mark.cpp
@pytest.mark.slow
def test_splits_of_k_are_summed(folder: Path) -> None:
    shapes = (Shape(0, 36, 128, 512), 2), (Shape(0, 16, 64, 1024), 4)
    asked = request(DENSE, "gfx942", *(GemmProblem(*shape, seed=seed) for shape in shapes for seed in (0, 5)))
    results = emulate([asked], runtime(folder), context(), RunOptions())
    assert [result.to_json() for result in results if not result.ok] == []
    assert all(result.stats()["atomics"] > 0 for result in results)


@pytest.mark.amd
@pytest.mark.cpp
@pytest.mark.long
def test_an_odd_number_of_warp_tiles_is_stored_where_it_belongs(folder: Path) -> None:
    problems = (GemmProblem(Shape(0, 48, 64, 512)), GemmProblem(Shape(0, 65, 128, 512), seed=3))
    results = emulate([request(FLATMM, "gfx950", *problems)], runtime(folder), context(), RunOptions())
    assert [result.to_json() for result in results if not result.ok] == []


@pytest.mark.amd
@pytest.mark.cpp
@pytest.mark.slow
def test_what_a_kernel_refuses_is_said_in_its_words(folder: Path, tmp_path: Path) -> None:
    asked = request(INT8, "gfx942", GemmProblem(Shape(0, 64, 64, 100)), GemmProblem(Shape(0, 64, 64, 384)))
    trace = tmp_path / "trace.txt"
    refused, right = emulate([asked], runtime(folder), context(), RunOptions(trace=trace))
    assert not refused.ok and refused.gpu is None and "K = 100" in refused.trouble[0]
    assert right.ok
    lines = trace.read_text().splitlines()
    assert len(lines) == right.instructions and lines[0].startswith("0,0,0 0 ")


@pytest.mark.amd
@pytest.mark.cpp
@pytest.mark.slow
def test_a_process_that_crashes_takes_no_other_problem_along(folder: Path, tmp_path: Path) -> None:
    source = tmp_path / "crash.cpp"
    source.write_text(CRASH, encoding="utf-8")
    library = tmp_path / "libcrash.so"
    subprocess.run(["g++", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    asked = request(INT8, "gfx942", GemmProblem(Shape(0, 64, 64, 384)), GemmProblem(Shape(0, 64, 64, 512)))
    broken = Runtime(runtime(folder).dispatcher, library)
    results = emulate([asked], broken, context(), RunOptions())
    assert [result.ok for result in results] == [False, False]
    assert all("SIGABRT" in result.trouble[0] for result in results), results[0].trouble
