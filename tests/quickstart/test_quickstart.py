from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from ckgen import paths
from ckgen.families.gemm.reference_data import make_operands
from ckgen.families.gemm.signature import parse_signature
from ckgen.model.dtype import Fp8Flavour
from ckgen.model.tuned_row import Shape
from ckgen.quickstart.problems import gpu_targets, problems_of
from ckgen.quickstart.verify import Buffers
from ckgen.specs.native import own_cpu
from cpp_build import ROOT, objects_of_a_checkout

pytestmark = [pytest.mark.cpp, pytest.mark.slow]

FOLDER = ROOT / "ckgen_quickstart"  # where the README's first command builds


def quickstart(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(paths.package_dir().parent)} | objects_of_a_checkout(ROOT)
    command = [sys.executable, "-m", "ckgen", "quickstart", "--dir", str(FOLDER), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


@pytest.fixture(scope="module")
def built() -> subprocess.CompletedProcess[str]:
    return quickstart("--json")


def test_everything_is_selected_run_and_right(built: subprocess.CompletedProcess[str]) -> None:
    done = built
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # progress is for terminals
    document = json.loads(done.stdout)
    results = document["results"]
    assert document["wrong"] == 0 and all(result["ok"] for result in results)
    targets = {result["target"] for result in results}
    assert targets == {*map(str, gpu_targets()), str(own_cpu())}
    tiers = {result["tier"] for result in results}
    assert {"exact", "near", "heuristic", "predicted", "far", "other_cu", "default", "unsupported"} <= tiers
    for result in results:
        refused = result["tier"] == "unsupported"
        assert (result["instance"] is None) == refused == bool(result["reason"]) == (result["max_error"] is None)
    assert "near" in document["explain"] and "✔" in document["explain"]


@pytest.mark.usefixtures("built")
def test_again_it_builds_nothing_and_prints_whole_names() -> None:
    library = FOLDER / "build" / "libckgen_quickstart_runtime.so"
    before = library.stat().st_mtime_ns
    done = quickstart()
    assert library.stat().st_mtime_ns == before
    lines = done.stdout.splitlines()
    assert any(line.rstrip().endswith("_intrawave_v3") for line in lines) and not any("…" in x for x in lines[:50])
    assert "what next" in done.stdout and " 0 wrong" in done.stdout


@pytest.mark.parametrize("target", [*gpu_targets(), own_cpu()], ids=str)
def test_each_target_has_about_a_dozen_problems_with_an_illegal_one(target: object) -> None:
    problems = problems_of(target)  # type: ignore[arg-type]
    assert 10 <= len(problems) <= 15
    assert sum("illegal" in problem.what for problem in problems) == 1


def test_buffers_hold_what_the_layout_says() -> None:
    signature = parse_signature("bf16:crr", Fp8Flavour.OCP)
    operands = make_operands(signature, Shape(0, 3, 4, 5), seed=0)
    buffers = Buffers.of(operands, Shape(0, 3, 4, 5))
    assert (buffers.args.lda, buffers.args.ldb, buffers.args.ldc) == (3, 4, 4)
    assert buffers.c.shape == (1, 3, 4)
