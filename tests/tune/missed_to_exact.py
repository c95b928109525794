"""What a program missed, tuned, built in and answered exactly: `python tests/tune/missed_to_exact.py`.

A program selects for 20 shapes of bf16 under CKGEN_RECORD; libraries of the signature are built before. Then the clock
runs: `ckgen tune all --missing`, the program's library is built again with the table, and the program asks once more.
Exit 1 where a shape is not answered exactly, or beyond 60 seconds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST_SECONDS, BUDGET = 60.0, "30s"
SIGNATURE, NAME = "gemm_bf16_rcr", "missed"
SHAPES = [(m, n, k) for n, k in ((768, 4096), (4096, 512), (1536, 1024), (640, 2048)) for m in (1, 3, 12, 40, 100)]


def ask(library: Path) -> None:
    """The program: prints the tier of each shape."""
    from ckgen.runtime import RuntimeLibrary
    from ckgen.specs.native import own_cpu

    loaded = RuntimeLibrary(library)
    dispatcher, device = loaded.dispatcher([NAME]), loaded.simulated(str(own_cpu()))
    tiers = [str(dispatcher.select(loaded.problem(SIGNATURE, *shape), device).tier) for shape in SHAPES]
    print(json.dumps(tiers))


def asked(library: Path, **environment: str) -> list[str]:
    """What the program says, in a process of its own."""
    command = [sys.executable, __file__, str(library)]
    done = subprocess.run(command, stdout=subprocess.PIPE, env=os.environ | environment, check=True)
    found: list[str] = json.loads(done.stdout)
    return found


def ckgen(*words: str) -> None:
    """Runs a command; it may find candidates that fail."""
    if subprocess.run([sys.executable, "-m", "ckgen", *words], stdout=sys.stderr, check=False).returncode > 1:
        sys.exit(f"ckgen {' '.join(words)} failed")


def verdict(before: list[str], after: list[str], seconds: Mapping[str, float]) -> tuple[str, bool]:
    """A line for people, and whether every shape was missed before, is exact now, and all was soon enough."""
    exact, missed = after.count("exact"), sum(tier not in ("exact", "near") for tier in before)
    told = ", ".join(f"{what} {took:.1f} s" for what, took in seconds.items())
    line = f"{missed} of {len(before)} missed; {exact} of {len(after)} exact after {told}"
    whole = sum(seconds.values())
    return f"{line}: {whole:.1f} s", missed == exact == len(SHAPES) and whole <= MOST_SECONDS


def main() -> None:
    """Misses, tunes, builds and asks; exit 1 where it does not hold."""
    from ckgen import paths
    from ckgen.build.runtime_library import RuntimeProject, build_runtime
    from ckgen.specs.native import own_cpu
    from ckgen.tune.table import NO_TABLE

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table, records = folder / "tuned.csv", folder / "records"
        table.write_bytes(NO_TABLE.head)
        tables = (*(path.absolute() for path in paths.shipped_tables()), table)
        project = RuntimeProject(NAME, folder / "program", (own_cpu(),), (SIGNATURE,), ("gemm",), tables)
        before = asked(build_runtime(project, _say), CKGEN_RECORD=str(records))
        tune = ("tune", "all", "--missing", str(records), "--min-improvement", "0", "--budget", BUDGET)
        tune = (*tune, "--out", str(table))
        ckgen(*tune, "--build-only")
        began = time.monotonic()
        ckgen(*tune)
        tuned = time.monotonic()
        after = asked(build_runtime(project, _say))
        seconds = {"tuning": tuned - began, "building": time.monotonic() - tuned}
    line, holds = verdict(before, after, seconds)
    print(line)
    sys.exit(0 if holds else 1)


def _say(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "codegen")]
    if len(sys.argv) > 1:
        ask(Path(sys.argv[1]))
    else:
        main()
