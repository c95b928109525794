"""select() of attention: the calls of public models over the default kernels of gfx942."""

from __future__ import annotations

import statistics
import subprocess
import tempfile
from pathlib import Path

from generated import build_program
from support import compiler, cpu_name

from ckgen.emit.render import render
from ckgen.families.fmha.benchmark_problems import BenchmarkProblem, benchmark_problems
from ckgen.families.fmha.enums import FmhaCorner
from ckgen.model.target import Target
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import make_plan
from ckgen.specs.archs import load_archs

GOAL = 1000
CALLS = 20000


def main() -> None:
    """Prints the table."""
    target, archs = Target("gfx942", 304), load_archs()
    problems = benchmark_problems()
    names = tuple(dict.fromkeys(one.signature.resolved(archs["gfx942"].fp8_flavour).canonical() for one in problems))
    plan = make_plan(PlanOptions(targets=(target,), ops=frozenset({"fmha"}), tuning=(), signatures=names), archs)
    lines = "".join(map(_line, problems))
    with tempfile.TemporaryDirectory() as folder:
        program = build_program(Path(folder), render(plan, "bench"), "fmha_select.cpp")
        command = [str(program), str(target), str(CALLS)]
        done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    print(f"select of attention  {cpu_name()}, {compiler()} -O2, {len(plan.instances)} kernels of {target}")
    found = [line.split() for line in done.stdout.splitlines()]
    for problem, (ns, allocations, supporting) in zip(problems, found, strict=True):
        sizes = f"{problem.shape.seqlen_q} x {problem.shape.seqlen_k}"
        print(f"  {problem.signature!s:54} {sizes:16} {ns:>6} ns  {supporting:>3} kernels  {allocations} allocations")
    times = [float(ns) for ns, _, _ in found]
    print(f"  median {statistics.median(times):.0f} ns, worst {max(times):.0f} ns, goal {GOAL} ns")
    print("reproduce: python benchmarks/fmha_select.py")


def _line(problem: BenchmarkProblem) -> str:
    x = problem.shape
    sizes = (x.batch, x.heads_q, x.heads_k, x.seqlen_q, x.seqlen_k, x.hdim_q, x.hdim_v)
    mask = (int(x.corner is FmhaCorner.BOTTOM_RIGHT), x.window_left, x.window_right, x.page_size, x.pages)
    return " ".join(map(str, (problem.signature.canonical(), *sizes, *mask))) + "\n"


if __name__ == "__main__":
    main()
