"""What is known of a job that ran: its figures, its log, the headers it read; as JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ckgen.build.headers import Header
from ckgen.build.kept import keep, kept

RECORD = "entry.json"
_SCHEMA = "ckgen.build_entry/2"


@dataclass(frozen=True, slots=True)
class Entry:
    """One kept result in `folder`. `failed` is the portable command that failed, empty where all went well.

    Wall and CPU seconds of all steps; peak resident set of the largest, in MiB; `log` is what the commands printed.
    `outputs` are the sha256 of what it keeps, by name.
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
    outputs: Mapping[str, str]

    @property
    def ok(self) -> bool:
        """Whether the job made its outputs."""
        return not self.failed

    def output(self, name: str) -> Path:
        """The place of an output."""
        return self.folder / name

    def has(self, names: Iterable[str]) -> bool:
        """Whether these outputs are there, with the bytes that the job wrote; reads all of them."""
        return all(name in self.outputs and _digest(self.output(name)) == self.outputs[name] for name in names)


def digests_of(names: Iterable[str], folder: Path) -> dict[str, str]:
    """The sha256 of the files that are there."""
    found = ((name, _digest(folder / name)) for name in names)
    return {name: digest for name, digest in found if digest is not None}


def write_entry(entry: Entry, folder: Path) -> None:
    """Writes the record into a folder that will become the entry's own."""
    fields: dict[str, Any] = asdict(entry)
    del fields["folder"]
    fields["headers"] = [[header.root, header.path, header.sha256] for header in entry.headers]
    keep(folder / RECORD, _SCHEMA, fields)


def read_entry(folder: Path) -> Entry | None:
    """The entry in a folder; None where it is none, of another form, or changed since it was written."""
    fields = kept(folder / RECORD, _SCHEMA)
    if fields is None:
        return None
    fields["headers"] = tuple(Header(*header) for header in fields["headers"])
    fields["failed"] = tuple(fields["failed"])
    return Entry(folder, **fields)


def _digest(place: Path) -> str | None:
    try:
        return hashlib.sha256(place.read_bytes()).hexdigest()
    except OSError:
        return None
