"""One grouped GEMM of skewed groups against a loop of single calls on this CPU: two threads, interleaved, medians.

    python benchmarks/grouped.py [--groups G] [--rows M] [--n N] [--k K] [--realtime]

Both run through one dispatcher of one generated library, from C++, each plan and its workspace made once.
--realtime gives the program real-time priority, for a machine that others keep busy.
"""

from __future__ import annotations

import argparse
import os

from generated import lines_of
from support import compiler, cpu_name

THREADS = 2
SIGNATURES = tuple(f"{op}_{dtype}_rcr" for dtype in ("bf16", "fp16") for op in ("gemm", "grouped_gemm"))


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--groups", type=int, default=64)
    parser.add_argument("--rows", type=int, default=128, help="of the largest group")
    parser.add_argument("--n", type=int, default=256)
    parser.add_argument("--k", type=int, default=256)
    parser.add_argument("--realtime", action="store_true")
    arguments = parser.parse_args()
    priority = ["chrt", "-r", "1"] if arguments.realtime else []
    sizes = [arguments.groups, arguments.rows, arguments.n, arguments.k]
    load = os.getloadavg()[0]
    lines = lines_of("grouped.cpp", SIGNATURES, ["gemm", "grouped_gemm"], THREADS, sizes, priority)
    print(
        f"grouped  {cpu_name()}, {compiler()} -O2, {THREADS} threads, load {load:.1f} before"
        f"{', real-time priority' if priority else ''},"
    )
    print(f"         {sizes[0]} groups of up to {sizes[1]} x {sizes[2]} x {sizes[3]}, medians of interleaved rounds")
    print(f"  {'operands':8} {'one launch':>11} {'single calls':>13}  ratio  (goal 1.3), of the fastest rounds")
    for line in lines:
        dtype, *times = line.split()
        grouped, single, least_grouped, least_single = map(float, times)
        ratios = f"{single / grouped:4.2f}x       {least_single / least_grouped:4.2f}x"
        print(f"  {dtype:8} {grouped:>8.1f} us {single:>10.1f} us  {ratios}")
    print("reproduce: python benchmarks/grouped.py")


if __name__ == "__main__":
    main()
