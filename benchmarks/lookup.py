"""Lookup over the shipped rows against maps of exact shapes, and what the lookup headers cost a compiler.

Peers: an unordered_map keyed as AITER keys it, and a flat one with numbers for keys. A map finds only exact shapes:
what lies between two rows is a miss there.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ours import SHIPPED, lines_of
from support import CXX, ROOT, Row, Run, main
from timed import timed

from ckgen import paths
from ckgen.emit.render import render
from ckgen.measure.timing import Sample
from ckgen.plan.planner import make_plan
from ckgen.specs.archs import load_archs

MODULE = "a8w8_blockscale"
SETS = {"hit": "a row's own shape", "between": "M between two rows", "miss": "no such N, K"}
WAYS = {"aiter": "unordered_map as in AITER", "flat": "flat map of numbers"}
_ROUNDS = 21


def rows(run: Run) -> Iterator[Row]:
    """A row for each kind of query, and for the headers' cost."""
    if not any(map(run.wants, [*SETS, "headers", "headers-memory", "constructors"])):
        return
    plan = make_plan(SHIPPED, load_archs())
    units = [unit for unit in plan.units if unit.module == MODULE and unit.tables and unit.signature.c.value == "bf16"]
    here = run.folder
    for path, text in render(plan, "bench").items():
        (here / path).parent.mkdir(parents=True, exist_ok=True)
        (here / path).write_text(text, encoding="utf-8")
    count = _write_inputs(here, units, sorted(load_archs()))
    flags = ["-std=c++17", "-O2", f"-I{paths.dispatcher_dir() / 'include'}", f"-I{here}"]
    subprocess.run([CXX, *flags, str(ROOT / "benchmarks/lookup.cpp"), "-o", str(here / "bench")], check=True)
    shape = f"65,536 random keys over {count:,} rows of {MODULE}"
    found: dict[str, dict[str, Sample]] = {}
    for name, way, _, _, *ns in lines_of(here / "bench", 1 if run.quick else _ROUNDS):
        found.setdefault(name, {})[way] = Sample(tuple(float(one) * 1e-9 for one in ns))
    for name, what in SETS.items():
        if run.wants(name):
            peers = {title: found[name][way] for way, title in WAYS.items()}
            yield run.timed(name, f"lookup, {what}", shape, found[name]["ckgen"], peers, unit="ns")
    yield from _headers(run, here, flags)


def _headers(run: Run, here: Path, flags: list[str]) -> Iterator[Row]:
    compiling = [CXX, *flags, "-c", str(here / "headers.cpp"), "-o", str(here / "headers.o")]
    costs = [timed(compiling, env={"PATH": "/usr/bin:/bin"}) for _ in range(1 if run.quick else 5)]
    what, shape = "all lookup headers compiled", f"{MODULE}, -O2"
    if run.wants("headers"):
        yield run.timed("headers", what, shape, Sample(tuple(cost.seconds for cost in costs)), {}, unit="s")
    if run.wants("headers-memory"):
        yield run.counted("headers-memory", f"{what}: memory", shape, "MB", round(max(c.peak_mb for c in costs)))
    if run.wants("constructors"):
        listed = subprocess.run(["objdump", "-h", str(here / "headers.o")], capture_output=True, text=True, check=True)
        sections = sum(word in listed.stdout for word in (".init_array", ".ctors"))
        yield run.counted("constructors", f"{what}: sections of constructors", shape, "sections", sections)


def _write_inputs(here: Path, units: list[Any], archs: list[str]) -> int:
    rows, includes, tables = [], [], []
    for unit in units:
        for table in unit.tables:
            symbol = f"{table.target.gfx}_{table.target.cu_num}"
            includes.append(f'#include "{unit.name}/lookup_{symbol}.hpp"')
            tables.append(f"&bench::{unit.name}::{symbol}::table")
            arch = 1 + archs.index(table.target.gfx)
            for (n, k, _), group in table.groups.items():
                head = f'"{table.target.gfx}", {arch}, {table.target.cu_num}'
                rows += [f"{{{head}, {m}, {n}, {k}}}," for m in sorted(group.rows)]
    (here / "rows.inc").write_text("\n".join(rows), encoding="utf-8")
    constants = f"inline constexpr const ckgen::LookupTable* tables[] = {{{', '.join(tables)}}};\n"
    (here / "tables.inc").write_text("\n".join(includes) + "\n" + constants, encoding="utf-8")
    used = f"\nconst ckgen::LookupTable* const used[] = {{{', '.join(tables)}}};\n"
    (here / "headers.cpp").write_text("\n".join(includes) + used, encoding="utf-8")
    return len(rows)


if __name__ == "__main__":
    main(rows, __doc__)
