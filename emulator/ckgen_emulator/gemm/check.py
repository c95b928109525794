"""One problem for each kernel that the tables name, executed through the dispatcher, into the journal of a check."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count, product

from ckgen.build.amd.model import AmdToolchain
from ckgen.build.device_code import device_code, variants_of
from ckgen.build.journal import CheckedRun, Journal
from ckgen.build.named import NamedKernel
from ckgen.build.planned import plan_kernel
from ckgen.families.common.device.unit import Use
from ckgen.families.gemm.enums import Op, Quant
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.problem_rules import check as breaks_a_rule
from ckgen.families.gemm.problem_rules import supports
from ckgen.families.grouped_gemm.problem_rules import check_groups, supports_groups
from ckgen.model.arch import ArchSpec
from ckgen.model.groups import Groups, GroupSize
from ckgen.model.tuned_row import Shape
from ckgen.progress import Progress
from ckgen_emulator.gemm.build import default_context
from ckgen_emulator.gemm.drive import Request, RunOptions, emulate
from ckgen_emulator.gemm.kernel import GemmKernel
from ckgen_emulator.gemm.problem import GemmProblem
from ckgen_emulator.gemm.result import GemmResult
from ckgen_emulator.gemm.runtime import build_runtime
from ckgen_emulator.isa import executed_archs

_MOST_SECONDS = 300.0
"""For one kernel."""
_MOST_K_TILES = 18
_PRESHUFFLED_ROWS = 16
_BATCH = 2


def execute(
    kernels: Sequence[NamedKernel],
    toolchain: AmdToolchain,
    archs: Mapping[str, ArchSpec],
    journal: Journal,
    jobs: int | None,
    say: Callable[[str], None],
    heard: Callable[[CheckedRun], None],
    progress: Progress,
) -> None:
    """See `ckgen.extension.Execute`; in the kernels' order."""
    context = default_context(toolchain, archs, say, progress, jobs)
    options = RunOptions(processes=jobs or os.cpu_count() or 1, seconds=_MOST_SECONDS)
    known = {place for place, run in journal.runs().items() if not run.trouble}
    wanted = [one for one in kernels if one.arch in executed_archs() and _place(one) not in known]
    wanted = [one for one in wanted if not plan_kernel(one.instance, one.arch, one.uses).unavailable]
    asked: dict[tuple[str, str], NamedKernel] = {}
    requests = []
    for kernel in wanted:
        problem = small_problem(kernel) if kernel.rows else own_problem(kernel)
        if problem is None:
            heard(_note(journal, kernel, None))
            continue
        asked[kernel.instance.name, kernel.arch] = kernel
        gemm = GemmKernel(kernel.instance, kernel.arch, kernel.uses)
        requests.append(Request(gemm, kernel.cu_num or archs[kernel.arch].default_cu_num, (problem,)))

    ended = count()

    def done(result: GemmResult) -> None:
        progress.count(next(ended) + 1, len(requests))
        heard(_note(journal, asked[result.kernel, result.target.partition(":")[0]], result))

    emulate(requests, build_runtime(say, progress.step), context, options, done)


def own_problem(kernel: NamedKernel) -> GemmProblem | None:
    """The use that a kernel of a set came with, of a grouped kernel one group among others; None if it takes none."""
    if not kernel.uses:
        return None
    (use, *_) = kernel.uses
    if kernel.instance.signature.op is Op.GROUPED_GEMM:
        groups = skewed_groups(kernel.instance, use)
        if not kernel.instance.table_kernel:
            return GemmProblem.grouped(groups, use.k_batch)
        depth = max(size.k for size in groups)  # deepgemm: of all groups the same, and rows that the device alone knows
        alike = [GroupSize(size.m, use.shape.n, depth) for size in groups]
        return GemmProblem.grouped(alike, use.k_batch, on_device=True)
    return GemmProblem(use.shape, use.k_batch)


