"""The journal of a tune: every candidate's time, one JSON object a line, each on disk before the next begins."""

from __future__ import annotations

import json
import lzma
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from ckgen.measure.model import Candidate, Environment, Measured, MeasureStatus
from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.errors import InputError, UsageError
from ckgen.version import __version__

SCHEMA = "ckgen.journal/1"
GPU_WORD = "gpu="
"""Of conditions, what says which of several GPUs it was."""


@dataclass(frozen=True, slots=True)
class Header:
    """Where and by what the records below were taken; `code` is the digest of the library that ran.

    `conditions` says warm-up, rotation and flushing in words `name=value`.
    """

    code: str
    environment: Environment
    conditions: str = ""
    tool: str = f"ckgen {__version__}"


@dataclass(frozen=True, slots=True)
class Record:
    """A measurement: of a problem's text, at a rung of effort, `together` with the others of that number in its run.

    `code` is that of the header above it. `turn`: the last rung has several, from 1, each in a process of its own.
    """

    code: str
    problem: str
    rung: str
    together: int
    measured: Measured
    turn: int = 1

    @property
    def key(self) -> tuple[str, str, str, int, Candidate]:
        """What is not measured twice."""
        return self.code, self.problem, self.rung, self.turn, self.measured.candidate


@dataclass(frozen=True, slots=True)
class Asked:
    """What selection took for a problem before it was tuned; None where nothing answered."""

    code: str
    problem: str
    selected: Candidate | None


@dataclass(frozen=True, slots=True)
class Contents:
    """What journals hold, in order; `torn` is what was dropped, a text for each journal that ended in half a line."""

    headers: tuple[Header, ...] = ()
    records: tuple[Record, ...] = ()
    asked: tuple[Asked, ...] = ()
    torn: tuple[str, ...] = ()


class Keeper(Protocol):
    """Keeps what one library measured."""

    @property
    def header(self) -> Header:
        """Whose measurements follow."""
        ...

    def measured(self, problem: str, rung: str, together: int, measured: Measured, turn: int = 1) -> Record:
        """Keeps a measurement."""
        ...

    def asked(self, problem: str, selected: Candidate | None) -> Asked:
        """Keeps what selection takes."""
        ...


class Kept:
    """A Keeper in memory, of one library on one device. `heard` is told of each line as it is kept."""

    def __init__(self, header: Header, heard: Callable[[Contents], None] = lambda contents: None) -> None:
        self.header = header
        self._heard = heard
        self._records: list[Record] = []
        self._asked: list[Asked] = []

    @property
    def contents(self) -> Contents:
        """All that was kept, in order."""
        return Contents((self.header,), tuple(self._records), tuple(self._asked))

    def measured(self, problem: str, rung: str, together: int, measured: Measured, turn: int = 1) -> Record:
        """See Keeper."""
        record = Record(self.header.code, problem, rung, together, measured, turn)
        self._records.append(record)
        self._heard(Contents(records=(record,)))
        return record

    def asked(self, problem: str, selected: Candidate | None) -> Asked:
        """See Keeper."""
        asked = Asked(self.header.code, problem, selected)
        self._asked.append(asked)
        self._heard(Contents(asked=(asked,)))
        return asked


def demand_conditions(held: Iterable[Header], own: Header) -> None:
    """UsageError where what is held of the same code was measured under other conditions; on which GPU is none."""
    for one in held:
        told, wanted = _conditions(one), _conditions(own)
        if one.code == own.code and told and wanted and told != wanted:
            raise UsageError(
                f"the journals have times of this library under '{' '.join(told)}', and '{' '.join(wanted)}' is asked:"
                " ask as before, or name another --journal"
            )


def _conditions(header: Header) -> list[str]:
    return [word for word in header.conditions.split() if not word.startswith(GPU_WORD)]


class Journal:
    """A journal that is written. Every call returns when its line is on disk. Not for several threads or processes.

    A header is written ahead of the first line below it: a run that measures nothing leaves none.
    """

    def __init__(self, path: Path, header: Header) -> None:
        """Appends to what is there, behind a whole line; UsageError where it cannot be written."""
        self.header, self._has_header = header, False
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            _cut_torn_line(self._file)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror or error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self._file)

    def go_on(self, header: Header) -> None:
        """What follows was taken there."""
        if header != self.header:
            self.header, self._has_header = header, False

    def measured(self, problem: str, rung: str, together: int, measured: Measured, turn: int = 1) -> Record:
        """Keeps a measurement."""
        at = {"problem": problem, "rung": rung, "turn": turn, "together": together}
        self._keep({"measured": {**at, **measured_document(measured)}})
        return Record(self.header.code, problem, rung, together, measured, turn)

    def asked(self, problem: str, selected: Candidate | None) -> Asked:
        """Keeps what selection takes."""
        self._keep({"asked": {"problem": problem, "selected": asdict(selected) if selected is not None else None}})
        return Asked(self.header.code, problem, selected)

    def _keep(self, document: dict[str, Any]) -> None:
        if not self._has_header:
            self._write({"header": {"schema": SCHEMA, **asdict(self.header)}})
            self._has_header = True
        self._write(document)

    def _write(self, document: dict[str, Any]) -> None:
        """One write: two lines never mix, and what a kill leaves is a torn last line at most."""
        line = f"{json.dumps(document)}\n".encode()
        while line:
            line = line[os.write(self._file, line) :]
        os.fsync(self._file)


