"""Attention over a batch of unequal lengths on this CPU: whole requests, equal splits of keys, and a plan of them.

    python benchmarks/fmha_batch.py [--threads N] [--rounds R] [--realtime]

`splits1` leaves each request to one thread, `splits<N>` cuts all alike, `plan` is what ckgen/fmha_split.hpp plans for
these lengths and threads. Rounds are interleaved, figures medians. --realtime gives the program real-time priority, for
machines that others keep busy.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "codegen"), str(ROOT / "tests")]

from host_program import host_program  # noqa: E402
from support import cpu_name  # noqa: E402

# title: type, queries of each request, KV heads, query heads of each, head dim, keys of each request
BATCHES = {
    "decode, one long request": ("bf16", 1, 8, 4, 128, 60000),
    "decode, one long among short": ("bf16", 1, 8, 4, 128, 40000, 3000, 2000, 1000, 3000, 500, 1500, 700),
    "decode, of like lengths": ("bf16", 1, 8, 4, 128, *(6500 + 300 * i for i in range(8))),
    "decode, 64 short": ("bf16", 1, 8, 4, 128, *(200 + 50 * i for i in range(64))),
    "prefill, one long among short": ("bf16", 256, 2, 4, 128, 16384, 512, 1024, 700),
    "prefill, of like lengths": ("bf16", 256, 2, 4, 128, 4096, 4096, 4096, 4096),
}


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--realtime", action="store_true")
    arguments = parser.parse_args()
    os.environ["CKGEN_NUM_THREADS"] = str(arguments.threads)
    print(f"fmha_batch  {cpu_name()}, {arguments.threads} threads, load {os.getloadavg()[0]:.1f} before", end="")
    print(", real-time priority" if arguments.realtime else "")
    with tempfile.TemporaryDirectory() as folder:
        program = host_program("fmha_batch", Path(folder))
        command = [*(["chrt", "-r", "1"] if arguments.realtime else []), str(program)]
        for title, (kind, *sizes) in BATCHES.items():
            words = [kind, *map(str, sizes[:4]), str(arguments.rounds), *map(str, sizes[4:])]
            done = subprocess.run([*command, *words], capture_output=True, text=True, check=True)
            (_, splits, us), *lines = (line.split() for line in done.stdout.splitlines())
            ms = {name: float(one) for name, one in lines}
            ways = "  ".join(f"{name} {one:.2f} ms {ms['splits1'] / one:.2f}x" for name, one in ms.items())
            print(f"  {title:30} {ways}; {splits} splits at most, planned in {float(us):.1f} us")
    print("reproduce: python benchmarks/fmha_batch.py")


if __name__ == "__main__":
    main()
