"""A sample on the emulator: random problems of GPU kernels that are compiled already."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from random import Random

from ckgen import paths
from ckgen.build.compile import device_job
from ckgen.build.device_code import BACKENDS, variants_of
from ckgen.build.planned import plan_kernel
from ckgen.emulator.gemm.build import BuildRoom
from ckgen.emulator.gemm.drive import Request, RunOptions, emulate
from ckgen.emulator.gemm.kernel import GemmKernel
from ckgen.emulator.gemm.problem import Data, GemmProblem
from ckgen.emulator.gemm.result import GemmResult
from ckgen.emulator.gemm.runtime import Runtime
from ckgen.emulator.isa import ARCHS
from ckgen.families.gemm.device.model import Use
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.problem_rules import check
from ckgen.families.stream_k.partition import runs
from ckgen.fuzz.outcome import Failure, FailureKind
from ckgen.fuzz.sizes import edge, rounded_up
from ckgen.model.arch import ArchSpec
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import make_plan
from ckgen.plan.uses import uses_of

_TRIES = 200
_MOST_WORK = 1 << 21
_SECONDS = 300.0


def run_sample(
    ops: frozenset[str], seed: int, count: int, runtime: Runtime, room: BuildRoom, heard: Callable[[GemmResult], None]
) -> tuple[int, list[Failure]]:
    """How many problems ran, at most `count`, one per kernel; and those that are wrong or in which something was
    found."""
    requests = sample(ops, seed, count, room)
    results = emulate(requests, runtime, room, RunOptions(seconds=_SECONDS), heard)
    return len(results), [_failure(result) for result in results if not result.ok]


def sample(ops: frozenset[str], seed: int, count: int, room: BuildRoom) -> list[Request]:
    """Kernels of the shipped tables and defaults whose code is in the cache, each with a problem that it can run."""
    random = Random(f"{seed}:emulated")
    found: list[Request] = []
    for kernel in _compiled(ops, random, room):
        cu_num = room.archs[kernel.arch].default_cu_num
        problem = _problem(random, kernel, cu_num)
        if problem is not None:
            found.append(Request(kernel, cu_num, (problem,)))
        if len(found) == count:
            break
    return found


def _compiled(ops: frozenset[str], random: Random, room: BuildRoom) -> Iterator[GemmKernel]:
    plan = make_plan(_options(ops, room.archs), room.archs)
    uses = uses_of(plan)
    pairs = [(one, arch) for one in plan.instances for arch in one.archs if arch in ARCHS]
    random.shuffle(pairs)
    for instance, arch in pairs:
        of_arch = uses.get(instance, {})
        kernel = GemmKernel(instance, arch, tuple(sorted(of_arch.get(arch) or frozenset().union(*of_arch.values()))))
        planned = plan_kernel(instance, arch, kernel.uses)
        if not planned.unavailable:
            entry = room.cache.find(device_job(planned.unit, room.toolchain))
            if entry is not None and entry.ok:
                yield kernel


def _options(ops: frozenset[str], archs: Mapping[str, ArchSpec]) -> PlanOptions:
    return PlanOptions(
        targets=tuple(Target(arch, archs[arch].default_cu_num) for arch in ARCHS),
        ops=ops,
        tuning=(paths.tuning_dir() / "aiter",),
        backends=frozenset(str(backend) for backend in BACKENDS),
        every_count=True,
    )


def _problem(random: Random, kernel: GemmKernel, cu_num: int) -> GemmProblem | None:
    """A legal problem that takes a variant which is compiled; None where no try gave one."""
    instance = kernel.instance
    compiled = set(variants_of(instance, kernel.uses))
    for _ in range(_TRIES):
        shape = _shape(random, instance)
        k_batch = random.choice([1, 1, *(use.k_batch for use in kernel.uses[:8])])
        work = shape.m * shape.n * shape.k * max(shape.batch, 1)
        if work > _MOST_WORK or check(instance.signature, shape) or runs(instance, shape, k_batch, cu_num):
            continue
        if {*variants_of(instance, [Use(shape, k_batch)])} <= compiled:
            return GemmProblem(shape, k_batch, random.getrandbits(16), random.choice(list(Data)))
    return None


def _shape(random: Random, instance: Instance) -> Shape:
    tile, asked = instance.config.macro_tile, instance.constraints
    batch = random.choice((1, 2, 3)) if instance.signature.batched else 0
    grain = 128 if random.random() < 0.5 else 32
    m = rounded_up(edge(random, tile.m, 2 * tile.m), asked.m_multiple)
    return Shape(
        batch,
        min(m, asked.max_m or m),
        rounded_up(edge(random, tile.n, 2 * tile.n), asked.n_multiple or 16),
        rounded_up(edge(random, tile.k, 8 * tile.k), asked.k_multiple or grain),
    )


def _failure(result: GemmResult) -> Failure:
    problem = result.problem
    shape = problem.shape
    words = [
        f"ckgen emulate gemm --kernel {result.kernel} --target {result.target}",
        f"--shape {shape.m}x{shape.n}x{shape.k} --k-batch {problem.k_batch}",
        *([f"--batch {shape.batch}"] if shape.batch else []),
        f"--data {problem.data.value} --seed {problem.seed}",
    ]
    found = sorted({str(finding["rule"]) for finding in result.findings})
    wrong = [side for side, one in (("GPU", result.gpu), ("host twin", result.twin)) if one is not None and not one.ok]
    what = "; ".join([*result.trouble, *(f"the {side}'s result is wrong" for side in wrong), *found])
    return Failure(FailureKind.EMULATED, what, " ".join(words))