def read_journals(paths: Sequence[Path]) -> Contents:
    """All that journals hold, packed with xz too, in order; InputError J001 of each line that is none. Equal records
    count once."""
    found = _Found()
    for path in paths:
        found.read(path)
    if found.errors:
        raise InputError(found.errors)
    return Contents(
        tuple(dict.fromkeys(found.headers)),
        tuple(dict.fromkeys(found.records)),
        tuple(dict.fromkeys(found.asked)),
        tuple(found.torn),
    )


def measured_document(measured: Measured) -> dict[str, Any]:
    """As JSON, the candidate's fields among the others."""
    document = {one.name: getattr(measured, one.name) for one in fields(Measured)}
    return {**asdict(document.pop("candidate")), **document, "status": measured.status.value}


def _bytes(path: Path) -> bytes:
    """What a journal holds, unpacked where its name ends in `.xz`."""
    try:
        data = path.read_bytes()
        return lzma.decompress(data) if path.suffix == ".xz" else data
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    except lzma.LZMAError as error:
        raise UsageError(f"cannot unpack {path}: {error}") from error


class _Found:
    """What was read so far."""

    def __init__(self) -> None:
        self.headers: list[Header] = []
        self.records: list[Record] = []
        self.asked: list[Asked] = []
        self.torn: list[str] = []
        self.errors: list[Diagnostic] = []

    def read(self, path: Path) -> None:
        data = _bytes(path)
        *lines, rest = data.split(b"\n")
        if rest:
            self.torn.append(f"{path}: the last line is torn, {len(rest)} bytes were dropped")
        code: str | None = None
        for number, line in enumerate(lines, 1):
            try:
                code = self._line(json.loads(line), code)
            except (ValueError, KeyError, TypeError) as error:
                hint = "give a journal of `ckgen tune --journal`, or remove the line"
                text = f"no line of a journal: {type(error).__name__} {error}"
                self.errors.append(Diagnostic("J001", text, Location(str(path), number), hint=hint))

    def _line(self, document: Any, code: str | None) -> str:
        if not isinstance(document, dict):
            raise ValueError("not an object")
        ((kind, value),) = document.items()
        if kind == "header":
            if value["schema"] != SCHEMA:
                raise ValueError(f"its schema is not {SCHEMA}")
            self.headers.append(_header(value))
            return str(value["code"])
        if code is None:
            raise ValueError("no header stands above it")
        if kind == "asked":
            self.asked.append(Asked(code, value["problem"], _candidate(value["selected"])))
        elif kind == "measured":
            at = (code, value["problem"], value["rung"], value["together"])
            self.records.append(Record(*at, _measured(value), value.get("turn", 1)))
        else:
            raise ValueError(f"unknown kind '{kind}'")
        return code


def _header(value: dict[str, Any]) -> Header:
    environment = dict(value["environment"])
    versions = tuple((name, text) for name, text in environment.pop("versions"))
    where = Environment(**environment, versions=versions)
    return Header(value["code"], where, value.get("conditions", ""), value["tool"])


def _candidate(value: dict[str, Any] | None) -> Candidate | None:
    return Candidate(value["instance"], value["k_batch"]) if value is not None else None


def _measured(value: dict[str, Any]) -> Measured:
    """What an older journal does not say is as usual."""
    names = {one.name for one in fields(Measured)} - {"candidate", "status"}
    told = {name: value[name] for name in names & value.keys()}
    candidate = Candidate(value["instance"], value["k_batch"])
    return Measured(candidate, MeasureStatus(value["status"]), **told)


def _cut_torn_line(file: int) -> None:
    """Ends the file behind its last whole line: what a kill left of another is no line."""
    size = os.fstat(file).st_size
    end = size
    while end:
        begin = max(end - 65536, 0)
        at = os.pread(file, end - begin, begin).rfind(b"\n")
        if at >= 0:
            end = begin + at + 1
            break
        end = begin
    if end != size:
        os.ftruncate(file, end)
