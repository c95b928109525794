"""A sample of attention on the emulator: schedules of splits for kernels that read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from random import Random

from ckgen.build.planned import plan_kernel
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.problem import page_vector
from ckgen.families.fmha.signature import OP as FMHA
from ckgen.fuzz.case import Case
from ckgen.fuzz.decision import target_of
from ckgen.fuzz.draw_schedule import scheduled
from ckgen.fuzz.fmha_schedule import schedule_of
from ckgen.fuzz.fmha_sizes import lengths_of, shape_of
from ckgen.fuzz.outcome import CaseFailure, Failure, FailureKind, Sampled
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.errors import UsageError
from ckgen.model.fmha_shape import FmhaCorner
from ckgen.plan.planner import make_plan
from ckgen.runtime.fmha_split import FmhaSplitPlan, FmhaSplitPlanner
from ckgen_emulator.bindings import Options
from ckgen_emulator.fmha.build import build_kernel
from ckgen_emulator.fmha.problem import FmhaProblem
from ckgen_emulator.fmha.run import FmhaKernel, run_fmha
from ckgen_emulator.fuzz.gemm_sample import SECONDS, command_of, is_in_cache, sample_options, shortfall
from ckgen_emulator.gemm.build import BuildContext
from ckgen_emulator.isa import executed_archs

_HEADS = ((1, 1), (2, 1), (4, 2), (8, 2), (6, 2))
_MOST_TILES = 5


@dataclass(frozen=True, slots=True)
class Step:
    """A launch of a kernel, and of what combines its parts: the problem, the plan, room for so many partial rows."""

    kernel: FmhaKernel
    problem: FmhaProblem
    plan: FmhaSplitPlan
    partial_rows: int


def run_fmha_sample(
    seed: int, count: int, planner: FmhaSplitPlanner, context: BuildContext, heard: Callable[[str], None]
) -> Sampled:
    """`count` cases on as many kernels as are compiled, at least one; those that fail to build or to run are told."""
    random, ran, failures = Random(f"{seed}:emulated {FMHA}"), 0, []
    again = command_of(FMHA, seed, count)
    chosen = _kernels(random, count, context)
    if not chosen:
        failures.append(shortfall(FMHA, 0, count, "there is no kernel that reads schedules", again))
    for index in range(count if chosen else 0):
        instance, arch = chosen[index % len(chosen)]
        case = emulated_case(random, instance, f"{arch}:{context.archs[arch].default_cu_num}")
        try:
            what = run_step(step_of(case, instance, planner))
            ran += 1
        except (CaseFailure, UsageError) as failure:
            what = str(failure)
        heard(instance.name)
        if what:
            failures.append(Failure(FailureKind.EMULATED, f"{what}: {case.text()}", again))
    return Sampled(ran, failures)


def emulated_case(random: Random, instance: FmhaInstance, target: str) -> Case:
    """Unequal sequences of few queries and some tiles of keys, with a schedule."""
    asked, traits, vector = instance.constraints, instance.signature.traits, page_vector(instance.signature)
    heads_q, heads_k = random.choice(_HEADS)
    case = Case(
        instance.signature.canonical(), target, instance.name, m=random.choice((1, 1, 2, 3, 5)),
        n=asked.n0 * random.randint(0, _MOST_TILES) + random.randint(1, asked.n0), k=asked.hdim_q,
        hdim_v=asked.hdim_v, batch=random.choice((1, 2, 3, 4)), heads_q=heads_q, heads_k=heads_k,
        seed=random.getrandbits(16), corner=random.choice(list(FmhaCorner)),
        window_left=random.choice((-1, -1, 0, 20, 130, 300)), window_right=random.choice((-1, 0, 0, 5)),
        sink_tokens=random.choice((0, 0, 3, 40)), head_first=random.random() < 0.4,
        spare=0 if traits.is_paged else random.choice((0, 3)),
        page_size=random.choice((1, 2, 3, 8)) * vector if traits.is_paged else 0,
    )  # fmt: skip
    return scheduled(random, case, asked, is_legal=True)


def step_of(case: Case, instance: FmhaInstance, planner: FmhaSplitPlanner) -> Step:
    """The case, which has a schedule, on a kernel that is built; a CaseFailure where the planner refuses it."""
    signature, target = instance.signature, target_of(case)
    shape, lengths = shape_of(signature, case), lengths_of(signature, case)
    schedule = schedule_of(case, signature, shape, target, instance.constraints, planner)
    assert schedule is not None
    problem = FmhaProblem(
        lengths.q, lengths.k, case.heads_q, case.heads_k, case.k, case.hdim_v, case.corner, case.window_left,
        case.window_right, case.sink_tokens, case.spare, case.head_first, case.seed, case.page_size,
    )  # fmt: skip
    _, kernel = build_kernel(instance, target.gfx)
    return Step(kernel, problem, schedule.plan(planner), schedule.room.partial_rows)


def run_step(step: Step) -> str:
    """What is wrong with a run in a process of its own; empty if nothing is."""
    spawn = get_context("spawn")
    here, there = spawn.Pipe(duplex=False)
    process = spawn.Process(target=_run, args=(step, there))
    process.start()
    there.close()
    try:
        return str(here.recv()) if here.poll(SECONDS) else f"no answer after {SECONDS:g} s"
    except EOFError:
        process.join()
        return f"the process ended with {process.exitcode}"
    finally:
        process.kill()
        process.join()


def _run(step: Step, there: Connection) -> None:
    outcome = run_fmha(
        step.kernel, step.problem, Options(seed=step.problem.seed), schedule=step.plan, partial_rows=step.partial_rows
    )
    wrong = [f"{one.name}: {one.wrong} elements are wrong" for one in outcome.compared if one.wrong]
    there.send("; ".join([*wrong, *sorted({one.rule for one in outcome.findings})]))


def kernels(archs: Mapping[str, ArchSpec]) -> list[tuple[FmhaInstance, str]]:
    """Those of tables and defaults that read schedules, with each arch that the emulator has."""
    plan = make_plan(sample_options(frozenset({FMHA}), archs), archs)
    instances = (one for unit in plan.units for one in unit.instances)
    decoding = [one for one in instances if one.backend is Backend.HIP and one.constraints.takes_items]
    return [(one, arch) for one in decoding for arch in one.archs if arch in executed_archs()]


def _kernels(random: Random, count: int, context: BuildContext) -> list[tuple[FmhaInstance, str]]:
    """In a random order, up to `count` whose code is in the cache; one that is to be compiled where there is none."""
    pairs = kernels(context.archs)
    random.shuffle(pairs)
    compiled = (pair for pair in pairs if is_in_cache(plan_kernel(*pair, []), context))
    available = (pair for pair in pairs if not plan_kernel(*pair, []).unavailable)
    return list(islice(compiled, count)) or list(islice(available, 1))
