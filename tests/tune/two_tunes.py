"""Two tunes from nothing on this machine, of 56 shapes, and how their tables differ: `python tests/tune/two_tunes.py`.

The library is built first. Then each tune has `--budget` seconds, 300 where it is left out. Rows are written whatever
they save, so that every problem is compared. Exit 1 beyond 2 % of the rows or 1 % in time.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import geometric_mean
from typing import Any

MOST_ROWS, MOST_TIME = 0.02, 0.01
COLUMNS = ("signature", "B", "M", "N", "K", "experts", "top_k", "sizes", "count")
MOE = "moe_bf16_rcr_preshuffle_layer_gated_epi_silu"


def shapes() -> Iterator[tuple[object, ...]]:
    """Rows of a list, in ladders of M; none takes longer than some milliseconds."""
    for n, k in ((768, 4096), (4096, 512), (3584, 2048), (4096, 1792)):
        yield from (("gemm_bf16_rcr", 0, m, n, k, 0, 0, "", 1) for m in (1, 2, 4, 16, 48, 128))
    for n, k in ((4096, 512), (1536, 1024), (640, 2048)):
        yield from (("gemm_fp32_rcr", 0, m, n, k, 0, 0, "", 1) for m in (1, 4, 16, 64))
    yield from (("gemm_bf16_rcr_batched", 2, m, 512, 128, 0, 0, "", 1) for m in (1, 4, 16, 64))
    for n, k in ((1536, 4096), (2048, 1024)):
        yield from (("gemm_fp8_ocp_bf16_rcr_blockscale", 0, m, n, k, 0, 0, "", 1) for m in (1, 16, 64))
    yield from ((MOE, 0, m, 176, 2048, 16, 6, "", 1) for m in (1, 2, 4))
    for sizes in ("8*32x768x1024", "64x768x1024;3*16x768x1024", "4*8x768x1024", "2*128x512x512"):
        m, n, k = sizes.split(";")[0].split("*")[-1].split("x")
        yield ("grouped_gemm_bf16_rcr", 0, m, n, k, 0, 0, sizes, 1)
    heads = "batch=1 heads_q=4 heads_k=1"
    for queries, keys in ((512, 512), (1, 4096), (64, 1024)):
        sizes = f"{heads} seqlen_q={queries} seqlen_k={keys} hdim_q=128 hdim_v=128 mask=b:-1;0"
        yield ("fmha_bf16_masked", *[0] * 6, sizes, 1)


def tune(folder: Path, out: str, budget: int, *more: str) -> dict[str, Any]:
    """What a tune says; it may find candidates that fail."""
    words = ["tune", "all", "--shapes", str(folder / "shapes.csv"), "--out", str(folder / out), "--json"]
    rest = ("--min-improvement", "0", "--budget", str(budget), *more)
    done = subprocess.run([sys.executable, "-m", "ckgen", *words, *rest], stdout=subprocess.PIPE, check=False)
    if done.returncode > 1:
        sys.exit(f"ckgen tune ended with exit code {done.returncode}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def verdict(first: Mapping[str, Any], second: Mapping[str, Any]) -> tuple[list[str], bool]:
    """Lines for people, and whether both bounds hold. `second` was compared with the first's table."""
    compared = second["compared"]
    flipped = [one for one in compared if one["flipped"]]
    ratios = [one["ratio"] for one in compared if one["ratio"] is not None]
    mean, part = geometric_mean(ratios) if ratios else 1.0, len(flipped) / max(len(compared), 1)
    lines = [f"  {one['problem']}: {one['before']} -> {one['now']}, {_told(one['ratio'])}" for one in flipped]
    lines.append(f"{len(flipped)} of {len(compared)} rows differ ({part:.1%}); time of all winners: {mean:.4f}")
    doubts = f"{first['doubtful']} and {second['doubtful']} winners in doubt"
    late = f"{first['late']} and {second['late']} candidates not timed"
    lines.append(f"{doubts}, {late}; {first['measured']} and {second['measured']} measurements")
    return lines, part <= MOST_ROWS and abs(mean - 1) <= MOST_TIME and len(compared) == len(list(shapes()))


def _told(ratio: float | None) -> str:
    return f"{ratio:.3f} of its time" if ratio is not None else "not timed in turns: the budget was spent"


def main() -> None:
    """Tunes twice; exit 1 beyond the bounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=int, default=300)
    budget: int = parser.parse_args().budget
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (folder / "shapes.csv").open("w", newline="") as file:
            csv.writer(file).writerows([COLUMNS, *shapes()])
        tune(folder, "none.csv", 0)
        began = time.monotonic()
        first = tune(folder, "first.csv", budget)
        between = time.monotonic()
        second = tune(folder, "second.csv", budget, "--compare", str(folder / "first.csv"))
        seconds = f"{between - began:.0f} s and {time.monotonic() - between:.0f} s"
    lines, holds = verdict(first, second)
    print("\n".join([*lines, seconds]))
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    main()
