"""What the tools that run kernels on the emulator record of them, a line each, and the page beside it.

A record has facts alone: what was compiled, and of each kernel's runs what they came to.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ckgen.build.result import Result
from ckgen.report.json_lines import json_lines
from ckgen_emulator.production.model import Outcome

_COMPILED = ("vgpr", "agpr", "sgpr", "spills", "scratch", "lds", "code_bytes")
_FIGURES = ("vgpr", "spills", "scratch", "lds")
_COLUMNS = ("kernel", "arch", "VGPR", "spills", "scratch", "LDS", "gate", "right", "findings")

Row = Callable[[str, Mapping[str, Any]], str]


def read(place: Path | None) -> dict[str, Any]:
    """The document there; one without kernels where there is none yet."""
    if place is None or not place.is_file():
        return {"kernels": {}}
    document: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
    return document


def write(place: Path, document: Mapping[str, Any], page: str, depth: int = 2) -> None:
    """`place` has the document, members down to `depth` on lines of their own; the page stands beside it."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json_lines(document, depth) + "\n", encoding="utf-8")
    place.with_suffix(".md").write_text(page, encoding="utf-8")


def write_table(place: Path, schema: str, head: str, records: Mapping[str, Any], row: Row) -> None:
    """The records by key, ARCH/INSTANCE; the page is `head` and a row of each."""
    ordered = dict(sorted(records.items()))
    write(place, {"schema": schema, "kernels": ordered}, table(head, ordered, row))


def table(head: str, records: Mapping[str, Any], row: Row) -> str:
    """The page of a document's records."""
    lines = [f"| {' | '.join(_COLUMNS)} |", "|---" * len(_COLUMNS) + "|"]
    lines += [row(key, one) for key, one in records.items()]
    return "\n".join([head, *lines]) + "\n"


def cells(key: str, figures: Mapping[str, Any], gate: str, right: str, found: str) -> str:
    """A row of a kernel that was compiled."""
    arch, _, name = key.partition("/")
    numbers = " | ".join(str(figures[one]) for one in _FIGURES)
    return f"| `{name}` | {arch} | {numbers} | {gate} | {right} | {found} |"


def compiled(result: Result) -> dict[str, Any]:
    """What the gate found, and the figures of a kernel that compiled."""
    record: dict[str, Any] = {"gate": [asdict(one) for one in result.findings]}
    if result.figures is not None:
        record["figures"] = {one: getattr(result.figures, one) for one in _COMPILED}
    return record


def problem(runs: Iterable[Outcome]) -> dict[str, Any]:
    """One problem's runs in several orders: right in all, and the rules found in any."""
    runs = tuple(runs)
    return {
        "right": all(run.right for run in runs),
        "findings": sorted({finding.rule for run in runs for finding in run.findings}),
    }


def problems(found: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """All problems of a kernel by name: how many, which are wrong, and in how many a rule was found."""
    rules = Counter(rule for one in found.values() for rule in one["findings"])
    return {
        "problems": len(found),
        "wrong": [name for name, one in found.items() if not one["right"]],
        "findings": dict(sorted(rules.items())),
    }


def right_of(runs: Mapping[str, Any]) -> str:
    """How many problems are right, of all."""
    return f"{runs['problems'] - len(runs['wrong'])} of {runs['problems']}"


def found_in(findings: Mapping[str, int]) -> str:
    """Rules, each with how often."""
    return ", ".join(f"{rule} {count}" for rule, count in findings.items()) or "none"


def gate_of(findings: Sequence[Mapping[str, Any]]) -> str:
    """`ok`, or the rules that a code object breaks."""
    return ", ".join(sorted({one["rule"] for one in findings if one["severity"] == "error"})) or "ok"
