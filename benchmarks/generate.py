"""Generation over all shipped tables, cold and repeated, and the start-up of the command line."""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from support import ROOT, cpu_name, timed

TARGETS = "gfx942;gfx942:80;gfx950"
ROUNDS = 5
STARTS = 15


def main() -> None:
    """Prints the table."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "codegen")}
    python = sys.executable
    with tempfile.TemporaryDirectory() as folder:
        generate = [python, "-m", "ckgen", "generate", "--ops", "gemm", "--targets", TARGETS]
        generate += ["--tuning", str(ROOT / "tuning/aiter"), "--json"]
        cold, again = [], []
        with Path(os.devnull).open("w") as null:
            for index in range(ROUNDS):
                command = [*generate, "--out", f"{folder}/{index}"]
                cold.append(timed(command, env=environment, stdout=null, stderr=null))
                before = _times(Path(folder) / str(index))
                again.append(timed(command, env=environment, stdout=null, stderr=null))
                assert _times(Path(folder) / str(index)) == before, "a repeated run touched files"
            version = [python, "-m", "ckgen", "--version"]
            click = [python, "-c", "import click"]
            ours, theirs = [], []
            for _ in range(STARTS):
                ours.append(timed(version, env=environment, stdout=null).seconds)
                theirs.append(timed(click, env=environment, stdout=null).seconds)
        files = len(json.loads((Path(folder) / "0/manifest.json").read_text(encoding="utf-8"))["files"])
    first, second = (statistics.median(cost.seconds for cost in costs) for costs in (cold, again))
    start, bare = statistics.median(ours), statistics.median(theirs)
    print(f"generate  {cpu_name()}, Python {sys.version.split()[0]}, 102 tables, {TARGETS}, median of {ROUNDS}")
    print(f"  from nothing   {first:5.2f} s   {max(cost.peak_mb for cost in cold):4.0f} MB   {files} files")
    print(f"  repeated       {second:5.2f} s   {max(cost.peak_mb for cost in again):4.0f} MB   0 files touched")
    starts = f"{1000 * start:.0f} ms   python -c 'import click' {1000 * bare:.0f} ms   {start / bare:.2f}x"
    print(f"  ckgen --version  {starts}")
    print("reproduce: python benchmarks/generate.py")


def _times(tree: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in sorted(tree.rglob("*"))}


if __name__ == "__main__":
    main()
