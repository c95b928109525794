"""Generation over all shipped tables and every operation, cold and repeated, and the start of the command line."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from support import ROOT, Row, Run, main
from timed import Cost, timed

from ckgen.measure.timing import Sample

TARGETS = "gfx942;gfx942:80;gfx950"
_ROUNDS, _STARTS = 5, 15
_GENERATED = ("cold", "memory", "repeated", "touched", "files", "instances", "signatures")


def rows(run: Run) -> Iterator[Row]:
    """What generating takes and makes, and what `ckgen --version` takes."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "codegen")}
    if any(map(run.wants, _GENERATED)):
        yield from (row for row in _generation(run, environment) if run.wants(row.name.split(".")[1]))
    if run.wants("version"):
        ways = {"ckgen": ["-m", "ckgen", "--version"], "import click": ["-c", "import click"]}
        times: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(1 if run.quick else _STARTS):
            for name, words in ways.items():
                times[name].append(timed([sys.executable, *words], env=environment).seconds)
        samples = {name: Sample(tuple(seconds)) for name, seconds in times.items()}
        ours, peers = samples.pop("ckgen"), {f"python -c {name!r}": sample for name, sample in samples.items()}
        yield run.timed("version", "ckgen --version", "", ours, peers)


def _generation(run: Run, environment: dict[str, str]) -> Iterator[Row]:
    tables = ROOT / "tuning/aiter"
    generate = [sys.executable, "-m", "ckgen", "generate", "--targets", TARGETS, "--tuning", str(tables), "--json"]
    cold, again, touched = [], [], 0
    for index in range(1 if run.quick else _ROUNDS):
        out = run.folder / str(index)
        command = [*generate, "--out", str(out)]
        cold.append(timed(command, env=environment))
        before = _times(out)
        again.append(timed(command, env=environment))
        touched += len(_times(out).items() ^ before.items())
    manifest = json.loads((run.folder / "0/manifest.json").read_text(encoding="utf-8"))
    shape = f"{sum(1 for _ in tables.rglob('*.csv'))} tables, all operations, {TARGETS}"
    yield run.timed("cold", "generate", shape, _sample(cold), {}, unit="s")
    yield run.counted("memory", "generate: memory", shape, "MB", round(max(cost.peak_mb for cost in cold)))
    yield run.timed("repeated", "generate again", shape, _sample(again), {}, unit="s")
    yield run.counted("touched", "generate again", shape, "files touched", touched)
    yield run.counted("files", "generate", shape, "files", len(manifest["files"]))
    instances = manifest["summary"]["instances"]
    yield run.counted("instances", "generate", shape, "instances", sum(instances.values()))
    yield run.counted("signatures", "generate", shape, "signatures", len(instances))


def _sample(costs: list[Cost]) -> Sample:
    return Sample(tuple(cost.seconds for cost in costs))


def _times(tree: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in sorted(tree.rglob("*"))}


if __name__ == "__main__":
    main(rows, __doc__)
