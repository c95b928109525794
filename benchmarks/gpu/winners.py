"""A tuning table of what `on_device table` timed, to stdout.

    python winners.py DEVICE DRIVER ROUNDS DATE TABLE.csv... > hopper_fp8_tuned_gemm.csv

DEVICE is the driver's name of it: rows of another product than an H100 say so in a column `sku`. A time is the
median of the TABLEs, runs of the same problems in processes of their own. Of each problem our fastest kernel; of
those within 1 % of it the one that is fastest or so on most problems. Where cuBLASLt was timed and ours was not the
faster one in every table, a row of cuBLASLt's too: the first answer of its heuristic, or another that was faster in
every table and by over 2 % in the median, which is what times of one kernel differ by. Of groups times count whose
sizes the host knows, and a row has their largest sizes.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter, defaultdict
from pathlib import Path
from statistics import median

from ckgen.model.target import Target
from ckgen.specs import load_arch
from ckgen.tables.cell_readers import SKU_COLUMN
from ckgen.version import __version__

COLUMNS = (
    "gfx", "cu_num", "signature", "B", "M", "N", "K", "experts", "top_k", "sizes", "kernelName", "splitK", "us",
    "spread", "runs", "tried", "device", "driver", "tool", "date",
)  # fmt: skip
PEER = "cublaslt"
FIRST = "first"
OTHERS = ("cublaslt_loop", "torch", "kernel")
ON_DEVICE = "@device"
EQUAL, NOISE = 1.01, 1.02
GFX, SMS = "sm_90a", 132

Problem = tuple[str, int, int, int, int]
"""Signature, batch, N, K, M."""
Times = dict[str, list[float]]
"""Microseconds of each kernel of a problem in each table, `/S` behind its name for S splits; cuBLASLt's answers by the
names that tables have for them."""


def main(device: str, driver: str, rounds: str, date: str, *tables: str) -> int:
    """0."""
    arch = load_arch(GFX)
    target = Target(GFX, SMS, arch.told_apart(SMS, arch.word_of_device(SMS, device)))
    columns = [*COLUMNS[:2], *([SKU_COLUMN] if target.sku else []), *COLUMNS[2:]]
    times = times_of(tuple(map(Path, tables)))
    ours = {problem: {kernel: us for kernel, us in of.items() if not is_peer(kernel)} for problem, of in times.items()}
    writer = csv.DictWriter(sys.stdout, columns, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for problem, kernel in sorted(winners(ours).items()):
        signature, batch, n, k, m = problem
        answers = {name: us for name, us in times[problem].items() if is_peer(name)}
        theirs = [name for name in [answer(answers)] if name and not is_faster(ours[problem][kernel], answers[name])]
        for one in (kernel, *theirs):
            name, _, splits = one.partition("/")
            row = {
                "gfx": GFX, "cu_num": SMS, SKU_COLUMN: target.sku, "signature": signature, "B": batch, "M": m,
                "N": n, "K": k, "experts": 0, "top_k": 0, "kernelName": name, "splitK": splits or 1,
                "us": f"{median(times[problem][one]):.2f}", "runs": rounds,
                "tried": len(answers if one in theirs else ours[problem]), "device": device, "driver": driver,
                "tool": f"ckgen {__version__}", "date": date,
            }  # fmt: skip
            writer.writerow(row)
    return 0


def winners(times: dict[Problem, Times]) -> dict[Problem, str]:
    """Of each problem the kernel to take."""
    medians = {problem: {kernel: median(us) for kernel, us in of.items()} for problem, of in times.items() if of}
    equal = {
        problem: [kernel for kernel, us in of.items() if us <= min(of.values()) * EQUAL]
        for problem, of in medians.items()
    }
    wins = Counter((problem[0], kernel) for problem, kernels in equal.items() for kernel in kernels)
    return {
        problem: min(kernels, key=lambda one: (-wins[problem[0], one], medians[problem][one], one))
        for problem, kernels in equal.items()
    }


def answer(answers: Times) -> str | None:
    """Which of cuBLASLt's a row may name: its first one, but for one that is clearly faster; None without any."""
    named = {name: us for name, us in answers.items() if not name.endswith(f"_{FIRST}")}
    best = min(named, key=lambda name: median(named[name]), default=None)
    first = next((name for name in answers if name not in named), None)
    if best is None or first is None:
        return best or first
    is_clear = is_faster(named[best], answers[first]) and median(named[best]) * NOISE < median(answers[first])
    return best if is_clear else first


def is_faster(times: list[float], others: list[float]) -> bool:
    """Or as fast, in every table."""
    return all(us <= other for us, other in zip(times, others, strict=True))


def is_peer(kernel: str) -> bool:
    """Whether it is an answer of cuBLASLt's."""
    return kernel.startswith(f"{PEER}:")


def times_of(tables: tuple[Path, ...]) -> dict[Problem, Times]:
    """Of each problem, the kernels that every table with the problem has."""
    found: dict[Problem, list[dict[str, float]]] = defaultdict(list)
    for table in tables:
        for problem, of in times_in(table).items():
            found[problem].append(of)
    return {
        problem: {kernel: [of[kernel] for of in runs] for kernel in runs[0] if all(kernel in of for of in runs)}
        for problem, runs in found.items()
    }


def times_in(table: Path) -> dict[Problem, dict[str, float]]:
    """cuBLASLt's own choice is its first answer, of the version that others are named with."""
    with table.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    named = (name.removeprefix(f"{PEER}:") for name in map(named_as_in_tables, rows) if is_peer(name))
    version = next(named, "").partition("_")[0]
    found: dict[Problem, dict[str, float]] = defaultdict(dict)
    for row in rows:
        kernel = named_as_in_tables(row)
        if kernel in OTHERS or kernel.endswith(ON_DEVICE) or (kernel == PEER and not version):
            continue
        largest = max(map(int, (row.get("groups") or row["m"]).split(";")))
        problem = (row["signature"], int(row.get("batch") or 0), int(row["n"]), int(row["k"]), largest)
        found[problem][f"{PEER}:{version}_{FIRST}" if kernel == PEER else kernel] = float(row["us"])
    return found


def named_as_in_tables(row: dict[str, str]) -> str:
    """The kernel; one of cuBLASLt's that selection took has an instance's name."""
    return row["kernel"].replace(f"{row['signature']}_{PEER}_", f"{PEER}:")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
