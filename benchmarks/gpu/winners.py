"""A tuning table of what `on_device table` timed, to stdout.

    python winners.py TABLE.csv DEVICE DRIVER ROUNDS DATE > h100_fp8_tuned_gemm.csv

DEVICE is the driver's name of it: rows of another product than an H100 say so in a column `sku`. Of each problem the
fastest kernel; of those within 1 % of it the one that is fastest or so on most problems.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter, defaultdict
from pathlib import Path

from ckgen.model.target import Target
from ckgen.specs import load_arch
from ckgen.tables.cell_readers import SKU_COLUMN
from ckgen.version import __version__

COLUMNS = (
    "gfx", "cu_num", "signature", "B", "M", "N", "K", "experts", "top_k", "sizes", "kernelName", "splitK", "us",
    "spread", "runs", "tried", "device", "driver", "tool", "date",
)  # fmt: skip
PEER = "cublaslt"
EQUAL = 1.01
GFX, SMS = "sm_90a", 132

Problem = tuple[str, int, int, int]
"""Signature, N, K, M."""


def main(table: str, device: str, driver: str, rounds: str, date: str) -> int:
    """0."""
    arch = load_arch(GFX)
    target = Target(GFX, SMS, arch.told_apart(SMS, arch.word_of_device(SMS, device)))
    columns = [*COLUMNS[:2], *([SKU_COLUMN] if target.sku else []), *COLUMNS[2:]]
    times = times_of(Path(table))
    wins = Counter(
        (problem[0], kernel)
        for problem, of in times.items()
        for kernel, us in of.items()
        if us <= min(of.values()) * EQUAL
    )
    writer = csv.DictWriter(sys.stdout, columns, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for problem, of in sorted(times.items()):
        signature, n, k, m = problem
        equal = [kernel for kernel, us in of.items() if us <= min(of.values()) * EQUAL]
        best = min(equal, key=lambda kernel: (-wins[signature, kernel], of[kernel], kernel))
        name, _, splits = best.partition("/")
        row = {
            "gfx": GFX, "cu_num": SMS, SKU_COLUMN: target.sku, "signature": signature, "B": 0, "M": m, "N": n, "K": k,
            "experts": 0, "top_k": 0, "kernelName": name, "splitK": splits or 1, "us": f"{of[best]:.2f}",
            "runs": rounds, "tried": len(of), "device": device, "driver": driver, "tool": f"ckgen {__version__}",
            "date": date,
        }  # fmt: skip
        writer.writerow(row)
    return 0


def times_of(table: Path) -> dict[Problem, dict[str, float]]:
    """Microseconds of each kernel, `/S` behind its name for S splits."""
    found: dict[Problem, dict[str, float]] = defaultdict(dict)
    with table.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            if row["kernel"] not in (PEER, "kernel"):
                problem = (row["signature"], int(row["n"]), int(row["k"]), int(row["m"]))
                found[problem][row["kernel"]] = float(row["us"])
    return found


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
