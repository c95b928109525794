"""docs/benchmarks.json and the tables of docs/benchmarks.md: one row for each figure, and the page made of the rows.

A block of the page stands between `<!-- figures: NAME -->` and `<!-- end -->` and holds what `benchmarks/NAME.py` said,
a table for each CPU.
All else on the page is written by hand, and quotes no figure that no row has.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import TextWrapper
from typing import Any

from support import ROOT, Row, option_parser

PAGE, FIGURES = ROOT / "docs/benchmarks.md", ROOT / "docs/benchmarks.json"
BENCHMARKS = (
    "generate", "lookup", "select_kernel", "fmha_select", "recorder", "leave_one_out", "gemm", "gemv", "invariance",
    "grouped", "moe", "fmha", "fmha_bwd", "fmha_serving", "fmha_split", "fmha_torch", "tuning", "emulator",
)  # fmt: skip
"""Each is a file of this folder, and a block of the page."""
_BLOCK = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end -->\n)", re.DOTALL)
_FIGURE = re.compile(
    r"(?<![\w.,])\d[\d,.]*\s?(?:×|%|[nµm]?s|[MG]B(?:/s)?|GF(?:LOP)?/s|files|instances|signatures|sections)(?!\w| ?\d)"
)
_WRAPPER = TextWrapper(120, break_long_words=False, break_on_hyphens=False)
_COMMAND = re.compile(r"python benchmarks/[^`;|\n]*")


def read_rows(path: Path = FIGURES) -> list[Row]:
    """All rows, in the order of the benchmarks; none where there is no file yet."""
    if not path.exists():
        return []
    return [Row(**row) for row in json.loads(path.read_text(encoding="utf-8"))]


def text_of(rows: Iterable[Row]) -> str:
    """The JSON, a line for each row, the benchmarks in their order."""
    order = sorted(rows, key=lambda row: BENCHMARKS.index(_benchmark(row)))
    fields = (json.dumps({name: getattr(row, name) for name in Row.__slots__}, ensure_ascii=False) for row in order)
    return "[\n" + ",\n".join(fields) + "\n]\n"


def rendered(page: str, rows: Iterable[Row]) -> str:
    """The page with every block made of the rows."""
    of: dict[str, list[Row]] = {}
    for row in rows:
        of.setdefault(_benchmark(row), []).append(row)
    return _BLOCK.sub(lambda found: found[1] + "\n".join(_tables(of.get(found[2], []))) + found[3], page)


def renewed(known: Iterable[Row], found: Iterable[Row], benchmark: str) -> list[Row]:
    """All rows, those of a run in place of the benchmark's on its CPU."""
    made = list(found)
    cpus = {row.cpu for row in made}
    return [*(row for row in known if _benchmark(row) != benchmark or row.cpu not in cpus), *made]


def problems(page: str, rows: list[Row], documents: dict[str, str]) -> Iterator[str]:
    """What page, rows and the commands that documents name do not have in common, a sentence each."""
    if rendered(page, rows) != page:
        yield "docs/benchmarks.md: a table is not that of docs/benchmarks.json (python benchmarks/all.py --render)"
    blocks = [found[2] for found in _BLOCK.finditer(page)]
    for name in sorted({*BENCHMARKS} ^ {*blocks}):
        yield f"docs/benchmarks.md: benchmark {name} is not one block of the page, or the block no benchmark"
    known = {figure for row in rows for figure in _figures(row)}
    for found in _FIGURE.finditer(_BLOCK.sub("", page)):
        if found[0].replace(" ", "") not in known:
            yield f"docs/benchmarks.md: {found[0]!r} is in no row of docs/benchmarks.json"
    commands = {("docs/benchmarks.json", row.command) for row in rows}
    commands |= {(name, command) for name, text in documents.items() for command in _COMMAND.findall(text)}
    for name, command in sorted(commands):
        if told := _wrong(command):
            yield f"{name}: `{command}`: {told}"


def _wrong(command: str) -> str:
    """Why a command cannot be run; empty where it can."""
    _, script, *words = shlex.split(command)
    name = Path(script).stem
    if name == "all":
        return ""
    if name not in BENCHMARKS or not (ROOT / script).exists():
        return "no such benchmark"
    _, unknown = option_parser().parse_known_args(words)
    return f"no such option: {' '.join(unknown)}" if unknown else ""


def _benchmark(row: Row) -> str:
    return row.name.split(".")[0]


def _figures(row: Row) -> Iterator[str]:
    """As the page may quote them, without spaces."""
    values = [row.ours, *(value for value in row.peers.values() if not isinstance(value, str))]
    yield from (f"{value:g}{row.unit}" for value in values)
    if row.ratio is not None:
        yield f"{row.ratio:g}×"


def _tables(rows: list[Row]) -> Iterator[str]:
    """A table for each CPU."""
    if not rows:
        yield "Not measured yet.\n"
    for cpu in _seen(rows, "cpu"):
        yield from _table([row for row in rows if row.cpu == cpu])


def _table(rows: list[Row]) -> Iterator[str]:
    """Where the rows were made, the table, and what ours loses."""
    script, threads = _benchmark(rows[0]), ", ".join(_seen(rows, "threads"))
    versions = sorted({f"{name} {version}" for row in rows for name, version in row.versions.items()})
    loads = [row.load for row in rows]
    told = f"`python benchmarks/{script}.py` on {rows[0].cpu}; {threads} threads; "
    yield _WRAPPER.fill(f"{told}{', '.join(versions)}; load {min(loads):g} to {max(loads):g}.") + "\n"
    compared = any(row.peers for row in rows)
    yield "| figure | what | ours |" + (" best peer | ratio | others |" if compared else "")
    yield "|---|---|---|" + ("---|---|---|" if compared else "")
    for row in rows:
        yield _line(row, compared=compared)
    lost = [row.name.split(".")[1] for row in rows if row.ratio is not None and row.ratio < 1]
    contests = sum(row.ratio is not None for row in rows)
    if contests:
        names = f": {', '.join(lost)}" if lost else ""
        yield "\n" + _WRAPPER.fill(f"Ours is slower than the best peer in {len(lost)} of {contests}{names}.")
    yield ""


def _line(row: Row, *, compared: bool) -> str:
    spread = f" ± {100 * row.spread:.2g} %, {row.runs} runs" if row.runs > 1 else ""
    shape = f": {row.shape}" if row.shape else ""
    kernel = f" (`{row.kernel}`)" if row.kernel else ""
    cells = [row.name.split(".")[1], f"{row.what}{shape}{kernel}", f"{row.ours:,.12g} {row.unit}{spread}"]
    if compared:
        others = [_told(name, value, row.unit) for name, value in row.peers.items() if name != row.peer]
        best = _told(row.peer, row.peers[row.peer], row.unit) if row.peer else "–"
        cells += [best, f"{row.ratio:g}×" if row.ratio is not None else "–", "; ".join(others) or "–"]
    return f"| {' | '.join(cells)} |"


def _told(name: str, value: Any, unit: str) -> str:
    return f"{name}: {value}" if isinstance(value, str) else f"{name} {value:g} {unit}"


def _seen(rows: list[Row], field: str) -> list[str]:
    return sorted({str(getattr(row, field)) for row in rows})
