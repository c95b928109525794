"""A sample on the emulator: random problems of GPU kernels, of those that are compiled already where there are any."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, zip_longest
from random import Random

from ckgen import paths
from ckgen.build.compile import device_job
from ckgen.build.device_code import BACKENDS
from ckgen.build.planned import Planned
from ckgen.families.common.device.unit import Use
from ckgen.families.gemm.config import strategy_of
from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.instance import Instance
from ckgen.fuzz.outcome import Failure, FailureKind, Sampled
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.target import Target
from ckgen.plan.model import GenerationPlan
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import make_plan
from ckgen.plan.uses import uses_of
from ckgen_emulator.fuzz.gemm_problems import TRIES, problem_of
from ckgen_emulator.gemm.build import BuildContext
from ckgen_emulator.gemm.drive import Request, RunOptions, emulate
from ckgen_emulator.gemm.kernel import GemmKernel, units_of
from ckgen_emulator.gemm.result import GemmResult
from ckgen_emulator.gemm.runtime import Runtime
from ckgen_emulator.isa import executed_archs

SECONDS = 300.0
"""For the problems of one kernel."""
_FEW_UNITS = (1, 2, 3, 4)


def run_sample(
    op: str, seed: int, count: int, runtime: Runtime, context: BuildContext, heard: Callable[[GemmResult], None]
) -> Sampled:
    """`count` problems of an op of GEMMs, on as many kernels as are compiled; fewer are a failure that says why."""
    requests = sample(op, seed, count, context)
    again = command_of(op, seed, count)
    results = emulate(requests, runtime, context, RunOptions(seconds=SECONDS), heard)
    failures = [_failure(result) for result in results if not result.ok]
    if len(results) < count:
        why = f"the others of {TRIES} draws each are none that its kernels run ({len(requests)} drawn for)"
        failures.append(shortfall(op, len(results), count, why, again))
    return Sampled(sum(result.answer is not None for result in results), failures)


def sample(op: str, seed: int, count: int, context: BuildContext) -> list[Request]:
    """Problems of kernels of the shipped tables and defaults: of those whose code is in the cache, at least of one."""
    random = Random(f"{seed}:emulated {op}")
    plan = make_plan(sample_options(frozenset({op}), context.archs), context.archs)
    kernels = _by_turns(random, plan, uses_of(plan))
    first = list(islice(_drawn(random, (one for one in kernels if _is_compiled(one, context)), context), count))
    if not first:
        first = list(islice(_drawn(random, (one for one in kernels if _is_available(one)), context), 1))
    return _filled(random, first, count)


def command_of(op: str, seed: int, count: int) -> str:
    """The line that draws the same sample."""
    return f"ckgen fuzz --ops {op} --seconds 0.1 --seed {seed} --emulate {count}"


def shortfall(op: str, drawn: int, count: int, why: str, again: str) -> Failure:
    """The failure of a sample that is too small."""
    return Failure(FailureKind.EMULATED, f"{op}: {drawn} of {count} problems could be emulated: {why}", again)


def _drawn(random: Random, kernels: Iterable[GemmKernel], context: BuildContext) -> Iterator[Request]:
    """One problem of each kernel that can run one, on a chip on which it is small."""
    for kernel in kernels:
        is_stream_k = strategy_of(kernel.instance.config).is_stream_k  # asks for more tiles than compute units
        cu_num = random.choice(_FEW_UNITS) if is_stream_k else context.archs[kernel.arch].default_cu_num
        problem = problem_of(random, kernel, cu_num)
        if problem is not None:
            yield Request(kernel, cu_num, (problem,))


def _filled(random: Random, first: Sequence[Request], count: int) -> list[Request]:
    """More problems of the same kernels in turn, until there are `count`."""
    problems = [[*one.problems] for one in first]
    for index in range(count - len(first) if first else 0):
        one = first[index % len(first)]
        problem = problem_of(random, one.kernel, one.cu_num)
        if problem is not None:
            problems[index % len(first)].append(problem)
    return [replace(one, problems=tuple(more)) for one, more in zip(first, problems, strict=True)]


def _by_turns(
    random: Random, plan: GenerationPlan, uses: Mapping[Instance, Mapping[str, frozenset[Use]]]
) -> list[GemmKernel]:
    """All that the emulator executes, in a random order; those of ckgen's own sources are every other one."""
    pairs = [(one, arch) for one in plan.instances for arch in one.archs if arch in executed_archs()]
    random.shuffle(pairs)
    kinds: dict[bool, list[GemmKernel]] = {}
    for instance, arch in pairs:
        of_arch = uses.get(instance, {})
        kernel = GemmKernel(instance, arch, tuple(sorted(of_arch.get(arch) or frozenset().union(*of_arch.values()))))
        kinds.setdefault(instance.backend is Backend.HIP, []).append(kernel)
    turns = zip_longest(*(kinds[kind] for kind in sorted(kinds)))
    return [kernel for kernels in turns for kernel in kernels if kernel is not None]


def _is_compiled(kernel: GemmKernel, context: BuildContext) -> bool:
    return all(is_in_cache(one.device, context) for one in units_of(kernel, kernel.uses).pieces)


def _is_available(kernel: GemmKernel) -> bool:
    return not any(one.device.unavailable for one in units_of(kernel, kernel.uses).pieces)


def is_in_cache(planned: Planned, context: BuildContext) -> bool:
    """Whether the kernel was compiled."""
    if planned.unavailable:
        return False
    entry = context.cache.find(device_job(planned.unit, context.toolchain))
    return entry is not None and entry.ok


def sample_options(ops: frozenset[str], archs: Mapping[str, ArchSpec]) -> PlanOptions:
    """Of the shipped tables and defaults that the emulator executes."""
    return PlanOptions(
        targets=tuple(Target(arch, archs[arch].default_cu_num) for arch in executed_archs()),
        ops=ops,
        tuning=(paths.tuning_dir() / "aiter",),
        backends=frozenset(str(backend) for backend in BACKENDS),
        every_count=True,
    )


def _failure(result: GemmResult) -> Failure:
    found = sorted({str(finding["rule"]) for finding in result.findings})
    wrong = [side for side, one in (("GPU", result.gpu), ("host twin", result.twin)) if one is not None and not one.ok]
    what = "; ".join([*result.trouble, *(f"the {side}'s result is wrong" for side in wrong), *found])
    return Failure(FailureKind.EMULATED, what, _again(result))


def _again(result: GemmResult) -> str:
    """The line that runs the same problem."""
    problem = result.problem
    shape, routing = problem.shape, problem.routing
    sizes = f"--shape {shape.m}x{shape.n}x{shape.k}"
    if problem.groups:
        op, groups = Op.GROUPED_GEMM, ",".join(map(str, problem.groups))
        words = [f"--groups {groups} --k-batch {problem.k_batch}", *["--rows-on-device"] * problem.on_device]
    elif routing.experts:
        op, words = Op.MOE, [sizes, f"--experts {routing.experts} --top-k {routing.top_k}"]
        words += [f"--block-m {problem.block_m}"] * (problem.block_m > 0)
    else:
        op, words = Op.GEMM, [sizes, f"--k-batch {problem.k_batch}", *[f"--batch {shape.batch}"] * (shape.batch > 0)]
    kernel = f"--kernel {result.kernel} --target {result.target}"
    return " ".join([f"ckgen emulate {op}", kernel, *words, f"--data {problem.data.value} --seed {problem.seed}"])
