"""The journal of a check: one JSON line per kernel and arch, appended as each ends; the last of a kernel holds."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from ckgen.build.result import Result
from ckgen.model.json_document import parse_json


@dataclass(frozen=True, slots=True)
class Checked:
    """A kernel that tables name on an arch, and what came of it; `rows` of the tables, of so many
    `signatures`, name it. `operand` is A's type.
    """

    schema: ClassVar[str] = "ckgen.amd_check_line/1"

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
        return {"schema": self.schema, **asdict(self), "result": self.result.to_json()}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Checked:
        """From a line's fields but `schema`."""
        return cls(**{**fields, "result": Result.from_json(fields["result"])})


@dataclass(frozen=True, slots=True)
class CheckedHost:
    """One host unit, compiled as a sample of its module and library; wall and CPU seconds, MiB, bytes of the object."""

    schema: ClassVar[str] = "ckgen.amd_check_host/1"

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
        return {"schema": self.schema, **asdict(self)}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> CheckedHost:
        """As of Checked."""
        return cls(**fields)


@dataclass(frozen=True, slots=True)
class CheckedRun:
    """A kernel that ran one problem on the emulator. `right`: it and its twin gave the exact result; `findings`: how
    many the checks have by rule; `trouble`: why it did not run. `shape` is M, N, K and the batch.
    """

    schema: ClassVar[str] = "ckgen.amd_check_run/1"

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
        return {"schema": self.schema, **asdict(self)}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> CheckedRun:
        """As of Checked."""
        m, n, k, batch = fields["shape"]
        return cls(**{**fields, "shape": (m, n, k, batch), "trouble": tuple(fields["trouble"])})


_Line = TypeVar("_Line", Checked, CheckedHost, CheckedRun)


class Journal:
    """A file of lines; a line cut short by a crash is passed over. Not for two writers at once."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Mapping[tuple[str, ...], Checked]:
        """The last line of every kernel, in the order of reports."""
        return self._last(Checked)

    def hosts(self) -> Mapping[tuple[str, ...], CheckedHost]:
        """The last line of every host unit, in the order of reports."""
        return self._last(CheckedHost)

    def runs(self) -> Mapping[tuple[str, ...], CheckedRun]:
        """The last line of every kernel that ran, in the order of reports."""
        return self._last(CheckedRun)

    def append(self, checked: Checked | CheckedHost | CheckedRun) -> None:
        """Adds a line, in one write."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps(checked.to_json(), separators=(",", ":"), sort_keys=True)
        fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(fd, f"{line}\n".encode())
        finally:
            os.close(fd)

    def _last(self, kind: type[_Line]) -> Mapping[tuple[str, ...], _Line]:
        found: dict[tuple[str, ...], _Line] = {}
        for text in self._lines():
            line = _read(text, kind)
            if line is not None:
                found[line.place] = line
        return dict(sorted(found.items()))

    def _lines(self) -> list[str]:
        try:
            return self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return []


def _read(text: str, kind: type[_Line]) -> _Line | None:
    """None for a line of another schema, and for one that is broken."""
    try:
        fields = parse_json(text).value
        return kind.from_json(fields) if fields.pop("schema") == kind.schema else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
