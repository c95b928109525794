"""One batched GEMM against a loop of single calls on this CPU: two threads, interleaved rounds, medians.

    python benchmarks/batched.py [--batch B] [--size S]

Both run through one dispatcher of one generated library, from C++, each plan and its workspace made once.
"""

from __future__ import annotations

import argparse

from generated import lines_of
from support import compiler, cpu_name

THREADS = 2
SIGNATURES = tuple(f"gemm_{dtype}_rcr{tail}" for dtype in ("bf16", "fp16") for tail in ("", "_batched"))


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--size", type=int, default=64)
    arguments = parser.parse_args()
    lines = lines_of("batched.cpp", SIGNATURES, ["gemm"], THREADS, [arguments.batch, arguments.size])
    print(f"batched  {cpu_name()}, {compiler()} -O2, {THREADS} threads,")
    print(f"         {arguments.batch} x {arguments.size}^3, medians of interleaved rounds")
    print(f"  {'operands':8} {'one batch':>10} {'single calls':>13}  ratio  (goal 2)")
    for line in lines:
        dtype, batched, single = line.split()
        print(f"  {dtype:8} {batched:>7} us {single:>10} us  {float(single) / float(batched):4.2f}x")
    print("reproduce: python benchmarks/batched.py")


if __name__ == "__main__":
    main()
