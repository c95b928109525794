"""Which problem a kernel of the tables runs, and how its result is kept."""

from __future__ import annotations

from pathlib import Path

from ckgen import paths
from ckgen.build.device_code import variants_of
from ckgen.build.journal import CheckedRun, Journal
from ckgen.build.named import named_kernels
from ckgen.families.gemm.problem_rules import check, supports
from ckgen.plan.options import PlanOptions
from ckgen.specs.archs import load_archs
from ckgen_emulator.gemm.check import small_problem

MOST_PRODUCTS = 2**29


def test_every_kernel_that_can_be_built_has_a_small_problem_of_its_rows_variants() -> None:
    options = PlanOptions(targets=None, tuning=(paths.tuning_dir() / "aiter",))
    without = []
    for kernel in named_kernels(options, load_archs()):
        problem = small_problem(kernel)
        if problem is None:
            without.append(kernel.name)
            continue
        instance, shape = kernel.instance, problem.shape
        assert check(instance.signature, shape) is None
        assert supports(instance.constraints, shape, problem.k_batch) is None
        assert set(variants_of(instance, [problem.use])) <= set(variants_of(instance, kernel.uses))
        assert max(shape.batch, 1) * shape.m * shape.n * shape.k <= MOST_PRODUCTS, kernel.name
    assert without == []


def test_a_run_comes_back_from_the_journal(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    run = CheckedRun("a8w8", "ck", "a", "gfx942", "gemm_a", True, (48, 64, 256, 1), 2, 10, 0.5, {"hazard": 1}, ("no",))
    journal.append(run)
    journal.append(CheckedRun("a8w8", "ck", "b", "gfx942", "gemm_b", False, (1, 2, 3, 4), 1, 0, 0.0, {}, ()))
    assert journal.runs()["a8w8", "ck", "a", "gfx942"] == run
    assert [place[2] for place in journal.runs()] == ["a", "b"]
    assert journal.read() == {} and journal.hosts() == {}
