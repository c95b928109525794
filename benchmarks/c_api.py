"""What the C API costs over C++: run and select of the smallest GEMM, in turns on one thread of CPU time.

python benchmarks/c_api.py [--quick]: 1,000 calls in each of 801 rounds, which are so short that the machine is as fast
for both; or 100 in 3, which measures nothing. With ckgen's own library linked in, and with it as a shared one.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from ours import lines_of, program_over
from support import Run

from ckgen.model.target import Target
from ckgen.plan.options import PlanOptions
from ckgen.specs.native import own_cpu

CALLS, ROUNDS = 1_000, 801
LINKED = ("static", "shared")


def main() -> None:
    """Prints a line for each: medians, and the median of the differences within a round."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    is_quick = parser.parse_args().quick
    options = PlanOptions(
        targets=(Target(own_cpu().gfx, 1),), ops=frozenset({"gemm"}), tuning=(), signatures=("gemm_fp32_rcr",)
    )
    for kind in LINKED:
        with tempfile.TemporaryDirectory() as folder:
            run = Run("c_api", Path(folder), 1, is_quick, "*")
            program = program_over(run, options, "c_api.cpp", is_shared=kind == "shared")
            found: dict[str, dict[str, list[float]]] = {}
            for name, way, _, _, *ns in lines_of(program, *((100, 3) if is_quick else (CALLS, ROUNDS))):
                found.setdefault(name, {})[way] = [float(one) for one in ns]
        for name, ways in found.items():
            over = statistics.median(c - cpp for c, cpp in zip(ways["c"], ways["c++"], strict=True))
            medians = {way: statistics.median(ns) for way, ns in ways.items()}
            print(
                f"{kind:7} {name:8} C++ {medians['c++']:7.1f} ns   C {medians['c']:7.1f} ns   {over:+6.1f} ns over it"
            )


if __name__ == "__main__":
    main()
