"""Lookup over the shipped rows against an unordered_map keyed as AITER keys it; compile cost of the lookup headers."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from shipped import shipped_plan
from support import CXX, ROOT, compiler, cpu_name, timed

from ckgen import paths
from ckgen.emit.render import render
from ckgen.specs.archs import load_archs

MODULE = "a8w8_blockscale"


def main() -> None:
    """Prints the table."""
    plan = shipped_plan()
    units = [unit for unit in plan.units if unit.module == MODULE and unit.tables and unit.signature.c.value == "bf16"]
    archs = sorted(load_archs())
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        for path, text in render(plan, "bench").items():
            (here / path).parent.mkdir(parents=True, exist_ok=True)
            (here / path).write_text(text, encoding="utf-8")
        _write_inputs(here, units, archs)
        flags = ["-std=c++17", "-O2", f"-I{paths.dispatcher_dir() / 'include'}", f"-I{here}"]
        header = timed([CXX, *flags, "-c", str(here / "headers.cpp"), "-o", str(here / "headers.o")])
        subprocess.run([CXX, *flags, str(ROOT / "benchmarks/lookup.cpp"), "-o", str(here / "bench")], check=True)
        sections = subprocess.run(
            ["objdump", "-h", str(here / "headers.o")], capture_output=True, text=True, check=True
        ).stdout
        done = subprocess.run([str(here / "bench")], capture_output=True, text=True, check=True)
    values = dict(line.split() for line in done.stdout.splitlines())
    print(f"lookup  {cpu_name()}, {compiler()} -O2, 65,536 random keys over {values['rows']} rows, median of 11")
    for name in ("hit", "between", "miss"):
        ours, theirs = float(values[f"ckgen_{name}"]), float(values[f"map_{name}"])
        print(
            f"  {name:8} ckgen table {ours:6.1f} ns   AITER-style unordered_map {theirs:6.1f} ns   {theirs / ours:.1f}x"
        )
    print(f"  all lookup headers of {MODULE}: compile {header.seconds:.2f} s, {header.peak_mb:.0f} MB")
    print(f"  static constructors: {'yes' if '.init_array' in sections or '.ctors' in sections else 'none'}")
    print(f"  unanswered rows: {values['unanswered']}")
    print("reproduce: python benchmarks/lookup.py")


def _write_inputs(here: Path, units: list, archs: list[str]) -> None:  # type: ignore[type-arg]
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
    (here / "headers.cpp").write_text(
        "\n".join(includes) + f"\nconst ckgen::LookupTable* const used[] = {{{', '.join(tables)}}};\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
