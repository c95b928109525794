"""The journal of a check: one JSON line per kernel and arch, appended as each ends; the last of a kernel holds."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ckgen.build.result import Result

_SCHEMA = "ckgen.amd_check_line/1"
_HOST_SCHEMA = "ckgen.amd_check_host/1"
_RUN_SCHEMA = "ckgen.amd_check_run/1"


@dataclass(frozen=True, slots=True)
class Checked:
    """A kernel that tables name on an arch, and what came of it; `rows` of the tables, of so many
    `signatures`, name it. `operand` is A's type.
    """

    module: str
    library: str
    name: str
    arch: str
    operand: str
    rows: int
    signatures: int
    result: Result

    @property
    def place(self) -> tuple[str, str, str, str]:
        """What tells it from all others, and the order of reports."""
        return (self.module, self.library, self.name, self.arch)

    def to_json(self) -> dict[str, Any]:
        """One line's object."""
        return {"schema": _SCHEMA, **asdict(self), "result": self.result.to_json()}


@dataclass(frozen=True, slots=True)
class CheckedHost:
    """One host unit, compiled as a sample of its module and library; wall and CPU seconds, MiB, bytes of the object."""

    module: str
    library: str
    kernel: str
    ok: bool
    seconds: float
    cpu_seconds: float
    peak_mb: float
    object_bytes: int

    @property
    def place(self) -> tuple[str, str, str]:
        """What tells it from all others, and the order of reports."""
        return (self.module, self.library, self.kernel)

    def to_json(self) -> dict[str, Any]:
        """One line's object."""
        return {"schema": _HOST_SCHEMA, **asdict(self)}


@dataclass(frozen=True, slots=True)
class CheckedRun:
    """A kernel that ran one problem on the emulator. `right`: it and its twin gave the exact result; `findings`: how
    many the checks have by rule; `trouble`: why it did not run. `shape` is M, N, K and the batch.
    """

    module: str
    library: str
    name: str
    arch: str
    instance: str
    right: bool
    shape: tuple[int, int, int, int]
    k_batch: int
    instructions: int
    seconds: float
    findings: Mapping[str, int]
    trouble: tuple[str, ...]

    @property
    def place(self) -> tuple[str, str, str, str]:
        """As of Checked."""
        return (self.module, self.library, self.name, self.arch)

    def to_json(self) -> dict[str, Any]:
        """One line's object."""
        return {"schema": _RUN_SCHEMA, **asdict(self)}


class Journal:
    """A file of lines; a line cut short by a crash is passed over. Not for two writers at once."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Mapping[tuple[str, str, str, str], Checked]:
        """The last line of every kernel, in the order of reports."""
        found = {}
        for line in self._lines():
            checked = _read(line)
            if checked is not None:
                found[checked.place] = checked
        return dict(sorted(found.items()))

    def hosts(self) -> Mapping[tuple[str, str, str], CheckedHost]:
        """The last line of every host unit, in the order of reports."""
        found = {}
        for line in self._lines():
            host = _read_host(line)
            if host is not None:
                found[host.place] = host
        return dict(sorted(found.items()))

    def runs(self) -> Mapping[tuple[str, str, str, str], CheckedRun]:
        """The last line of every kernel that ran, in the order of reports."""
        found = {}
        for line in self._lines():
            run = _read_run(line)
            if run is not None:
                found[run.place] = run
        return dict(sorted(found.items()))

    def append(self, checked: Checked | CheckedHost | CheckedRun) -> None:
        """Adds a line, in one write."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps(checked.to_json(), separators=(",", ":"), sort_keys=True)
        fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(fd, f"{line}\n".encode())
        finally:
            os.close(fd)

    def _lines(self) -> list[str]:
        try:
            return self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return []


def _read_host(line: str) -> CheckedHost | None:
    try:
        fields = json.loads(line)
        return CheckedHost(**fields) if fields.pop("schema") == _HOST_SCHEMA else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _read_run(line: str) -> CheckedRun | None:
    try:
        fields = json.loads(line)
        if fields.pop("schema") != _RUN_SCHEMA:
            return None
        m, n, k, batch = fields["shape"]
        return CheckedRun(**{**fields, "shape": (m, n, k, batch), "trouble": tuple(fields["trouble"])})
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _read(line: str) -> Checked | None:
    try:
        fields = json.loads(line)
        if fields.pop("schema") != _SCHEMA:
            return None
        return Checked(**{**fields, "result": Result.from_json(fields["result"])})
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
