"""select() of attention: the calls of public models over the default kernels of gfx942. No peer answers such calls."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from ours import lines_of, program_over
from support import Row, Run, main

from ckgen.families.fmha.benchmark_problems import BenchmarkProblem, benchmark_problems
from ckgen.families.fmha.enums import FmhaCorner
from ckgen.measure.timing import Sample
from ckgen.model.target import Target
from ckgen.plan.options import PlanOptions
from ckgen.specs.archs import load_archs

_CALLS, _ROUNDS = 20000, 11


def rows(run: Run) -> Iterator[Row]:
    """The call of the median, the slowest, and how often any select allocated."""
    if not any(map(run.wants, ("median", "worst", "allocations"))):
        return
    target, problems = Target("gfx942", 304), benchmark_problems()
    flavour = load_archs()["gfx942"].fp8_flavour
    names = tuple(dict.fromkeys(one.signature.resolved(flavour).canonical() for one in problems))
    options = PlanOptions(targets=(target,), ops=frozenset({"fmha"}), tuning=(), signatures=names)
    program = program_over(run, options, "fmha_select.cpp")
    effort = (100, 1) if run.quick else (_CALLS, _ROUNDS)
    lines = lines_of(program, target, *effort, given="".join(map(_line, problems)))
    found = [(Sample(tuple(float(one) * 1e-9 for one in ns)), int(made)) for _, _, _, made, *ns in lines]
    times = [sample.median for sample, _ in found]
    for name, seconds in (("median", statistics.median_low(times)), ("worst", max(times))):
        if run.wants(name):
            index = times.index(seconds)
            x = problems[index].shape
            shape = f"{problems[index].signature}, {x.seqlen_q} × {x.seqlen_k}"
            what = f"select of attention: the {name} of {len(found)} calls"
            yield run.timed(name, what, shape, found[index][0], {}, unit="ns")
    if run.wants("allocations"):
        yield run.counted("allocations", "select of attention", "all calls", "allocations", sum(n for _, n in found))


def _line(problem: BenchmarkProblem) -> str:
    x = problem.shape
    sizes = (x.batch, x.heads_q, x.heads_k, x.seqlen_q, x.seqlen_k, x.hdim_q, x.hdim_v)
    mask = (int(x.corner is FmhaCorner.BOTTOM_RIGHT), x.window_left, x.window_right, x.page_size, x.pages)
    return " ".join(map(str, (problem.signature.canonical(), *sizes, *mask))) + "\n"


if __name__ == "__main__":
    main(rows, __doc__)
