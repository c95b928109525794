"""A journal, as `ckgen predict` takes it, of what `on_device table` timed: every kernel of every problem.

    python journal.py DEVICE DRIVER ROUNDS OUT.jsonl TABLE.csv...

Other libraries' kernels are left out. `ckgen predict` also reads what `xz` makes of it.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from pathlib import Path

from ckgen.fuzz.case import Case
from ckgen.measure.model import Candidate, Environment, Measured, MeasureStatus
from ckgen.model.target import Target
from ckgen.specs import load_arch
from ckgen.tune.journal import Header, Journal

GFX, SMS = "sm_90a", 132
OWN = "_cutlass_"


def main(device: str, driver: str, rounds: str, out: str, *tables: str) -> int:
    """0."""
    arch = load_arch(GFX)
    target = Target(GFX, SMS, arch.told_apart(SMS, arch.word_of_device(SMS, device)))
    header = Header("on_device", Environment(device, str(target), driver, 1, ()))
    with Journal(Path(out), header) as journal:
        for table in map(Path, tables):
            for problem, times in times_of(table, target).items():
                for name, us in times.items():
                    kernel, _, splits = name.partition("/")
                    candidate = Candidate(kernel, int(splits or 1))
                    took = Measured(candidate, MeasureStatus.OK, median_us=us, runs=int(rounds))
                    journal.measured(problem, "table", 1, took)
    return 0


def times_of(table: Path, target: Target) -> dict[str, dict[str, float]]:
    """Microseconds of our kernels by the problem's text; `/S` behind a name for S splits."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    with table.open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            if OWN in row["kernel"]:
                m, n, k = (int(row[name]) for name in ("m", "n", "k"))
                problem = Case(row["signature"], str(target), m=m, n=n, k=k).text()
                found[problem][row["kernel"]] = float(row["us"])
    return found


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
