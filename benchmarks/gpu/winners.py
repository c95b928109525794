"""A tuning table of what `on_device table` timed, to stdout.

    python winners.py TABLE.csv DEVICE DRIVER ROUNDS DATE > hopper_fp8_tuned_gemm.csv

DEVICE is the driver's name of it: rows of another product than an H100 say so in a column `sku`. Of each problem our
fastest kernel; of those within 1 % of it the one that is fastest or so on most problems. Where answers of cuBLASLt were
timed and one is over 1 % faster than that, a row of it too. Of groups times count whose sizes the host knows, and a row
has their largest sizes.
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
OTHERS = (PEER, "cublaslt_loop", "torch", "kernel")
ON_DEVICE = "@device"
EQUAL = 1.01
GFX, SMS = "sm_90a", 132

Problem = tuple[str, int, int, int, int]
"""Signature, batch, N, K, M."""
Times = dict[Problem, dict[str, float]]


def main(table: str, device: str, driver: str, rounds: str, date: str) -> int:
    """0."""
    arch = load_arch(GFX)
    target = Target(GFX, SMS, arch.told_apart(SMS, arch.word_of_device(SMS, device)))
    columns = [*COLUMNS[:2], *([SKU_COLUMN] if target.sku else []), *COLUMNS[2:]]
    ours, theirs = times_of(Path(table))
    best, best_of_theirs = winners(ours), winners(theirs)
    writer = csv.DictWriter(sys.stdout, columns, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for problem, kernel in sorted(best.items()):
        signature, batch, n, k, m = problem
        chosen = [(kernel, ours[problem])]
        if problem in theirs and theirs[problem][best_of_theirs[problem]] * EQUAL < min(ours[problem].values()):
            chosen.append((best_of_theirs[problem], theirs[problem]))
        for one, of in chosen:
            name, _, splits = one.partition("/")
            row = {
                "gfx": GFX, "cu_num": SMS, SKU_COLUMN: target.sku, "signature": signature, "B": batch, "M": m,
                "N": n, "K": k, "experts": 0, "top_k": 0, "kernelName": name, "splitK": splits or 1,
                "us": f"{of[one]:.2f}", "runs": rounds, "tried": len(of), "device": device, "driver": driver,
                "tool": f"ckgen {__version__}", "date": date,
            }  # fmt: skip
            writer.writerow(row)
    return 0


def winners(times: Times) -> dict[Problem, str]:
    """Of each problem the kernel to take."""
    equal = {
        problem: [kernel for kernel, us in of.items() if us <= min(of.values()) * EQUAL]
        for problem, of in times.items()
    }
    wins = Counter((problem[0], kernel) for problem, kernels in equal.items() for kernel in kernels)
    return {
        problem: min(kernels, key=lambda one: (-wins[problem[0], one], times[problem][one], one))
        for problem, kernels in equal.items()
    }


def times_of(table: Path) -> tuple[Times, Times]:
    """Microseconds of each kernel of ours, `/S` behind its name for S splits, and of cuBLASLt's answers by name."""
    found: tuple[Times, Times] = defaultdict(dict), defaultdict(dict)
    with table.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            kernel = row["kernel"].replace(f"{row['signature']}_{PEER}_", f"{PEER}:")  # one that selection took
            if kernel not in OTHERS and not kernel.endswith(ON_DEVICE):
                rows = max(map(int, (row.get("groups") or row["m"]).split(";")))
                problem = (row["signature"], int(row.get("batch") or 0), int(row["n"]), int(row["k"]), rows)
                found[kernel.startswith(f"{PEER}:")][problem][kernel] = float(row["us"])
    return found


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
