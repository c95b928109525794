"""A sample on the emulator: random problems of GPU kernels that are compiled already."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import zip_longest
from random import Random

from ckgen import paths
from ckgen.build.compile import device_job
from ckgen.build.device_code import BACKENDS
from ckgen.build.planned import Planned
from ckgen.emulator.gemm.build import BuildRoom
from ckgen.emulator.gemm.drive import Request, RunOptions, emulate
from ckgen.emulator.gemm.kernel import GemmKernel, units_of
from ckgen.emulator.gemm.problem import GemmProblem
from ckgen.emulator.gemm.result import GemmResult
from ckgen.emulator.gemm.runtime import Runtime
from ckgen.emulator.isa import ARCHS
from ckgen.families.gemm.device.model import Use
from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.instance import Instance
from ckgen.fuzz.emulated_problems import problem_of
from ckgen.fuzz.outcome import Failure, FailureKind
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.target import Target
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import make_plan
from ckgen.plan.uses import uses_of

_SECONDS = 300.0


def run_sample(
    ops: frozenset[str], seed: int, count: int, runtime: Runtime, room: BuildRoom, heard: Callable[[GemmResult], None]
) -> tuple[int, list[Failure]]:
    """How many problems ran, at most `count`, one per kernel; and those that are wrong or in which something was
    found."""
    requests = sample(ops, seed, count, room)
    named = f" --ops {','.join(sorted(ops))}"
    again = f"ckgen fuzz{named} --seconds 0.1 --seed {seed} --emulate {count}"
    results = emulate(requests, runtime, room, RunOptions(seconds=_SECONDS), heard)
    return len(results), [_failure(result, again) for result in results if not result.ok]


def sample(ops: frozenset[str], seed: int, count: int, room: BuildRoom) -> list[Request]:
    """Kernels of the shipped tables and defaults whose code is in the cache, each with a problem that it can run."""
    random = Random(f"{seed}:emulated")
    found: list[Request] = []
    for kernel in _compiled(ops, random, room):
        cu_num = room.archs[kernel.arch].default_cu_num
        problem = problem_of(random, kernel, cu_num)
        if problem is not None:
            found.append(Request(kernel, cu_num, (problem,)))
        if len(found) == count:
            break
    return found


def _compiled(ops: frozenset[str], random: Random, room: BuildRoom) -> Iterator[GemmKernel]:
    """One of each kind in turn: GEMMs, those for few rows, grouped ones, experts."""
    plan = make_plan(sample_options(ops, room.archs), room.archs)
    uses = uses_of(plan)
    pairs = [(one, arch) for one in plan.instances for arch in one.archs if arch in ARCHS]
    random.shuffle(pairs)
    kinds: dict[tuple[Op, bool], list[tuple[Instance, str]]] = {}
    for instance, arch in pairs:
        kinds.setdefault((instance.signature.op, instance.backend is Backend.HIP), []).append((instance, arch))
    turns = [_of_cache(kinds[kind], uses, room) for kind in sorted(kinds, key=str)]
    for kernels in zip_longest(*turns):
        yield from (kernel for kernel in kernels if kernel is not None)


def _of_cache(
    pairs: list[tuple[Instance, str]],
    uses: Mapping[Instance, Mapping[str, frozenset[Use]]],
    room: BuildRoom,
) -> Iterator[GemmKernel]:
    for instance, arch in pairs:
        of_arch = uses.get(instance, {})
        kernel = GemmKernel(instance, arch, tuple(sorted(of_arch.get(arch) or frozenset().union(*of_arch.values()))))
        if all(is_in_cache(one.device, room) for one in units_of(kernel, kernel.uses).pieces):
            yield kernel


def is_in_cache(planned: Planned, room: BuildRoom) -> bool:
    """Whether the kernel was compiled."""
    if planned.unavailable:
        return False
    entry = room.cache.find(device_job(planned.unit, room.toolchain))
    return entry is not None and entry.ok


def sample_options(ops: frozenset[str], archs: Mapping[str, ArchSpec]) -> PlanOptions:
    """Of the shipped tables and defaults that the emulator executes."""
    return PlanOptions(
        targets=tuple(Target(arch, archs[arch].default_cu_num) for arch in ARCHS),
        ops=ops,
        tuning=(paths.tuning_dir() / "aiter",),
        backends=frozenset(str(backend) for backend in BACKENDS),
        every_count=True,
    )


def _failure(result: GemmResult, again: str) -> Failure:
    """`again`: the line that draws the same sample, for ops that `ckgen emulate` takes no problems of."""
    problem = result.problem
    shape = problem.shape
    words = [
        f"ckgen emulate gemm --kernel {result.kernel} --target {result.target}",
        f"--shape {shape.m}x{shape.n}x{shape.k} --k-batch {problem.k_batch}",
        *([f"--batch {shape.batch}"] if shape.batch else []),
        f"--data {problem.data.value} --seed {problem.seed}",
    ]
    is_plain = not problem.groups and not problem.routing.experts
    found = sorted({str(finding["rule"]) for finding in result.findings})
    wrong = [side for side, one in (("GPU", result.gpu), ("host twin", result.twin)) if one is not None and not one.ok]
    what = "; ".join([*result.trouble, *(f"the {side}'s result is wrong" for side in wrong), *found])
    if is_plain:
        return Failure(FailureKind.EMULATED, what, " ".join(words))
    return Failure(FailureKind.EMULATED, f"{what}: {result.kernel} on {result.target}, {_told(problem)}", again)


def _told(problem: GemmProblem) -> str:
    shape = problem.shape
    of_experts = f"{shape.m}x{shape.n}x{shape.k} {problem.routing} block_m {problem.block_m}"
    where = " on the device" if problem.on_device else ""
    of_groups = f"groups {','.join(map(str, problem.groups))}{where}, {problem.k_batch} splits"
    return f"{of_groups if problem.groups else of_experts}, {problem.data.value}, seed {problem.seed}"
