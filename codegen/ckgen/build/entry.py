"""What is known of a job that ran: its figures, its log, the headers it read; as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ckgen.build.headers import Header

RECORD = "entry.json"
_SCHEMA = "ckgen.build_entry/1"


@dataclass(frozen=True, slots=True)
class Entry:
    """One kept result in `folder`. `failed` is the portable command that failed, empty where all went well.

    Wall and CPU seconds of all steps; peak resident set of the largest, in MiB; `log` is what the commands printed.
    """

    folder: Path
    label: str
    seconds: float
    cpu_seconds: float
    peak_mb: float
    log: str
    failed: tuple[str, ...]
    code: int
    headers: tuple[Header, ...]

    @property
    def ok(self) -> bool:
        """Whether the outputs are there."""
        return not self.failed

    def output(self, name: str) -> Path:
        """The place of an output."""
        return self.folder / name


def write_entry(entry: Entry, folder: Path) -> None:
    """Writes the record into a folder that will become the entry's own."""
    fields: dict[str, Any] = asdict(entry)
    del fields["folder"]
    fields["headers"] = [[header.root, header.path, header.sha256] for header in entry.headers]
    text = json.dumps({"schema": _SCHEMA, **fields}, separators=(",", ":"))
    (folder / RECORD).write_text(text, encoding="utf-8", errors="surrogateescape")


def read_entry(folder: Path) -> Entry | None:
    """The entry in a folder; None where it is none, or of another form."""
    try:
        fields = json.loads((folder / RECORD).read_text(encoding="utf-8", errors="surrogateescape"))
        if fields.pop("schema") != _SCHEMA:
            return None
        fields["headers"] = tuple(Header(*header) for header in fields["headers"])
        fields["failed"] = tuple(fields["failed"])
        return Entry(folder, **fields)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