def skewed_groups(instance: Instance, use: Use) -> tuple[GroupSize, ...]:
    """Groups of all kinds about the use's sizes that the instance takes: none and few rows, many, few columns, no K."""
    tile, asks, shape = instance.config.macro_tile, instance.constraints, use.shape
    rows, columns, depth = max(asks.m_multiple, 1), max(asks.n_multiple, 1), max(asks.k_multiple, asks.min_k, 1)
    if instance.signature.preshuffle_b:
        columns = math.lcm(columns, _PRESHUFFLED_ROWS)
    if instance.signature.quant is Quant.BLOCKSCALE:
        depth = math.lcm(depth, instance.signature.scale_block.k)
    deep = math.lcm(depth, use.k_batch * max(asks.k_multiple_per_split, asks.split_grain, 1), tile.k)
    wished = (
        GroupSize(shape.m, shape.n, use.k_batch * deep),
        GroupSize(0, shape.n, deep),
        GroupSize(rows, columns, deep),
        GroupSize(3 * tile.m + rows, shape.n, 3 * deep),
        GroupSize(shape.m, shape.n, 0),
        GroupSize(shape.m, 0, deep),
        GroupSize(tile.m, 2 * tile.n, shape.k),
    )
    taken: list[GroupSize] = []
    for size in wished:
        groups = Groups.of((*taken, size))
        if check_groups(instance.signature, groups) is None and supports_groups(asks, groups, use.k_batch) is None:
            taken.append(size)
    return tuple(taken)


def small_problem(kernel: NamedKernel) -> GemmProblem | None:
    """The smallest problem of a few tiles that takes a variant which the kernel's rows take; None if none does.

    Without K splits where the kernel cannot split, whatever its rows say.
    """
    instance = kernel.instance
    whole = device_code(instance).splits_unavailable(kernel.arch) is not None
    rows = tuple({replace(use, k_batch=1) if whole else use for use in kernel.uses})
    reached = set(variants_of(instance, rows))
    for use in sorted(_uses(kernel, rows), key=lambda one: one.shape.m * one.shape.n * one.shape.k):
        rejected = breaks_a_rule(instance.signature, use.shape) or supports(
            instance.constraints, use.shape, use.k_batch
        )
        if rejected is None and set(variants_of(instance, [use])) <= reached:
            return GemmProblem(use.shape, use.k_batch)
    return None


def _uses(kernel: NamedKernel, rows: Iterable[Use]) -> set[Use]:
    """Whole tiles and the rests that the rows' problems leave of them, one or two tiles wide, some tiles deep."""
    tile = kernel.instance.config.macro_tile
    batch = _BATCH if kernel.instance.signature.batched else 0
    found = set()
    for rests in {(use.shape.m % tile.m, use.shape.n % tile.n, use.shape.k % tile.k, use.k_batch) for use in rows}:
        m, n, k, k_batch = rests
        for tiles in product((0, 1), (0, 1, 2), range(_MOST_K_TILES)):
            shape = Shape(batch, m + tiles[0] * tile.m, n + tiles[1] * tile.n, k + tiles[2] * tile.k)
            if shape.m and shape.n and shape.k:
                found.add(Use(shape, k_batch))
    return found


def _place(kernel: NamedKernel) -> tuple[str, str, str, str]:
    return (kernel.module, kernel.library, kernel.name, kernel.arch)


def _note(journal: Journal, kernel: NamedKernel, result: GemmResult | None) -> CheckedRun:
    shape = result.problem.shape if result else Shape(0, 0, 0, 0)
    right = result is not None and bool(result.gpu and result.gpu.ok and result.twin and result.twin.ok)
    answer = result.answer if result else None
    run = CheckedRun(
        *_place(kernel),
        instance=kernel.instance.name,
        right=right,
        shape=(shape.m, shape.n, shape.k, max(shape.batch, 1)),
        k_batch=result.problem.k_batch if result else 0,
        instructions=result.instructions if result else 0,
        seconds=round(answer.seconds, 3) if answer else 0.0,
        findings=dict(sorted(Counter(str(one["rule"]) for one in result.findings).items())) if result else {},
        trouble=result.trouble if result else ("no small problem takes a variant that its rows take",),
    )
    journal.append(run)
    return run
