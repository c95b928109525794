"""Which headers a compile read, and whether they are still the same."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ckgen.build.job import Job

_ESCAPED = re.compile(r"\\([ #\\])")

_CHANGED = "changed during the compile"


@dataclass(frozen=True, slots=True)
class Header:
    """A file that a compile read: beneath a root by its name, else absolute; `sha256` of its bytes."""

    root: str
    path: str
    sha256: str


def headers_of(job: Job, depfile: Path, since: int) -> tuple[Header, ...]:
    """What the job read by its Makefile rule, sorted; everything in its own folders where there is no rule.

    Headers beneath fixed roots keep no digest. Relative paths are the job's own source and are left out. One that was
    changed after the job began, `since` in ns since the epoch, gets a digest that no file has.
    """
    if not job.depfile:
        return ()
    try:
        paths = _prerequisites(depfile.read_text(encoding="utf-8", errors="surrogateescape"))
    except FileNotFoundError:
        paths = [folder / name for folder in job.own for name in _names_in(folder)]
    found = {_header(Path(os.path.normpath(path)), job, since) for path in paths if path.is_absolute()}
    return tuple(sorted(found, key=lambda header: (header.root, header.path)))


def still_same(headers: Iterable[Header], job: Job) -> bool:
    """Whether the job would read the same: every digest holds, and nothing that it did not read shadows a fixed header.

    An own header that it did read may have the name of a fixed one, which it includes in turn.
    """
    places = {root.name: root.path for root in job.roots}
    read: set[Path] = set()
    fixed: list[str] = []
    for header in headers:
        if not header.sha256:
            fixed.append(header.path)
            continue
        if header.root and header.root not in places:
            return False
        place = places[header.root] / header.path if header.root else Path(header.path)
        if digest_of(place) != header.sha256:
            return False
        read.add(place)
    return all(folder / name in read for folder in job.own for name in _names_in(folder).intersection(fixed))


@cache
def _names_in(folder: Path) -> frozenset[str]:
    return frozenset(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def digest_of(path: Path) -> str | None:
    """The sha256 of a file's bytes, read anew only when its size or time has changed; None where there is none."""
    try:
        status = path.stat()
        return _digest(path, status.st_size, status.st_mtime_ns)
    except OSError:
        return None


@cache
def _digest(path: Path, size: int, changed: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _header(path: Path, job: Job, since: int) -> Header:
    for root in job.fixed:
        if path.is_relative_to(root.path):
            return Header(root.name, str(path.relative_to(root.path)), "")
    for root in job.roots:
        if path.is_relative_to(root.path):
            return Header(root.name, str(path.relative_to(root.path)), _settled(path, since))
    return Header("", str(path), _settled(path, since))


def _settled(path: Path, since: int) -> str:
    try:
        if path.stat().st_mtime_ns >= since:
            return _CHANGED
    except OSError:
        return _CHANGED
    return digest_of(path) or _CHANGED


def _prerequisites(text: str) -> list[Path]:
    rule = text.replace("\\\n", " ").partition(": ")[2]
    words = re.findall(r"(?:\\.|[^\s\\])+", rule)
    return [Path(_ESCAPED.sub(r"\1", word).replace("$$", "$")) for word in words]
