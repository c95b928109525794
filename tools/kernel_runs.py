"""What the tools have in common that run kernels of ours of attention on the emulator, one after the other."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ckgen.families.fmha.instance import FmhaInstance
from kernel_records import cells, found_in, gate_of, read, right_of, write_table


def parser_of(about: str) -> argparse.ArgumentParser:
    """The options of `run_all`, of a tool whose docstring is `about`."""
    parser = argparse.ArgumentParser(usage=about.partition("usage: ")[2].partition("\n\n")[0])
    parser.add_argument("--kernel", action="append")
    parser.add_argument("--arch", action="append")
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--out", type=Path)
    return parser


def run_all(
    chosen: argparse.Namespace,
    name: str,
    schema: str,
    head: str,
    instances: Iterable[tuple[FmhaInstance, str]],
    run: Callable[[FmhaInstance, str], dict[str, Any]],
) -> int:
    """Runs what is chosen, keeps each record in NAME.json of `chosen.out`, if any; 1 where one is not well, else 0."""
    place = chosen.out / f"{name}.json" if chosen.out else None
    known = read(place)["kernels"]
    began, bad = time.perf_counter(), 0
    for instance, arch in instances:
        key = f"{arch}/{instance.name}"
        wanted = any(fnmatchcase(instance.name, glob) for glob in chosen.kernel or ["*"])
        if not wanted or (chosen.arch and arch not in chosen.arch) or (key in known and not chosen.again):
            continue
        if time.perf_counter() - began > 60 * chosen.minutes:
            break
        known[key] = run(instance, arch)
        bad += not is_well(known[key])
        print(row(key, known[key]), flush=True)
        if place:
            write_table(place, schema, head, known, row)
    return 1 if bad else 0


def is_well(record: Mapping[str, Any]) -> bool:
    """Gated, and where it ran right and clean."""
    runs = record.get("runs", {"wrong": [], "findings": {}})
    return not record["gate"] and not runs["wrong"] and not runs["findings"]


def row(key: str, record: Mapping[str, Any]) -> str:
    """A row of the page."""
    runs = record.get("runs")
    right, found = (right_of(runs), found_in(runs["findings"])) if runs else ("not executed", "")
    return cells(key, record["figures"], gate_of(record["gate"]), right, found)
