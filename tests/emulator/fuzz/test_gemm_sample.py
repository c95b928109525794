"""Problems for the emulator: legal ones, at the edges, of every op."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from amd_support import amd_toolchain
from ckgen.build.cache import Cache
from ckgen.families.gemm.config import HipConfig
from ckgen.families.gemm.enums import EpilogueOp, MoePart, Op
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.partition import runs
from ckgen.families.moe.query import MoeQuery
from ckgen.families.registry import FAMILIES
from ckgen.fuzz.prepare import inputs_of
from ckgen.fuzz.space import Space
from ckgen.model.backend import Backend
from ckgen.model.groups import GroupSize, Routing
from ckgen.model.selection import NO_WISHES
from ckgen.model.tuned_row import Shape
from ckgen.specs.archs import load_archs
from ckgen_emulator.fuzz import gemm_sample
from ckgen_emulator.fuzz.gemm_problems import problem_of
from ckgen_emulator.fuzz.gemm_sample import _failure, run_sample, sample
from ckgen_emulator.gemm.build import BuildContext, default_context
from ckgen_emulator.gemm.kernel import GemmKernel
from ckgen_emulator.gemm.problem import Data, GemmProblem
from ckgen_emulator.gemm.result import GemmResult

DRAWN = 60


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Space:
    return inputs_of(FAMILIES, tmp_path_factory.mktemp("space")).space()


def of(space: Space, op: Op, backend: Backend, *, gelu: bool = False) -> list[Instance]:
    found = [one for one in space.plan.instances if one.signature.op is op and one.backend is backend]
    executed = [one for one in found if any(arch.startswith("gfx9") for arch in one.archs)]
    return [one for one in executed if (EpilogueOp.GELU in one.signature.epilogue) == gelu]


def drawn(instance: Instance) -> list[GemmProblem]:
    random = Random(3)
    kernel = GemmKernel(instance, next(arch for arch in instance.archs if arch.startswith("gfx9")), ())
    found = (problem_of(random, kernel, 256) for _ in range(DRAWN))
    return [one for one in found if one is not None]


def test_groups_have_edges(space: Space) -> None:
    problems = [one for instance in of(space, Op.GROUPED_GEMM, Backend.CK_TILE)[:6] for one in drawn(instance)]
    assert len(problems) > 2 * DRAWN
    assert any(one.on_device for one in problems) and not all(one.on_device for one in problems)
    sizes = {size for one in problems for size in one.groups}
    assert any(size.m == 0 for size in sizes) and any(size.k == 0 for size in sizes)
    assert all(len({(size.n, size.k) for size in one.groups}) == 1 for one in problems if one.on_device)


def test_experts_are_routed_and_taken(space: Space) -> None:
    instances = of(space, Op.MOE, Backend.CK)
    assert {one.signature.moe.part for one in instances} == {*MoePart}
    for instance in instances[::8]:
        problems = drawn(instance)
        assert problems, instance.name
        for one in problems:
            query = MoeQuery(
                space.plan, space.targets[0], instance.signature, one.shape, NO_WISHES, one.routing, one.block_m
            )
            assert query.illegal() is None and query.refusal(instance, 1) is None
            assert one.block_m or instance.signature.moe.part is MoePart.LAYER
            assert one.data is Data.SMALL_INTEGERS
    assert drawn(of(space, Op.MOE, Backend.CK, gelu=True)[0])


def test_few_rows_stay_within_what_a_kernel_takes(space: Space) -> None:
    bounded = [one for one in of(space, Op.GEMM, Backend.HIP) if isinstance(one.config, HipConfig)]
    assert bounded
    for instance in bounded:
        rows, asked = {one.shape.m for one in drawn(instance)}, instance.constraints
        assert rows <= {*range(asked.min_m, asked.max_m + 1)} and asked.max_m in rows


GROUPS = GemmProblem.grouped((GroupSize(3, 8, 16), GroupSize(0, 8, 8)), 2, 5, Data.RANDOM)
EXPERTS = GemmProblem(Shape(0, 4, 768, 64), routing=Routing(4, 2), block_m=16)


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (GROUPS, "grouped_gemm {} --groups 3x8x16,0x8x8 --k-batch 2 --data random --seed 5"),
        (
            replace(GROUPS, on_device=True),
            "grouped_gemm {} --groups 3x8x16,0x8x8 --k-batch 2 --rows-on-device --data random --seed 5",
        ),
        (EXPERTS, "moe {} --shape 4x768x64 --experts 4 --top-k 2 --block-m 16 --data small-integers --seed 0"),
        (GemmProblem(Shape(3, 1, 2, 4)), "gemm {} --shape 1x2x4 --k-batch 1 --batch 3 --data small-integers --seed 0"),
    ],
)
def test_a_failure_says_the_line_that_runs_the_problem(problem: GemmProblem, words: str) -> None:
    found = _failure(GemmResult("a_kernel", "", "gfx942:304", problem, None, ("it hung",)))
    assert found.what == "it hung"
    assert found.command == "ckgen emulate " + words.format("--kernel a_kernel --target gfx942:304")


@pytest.fixture
def context(tmp_path: Path) -> BuildContext:
    """In which nothing is compiled."""
    found = default_context(amd_toolchain(), load_archs(), print, lambda standing: None)
    return replace(found, cache=Cache(tmp_path))


@pytest.mark.amd
@pytest.mark.parametrize("op", ["stream_k", "grouped_gemm", "moe"])
def test_where_no_kernel_is_compiled_one_runs_all_problems(context: BuildContext, op: str) -> None:
    (request,) = sample(op, 1, 5, context)
    assert len(request.problems) == 5
    if op == "stream_k":
        grid = request.cu_num
        assert not any(runs(request.kernel.instance, one.shape, one.k_batch, grid) for one in request.problems)


@pytest.mark.amd
def test_compiled_kernels_share_the_problems(context: BuildContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gemm_sample, "_is_compiled", lambda kernel, context: "persistent" in kernel.instance.name)
    requests = sample("grouped_gemm", 1, 200, context)
    assert len(requests) > 10 and sum(len(one.problems) for one in requests) == 200
    assert all("persistent" in one.kernel.instance.name for one in requests)
    assert len(sample("grouped_gemm", 1, 3, context)) == 3


@pytest.mark.amd
def test_too_few_problems_are_a_failure(context: BuildContext, monkeypatch: pytest.MonkeyPatch) -> None:
    problems = iter([*[GemmProblem(Shape(0, 1, 1, 1))] * 2])
    result = GemmResult("a_kernel", "", "gfx942:304", GemmProblem(Shape(0, 1, 1, 1)), None, ("it hung",))
    monkeypatch.setattr(gemm_sample, "problem_of", lambda *asked: next(problems, None))
    monkeypatch.setattr(gemm_sample, "emulate", lambda requests, *_: [result for one in requests for _ in one.problems])
    sampled = run_sample("moe", 1, 3, None, context, print)  # type: ignore[arg-type]
    assert sampled.ran == 0
    assert [failure.what for failure in sampled.failures[:2]] == ["it hung"] * 2
    assert sampled.failures[2].what.startswith("moe: 2 of 3 problems could be emulated: the others of 200 draws each")
