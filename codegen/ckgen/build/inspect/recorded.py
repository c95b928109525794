"""Figures recorded per compiler for a small set of kernels, so that a change is seen.

One file per compiler: `recorded/<compiler id>.json`. A comparison is between equals: the same kernel, arch and flags.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ckgen.build.inspect.finding import CodeFinding
from ckgen.model.diagnostic import Severity
from ckgen.model.errors import UsageError

FIGURES = ("vgpr", "agpr", "sgpr", "spills", "scratch", "lds", "code_bytes", "matrix_ops")
"""What is recorded of a kernel: the keys of an entry of `--json` that depend on nothing but its machine code."""

_SCHEMA = "ckgen.recorded_figures/1"
_UNSAFE = re.compile(r"[^A-Za-z0-9.+]+")


@dataclass(frozen=True, slots=True)
class Record:
    """The figures of one kernel on one arch, compiled with the flags that the id `flags` stands for."""

    kernel: str
    arch: str
    flags: str
    figures: Mapping[str, Any]

    @classmethod
    def of(cls, entry: Mapping[str, Any], flags: str) -> Record:
        """From an entry of the array that `ckgen build --json` and `ckgen inspect --json` print."""
        return cls(entry["kernel"], entry["arch"], flags, {name: entry[name] for name in FIGURES})


def recorded_file(compiler: str, folder: Path | None = None) -> Path:
    """Where the records of a compiler lie: the project's own, or those in `folder`."""
    return (folder or Path(__file__).parent / "recorded") / f"{_UNSAFE.sub('-', compiler)}.json"


def load_records(compiler: str, folder: Path | None = None) -> dict[tuple[str, str], Record] | None:
    """The records of a compiler by kernel and arch; None if there are none. UsageError for a file of another form."""
    path = recorded_file(compiler, folder)
    if not path.is_file():
        return None
    data = json.loads(path.read_text(encoding="utf-8"))
    if data.get("schema") != _SCHEMA or data.get("compiler") != compiler:
        raise UsageError(f"{path}: not the figures of {compiler} in the form {_SCHEMA}")
    found = (Record.of(entry, entry["flags"]) for entry in data["kernels"])
    return {(record.kernel, record.arch): record for record in found}


def text_of(records: Iterable[Record], compiler: str, source: str) -> str:
    """The text of the file that keeps these records; `source` says what was compiled."""
    kernels = [
        {"kernel": record.kernel, "arch": record.arch, "flags": record.flags, **record.figures}
        for record in sorted(records, key=lambda one: (one.kernel, one.arch))
    ]
    document = {"schema": _SCHEMA, "compiler": compiler, "source": source, "kernels": kernels}
    return json.dumps(document, indent=1) + "\n"


def compare(record: Record, compiler: str, folder: Path | None = None) -> tuple[CodeFinding, ...]:
    """A WARNING per figure that is not the recorded one; nothing for a kernel that is not recorded.

    A compiler without records gives one NOTE. UsageError where the flags are not those of the record: figures of
    unequal flags are not compared.
    """
    records = load_records(compiler, folder)
    if records is None:
        reason = "no figures are recorded for this compiler"
        return (CodeFinding("changed_figures", reason, compiler, "-", Severity.NOTE),)
    old = records.get((record.kernel, record.arch))
    if old is None:
        return ()
    if old.flags != record.flags:
        raise UsageError(
            f"{record.kernel} on {record.arch}: compiled with flags {record.flags}, recorded with {old.flags}: "
            "figures of unequal flags are not compared; record them anew"
        )
    pairs = {name: (_plain(old.figures[name]), _plain(record.figures[name])) for name in FIGURES}
    return tuple(
        CodeFinding("changed_figures", f"{name} was {was}, is {now}", now, was, Severity.WARNING)
        for name, (was, now) in pairs.items()
        if was != now
    )


def _plain(figure: Any) -> int | str:
    """A number, or counts as text such as `32 v_mfma_f32_32x32x8_f16`."""
    if isinstance(figure, int):
        return figure
    return ", ".join(f"{count} {name}" for name, count in sorted(figure.items())) or "none"
