"""A content-addressed store of what jobs made: entries appear whole or not at all, locks die with their holder."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ckgen.build.entry import Entry, digests_of, read_entry, write_entry
from ckgen.build.headers import still_same
from ckgen.build.job import Job
from ckgen.build.packages.place import cache_room

_FRESH = 60
"""Seconds for which a new folder or lock is let alone: its maker may not have locked it yet."""


def default_cache() -> Path:
    """`build` in ckgen's cache folder; InputError B003 where others can write to that."""
    return cache_room("build")


@dataclass(frozen=True, slots=True)
class Lock:
    """The right to run a job; the kernel ends it with the process that holds it, however that ends."""

    fd: int
    place: Path

    def release(self) -> None:
        """Gives it up."""
        self.place.unlink(missing_ok=True)
        os.close(self.fd)


@dataclass(frozen=True, slots=True)
class Scratch:
    """A folder to work in, locked as long as its process lives."""

    fd: int
    path: Path


class Cache:
    """Entries beneath a folder, by a job's key and then by the headers that it read.

    Several processes may use one folder at once.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find(self, job: Job) -> Entry | None:
        """What is kept of the job, a failure too; None where nothing is, or headers or outputs have changed since."""
        for folder in self._entries(job.key):
            entry = read_entry(folder)
            if entry is None or not still_same(entry.headers, job):
                continue
            if not entry.ok or entry.has(job.outputs):
                return entry
        return None

    def try_lock(self, job: Job) -> Lock | None:
        """The right to run the job, to be released by the caller; None where another process has it."""
        folder = self.folder / "locks"
        folder.mkdir(parents=True, exist_ok=True)
        place = folder / job.key
        while True:
            fd = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            if not _locked(fd):
                os.close(fd)
                return None
            if _same_file(fd, place):
                return Lock(fd, place)
            os.close(fd)  # its last holder has removed it meanwhile

    def scratch(self) -> Scratch:
        """A new folder to work in, on the same file system as the entries; `discard` or `publish` ends it."""
        above = self.folder / "work"
        above.mkdir(parents=True, exist_ok=True)
        path = Path(tempfile.mkdtemp(dir=above))
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        _locked(fd)
        return Scratch(fd, path)

    def discard(self, scratch: Scratch) -> None:
        """Removes a folder of `scratch`."""
        shutil.rmtree(scratch.path, ignore_errors=True)
        os.close(scratch.fd)

    def publish(self, job: Job, entry: Entry, scratch: Scratch) -> Entry:
        """Keeps the outputs in `scratch` and the entry, in one rename; the entry in its place."""
        kept = set(job.outputs if entry.ok else ())
        entry = replace(entry, outputs=digests_of(sorted(kept), scratch.path))
        for path in scratch.path.iterdir():
            if path.name not in kept:
                path.unlink()
        write_entry(entry, scratch.path)
        home = self._home(job.key)
        home.mkdir(parents=True, exist_ok=True)
        place = home / _digest_of_headers(entry)
        if place.exists():
            shutil.rmtree(place)
        scratch.path.rename(place)
        os.close(scratch.fd)
        return replace(entry, folder=place)

    def sweep(self) -> None:
        """Removes what processes that are gone have left: work folders and locks."""
        for place in [*(self.folder / "work").glob("*"), *(self.folder / "locks").glob("*")]:
            try:
                if time.time() - place.stat().st_mtime < _FRESH:
                    continue
                fd = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            if _locked(fd) and _same_file(fd, place):
                shutil.rmtree(place, ignore_errors=True) if place.is_dir() else place.unlink(missing_ok=True)
            os.close(fd)

    def _home(self, key: str) -> Path:
        return self.folder / "objects" / key[:2] / key

    def _entries(self, key: str) -> Iterator[Path]:
        try:
            yield from sorted(self._home(key).iterdir())
        except FileNotFoundError:
            return


def _digest_of_headers(entry: Entry) -> str:
    text = json.dumps([[header.root, header.path, header.sha256] for header in entry.headers])
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _locked(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _same_file(fd: int, place: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), place.stat())
    except FileNotFoundError:
        return False
