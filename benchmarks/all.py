"""Runs all benchmarks and renews docs/benchmarks.json and the tables of docs/benchmarks.md.

    python benchmarks/all.py [--only NAME ...] [--threads N] [--quick]
    python benchmarks/all.py --check | --render

Rows of other CPUs stay. --quick shows that each of them works and renews nothing. --check says what page, JSON and the
commands that documents name do not have in common; --render renews the page alone. A benchmark that fails keeps its
rows. Exit: 0, 1 where one failed or something differs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time

from page import BENCHMARKS, FIGURES, PAGE, problems, read_rows, rendered, renewed, text_of
from support import ROOT, Row


def main() -> int:
    """Runs, checks or renders."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", action="append", choices=BENCHMARKS, metavar="NAME", help="of the benchmarks; again")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--quick", action="store_true", help="one round each, renews nothing")
    parser.add_argument("--check", action="store_true", help="run nothing, hold page and JSON to one another")
    parser.add_argument("--render", action="store_true", help="run nothing, make the page of the JSON")
    given = parser.parse_args()
    if given.check:
        found = list(problems(PAGE.read_text(encoding="utf-8"), read_rows(), documents()))
        print("\n".join(found) or "page, JSON and commands agree")
        return 1 if found else 0
    failed = [] if given.render else run_all(given.only or BENCHMARKS, given.threads, quick=given.quick)
    if not given.quick:
        PAGE.write_text(rendered(PAGE.read_text(encoding="utf-8"), read_rows()), encoding="utf-8")
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def run_all(names: tuple[str, ...], threads: int, *, quick: bool) -> list[str]:
    """Those that failed. Rows are written after each benchmark."""
    failed, began = [], time.perf_counter()
    for number, name in enumerate(names, start=1):
        load = os.getloadavg()[0]
        print(f"[{number}/{len(names)}] {name}, load {load:.1f}, {time.perf_counter() - began:.0f} s", file=sys.stderr)
        command = [sys.executable, str(ROOT / f"benchmarks/{name}.py"), "--json", "--threads", str(threads)]
        done = subprocess.run(
            [*command, *(["--quick"] if quick else [])], stdout=subprocess.PIPE, text=True, check=False
        )
        if done.returncode != 0:
            failed.append(name)
        elif not quick:
            made = (Row(**row) for row in json.loads(done.stdout))
            FIGURES.write_text(text_of(renewed(read_rows(), made, name)), encoding="utf-8")
    print(f"all: {time.perf_counter() - began:.0f} s", file=sys.stderr)
    return failed


def documents() -> dict[str, str]:
    """Every page of docs/, the README and the page of contributing, by their paths."""
    paths = [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in sorted(paths)}


if __name__ == "__main__":
    sys.exit(main())
