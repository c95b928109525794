"""select() over a library generated from the shipped tables, beside an unordered_map keyed as AITER keys it.

A module named `select` would hide the standard library's from every benchmark, so the file is not called that.
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
from pathlib import Path

from generated import build_program
from shipped import TARGETS, shipped_plan
from support import compiler, cpu_name

from ckgen.emit.render import render

GOALS = {"exact": 50, "near": 50, "far": 200, "untuned": 200}


def main() -> None:
    """Prints the table."""
    plan = shipped_plan()
    with tempfile.TemporaryDirectory() as folder:
        program = build_program(Path(folder), render(plan, "bench"), "select.cpp")
        targets = [str(target) for target in TARGETS]
        done = subprocess.run([str(program), *targets], capture_output=True, text=True, check=True)
    print(f"select  {cpu_name()}, {compiler()} -O2, up to 65,536 random problems per line on {', '.join(targets)},")
    print("        median of 11 rounds, making the Problem included; the map: one find of the exact shape")
    print(f"  {'signature':50} {'tier':8} {'problems':>8} {'select':>9} {'map':>9}  ratio  allocations")
    by_tier: dict[str, list[float]] = {}
    for line in done.stdout.splitlines():
        name, tier, problems, ours, theirs, allocations = line.split()
        ratio = float(theirs) / float(ours)
        print(f"  {name:50} {tier:8} {problems:>8} {ours:>6} ns {theirs:>6} ns {ratio:5.1f}x  {allocations}")
        by_tier.setdefault(tier, []).append(float(ours))
    for tier, times in by_tier.items():
        over = f"median over signatures {statistics.median(times):6.2f} ns, worst {max(times):6.2f} ns"
        print(f"  {tier:8} {over}, goal on a quiet machine {GOALS[tier]} ns")
    print("  untuned: heuristic, other_cu and default")
    print("reproduce: python benchmarks/select_kernel.py")


if __name__ == "__main__":
    main()
