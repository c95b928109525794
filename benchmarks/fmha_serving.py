"""Attention over a KV cache on this CPU, contiguous and in pages, against how fast the cache is only read.

    python benchmarks/fmha_serving.py [--threads N] [--rounds R] [--isa LEVEL] [--huge-pages] [--realtime]

Decode: one query per sequence and a cache of 268 MB, beyond the last-level cache; prefill: 512 causal queries over 4096
keys. `part` is of the bandwidth that a loop on the same threads reads the same bytes with, in the order of their
addresses, and of pages (in brackets) in theirs; `heads` and `rows` are contiguous caches, [head][key] and [key][head];
pages hold so many keys, in no order. Rounds are interleaved, figures medians. --huge-pages asks for pages of memory of
2 MB, as NumPy does for large arrays; else they have 4 KB. --realtime gives the program real-time priority, for machines
that others keep busy.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "codegen"), str(ROOT / "tests")]

from host_program import host_program  # noqa: E402
from support import cpu_name  # noqa: E402

LAYOUTS = ("heads", "rows", "page128", "page16", "page1")
# title: type, sequences, queries, KV heads, query heads of each, keys, head dim
DECODE = {
    "bf16, 8 queries per KV head": ("bf16", 2, 1, 8, 8, 32768, 128),
    "bf16, 1 query per KV head": ("bf16", 2, 1, 8, 1, 32768, 128),
    "fp8 KV, 8 queries per KV head": ("fp8", 2, 1, 8, 8, 65536, 128),
    "fp8 KV, 1 query per KV head": ("fp8", 2, 1, 8, 1, 65536, 128),
    "fp32, 8 queries per KV head": ("fp32", 2, 1, 8, 8, 16384, 128),
    "fp32, 1 query per KV head": ("fp32", 2, 1, 8, 1, 16384, 128),
}
PREFILL = {
    "bf16 prefill": ("bf16", 1, 512, 2, 4, 4096, 128),
    "fp32 prefill": ("fp32", 1, 512, 2, 4, 4096, 128),
}


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds to attend over a layout, and to read it in its order."""

    attend: float
    read: float


def measured(command: list[str], sizes: tuple[object, ...], rounds: int, memory: str) -> tuple[float, dict[str, Times]]:
    """Megabytes of the cache, and the times of `read` and of each layout."""
    words = [*map(str, sizes), "1", str(rounds), memory, *LAYOUTS]
    done = subprocess.run([*command, *words], capture_output=True, text=True, check=True)
    (_, megabytes), *lines = (line.split() for line in done.stdout.splitlines())
    return float(megabytes), {layout: Times(float(attend), float(read)) for layout, attend, read in lines}


def part(name: str, one: Times, read: float) -> str:
    """Of the bandwidth of reading."""
    in_order = f" ({one.read / one.attend:.2f})" if name.startswith("page") else ""
    return f"{name} {one.attend:.2f} ms {read / one.attend:.2f}{in_order}"


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--isa", default="", help="the level of the kernels; the CPU's best unless given")
    parser.add_argument("--huge-pages", action="store_true", help="pages of memory of 2 MB instead of 4 KB")
    parser.add_argument("--realtime", action="store_true")
    arguments = parser.parse_args()
    os.environ["CKGEN_NUM_THREADS"] = str(arguments.threads)
    if arguments.isa:
        os.environ["CKGEN_HOST_ISA"] = arguments.isa
    load, memory = os.getloadavg()[0], "huge" if arguments.huge_pages else "small"
    print(
        f"fmha_serving  {cpu_name()}, {arguments.isa or 'its best level'}, {arguments.threads} threads, {memory} pages",
        end="",
    )
    print(f", load {load:.1f} before{', real-time priority' if arguments.realtime else ''}")
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *(["chrt", "-r", "1"] if arguments.realtime else []),
            str(host_program("fmha_serving", Path(folder))),
        ]
        for title, sizes in DECODE.items():
            megabytes, ms = measured(command, sizes, arguments.rounds, memory)
            read = ms.pop("read").read
            parts = "  ".join(part(name, one, read) for name, one in ms.items())
            print(f"  {title:30} read {megabytes / read:5.1f} GB/s; part: {parts}")
        for title, sizes in PREFILL.items():
            _, times = measured(command, sizes, max(arguments.rounds // 3, 3), memory)
            ms = {name: one.attend for name, one in times.items()}
            ratios = "  ".join(f"{name} {ms[name]:.1f} ms {ms['rows'] / ms[name]:.2f}x" for name in LAYOUTS)
            print(f"  {title:30} against rows: {ratios}")
    print("reproduce: python benchmarks/fmha_serving.py")


if __name__ == "__main__":
    main()
