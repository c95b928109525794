"""The order of additions of GPU kernels, executed: a row among others, two parts onto zero, and what differs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from emulate_support import context, runtime

from ckgen.build.cache import default_cache
from ckgen.cli.option_values import tuning_or_shipped
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.specs.archs import load_archs
from ckgen_emulator.apart import python_path
from ckgen_emulator.choose import Place, choose_kernel
from ckgen_emulator.core_library import core_library
from ckgen_emulator.gemm.build import build_kernels
from ckgen_emulator.gemm.drive import RunOptions, table_file, worker_environment
from ckgen_emulator.gemm.job import Job
from ckgen_emulator.gemm.kernel import DEVICE_LIBRARY, LIBRARY, units_of
from ckgen_emulator.gemm.problem import GemmProblem

pytestmark = [pytest.mark.amd, pytest.mark.cpp, pytest.mark.slow]

TESTS = Path(__file__).parents[1]


def rows_of(name: str, arch: str, problems: list[tuple[GemmProblem, int]], folder: Path, seed: int = 0) -> list[str]:
    """Row 0 of C of each problem, in which it stands at a place, in a process with one schedule."""
    archs, built_with = load_archs(), context()
    target = Target(arch, archs[arch].default_cu_num)
    kernel = choose_kernel(name, target, Place(tuning_or_shipped(())), archs, default_cache())
    (built,) = build_kernels([units_of(kernel, [problem.use for problem, _ in problems])], built_with)
    assert built.library is not None, built.failure_text
    libraries, instance = runtime(folder), kernel.instance
    job = Job(
        str(libraries.dispatcher), str(libraries.hip), str(built.library), LIBRARY, DEVICE_LIBRARY, instance.name,
        instance.signature.canonical(), str(target), str(folder / "report"), str(folder / "answers"),
        tuple(problem for problem, _ in problems),
    )  # fmt: skip
    request = folder / "request.json"
    request.write_text(json.dumps({"job": job.to_json(), "places": [place for _, place in problems]}))
    table = table_file(built_with.toolchain, arch, folder)
    told = worker_environment(libraries.hip, core_library(), table, target, job.report, RunOptions(checked=False), seed)
    environment = {**os.environ, **told, "PYTHONPATH": f"{python_path()}{os.pathsep}{TESTS}"}
    command = [sys.executable, str(Path(__file__).with_name("order_worker.py")), str(request)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    rows: list[str] = json.loads(done.stdout)
    return rows


BLOCK = (
    "gemm_fp8_ocp_bf16_rcr_blockscale_ck_1x128x128_"
    "256x64x64x128_16x16_32x32_1x1_8x32x1_8x32x1_1x32x1x8_8_1x1_intrawave_v3"
)
DENSE = "gemm_bf16_ccr_ck_tile_compv3_intrawave_cshuffle_pad111_16x64x64_1x4x1_16x16x16"
"""Kernels that test_emulate.py compiles too; M of DENSE is a multiple of 4."""


@pytest.mark.parametrize(
    ("name", "arch", "rows"),
    [
        (BLOCK, "gfx950", ((1, 0), (2, 1), (17, 8), (33, 32))),
        (DENSE, "gfx942", ((4, 0), (8, 3), (20, 8), (36, 35))),
    ],
    ids=["blockscale", "dense"],
)
def test_a_row_is_the_same_bytes_among_others(
    name: str, arch: str, rows: tuple[tuple[int, int], ...], tmp_path: Path
) -> None:
    problems = [(GemmProblem(Shape(0, m, 64, 512)), place) for m, place in rows]
    assert len(set(rows_of(name, arch, problems, tmp_path))) == 1


def test_two_parts_onto_zero_have_one_sum_and_three_have_not(tmp_path: Path) -> None:
    """Seeds are orders in which workgroups finish; each part is rounded to bf16 and added to C."""
    problems = [(GemmProblem(Shape(0, 16, 64, 768), k_batch), 3) for k_batch in (1, 2, 3)]
    runs = [rows_of(DENSE, "gfx942", problems, tmp_path, seed) for seed in (0, 1, 3)]
    whole, two, three = (set(rows) for rows in zip(*runs, strict=True))
    assert (len(whole), len(two)) == (1, 1)
    assert len(three) > 1
    assert whole != two  # the data show another grouping of K
