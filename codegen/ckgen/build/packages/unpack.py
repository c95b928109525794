"""Unpacks what is needed of an archive into a folder of its own, at once or not at all, and checks it later."""

from __future__ import annotations

import hashlib
import json
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from typing import IO, Any

from ckgen.build.packages.errors import toolchain_error
from ckgen.build.packages.pin import Pin
from ckgen.model.document import JSON, DocumentError, read_text
from ckgen.model.json_document import parse_json

STAMP = ".ckgen-package.json"
_SCHEMA = "ckgen.package/1"
_UNFINISHED = ".unpacking-"


@dataclass(frozen=True)
class Package:
    """An unpacked archive: its folder and, of each file, size, time of change and sha256."""

    folder: Path
    stamp: dict[str, Any]

    @cached_property
    def digests(self) -> dict[str, str]:
        """The sha256 of every file by its path."""
        return {name: row[2] for name, row in self.stamp["files"].items()}

    def damage(self) -> str | None:
        """What is wrong, or None: every file is there, and unchanged by size and time of change."""
        for name, (size, changed, _) in self.stamp["files"].items():
            try:
                status = (self.folder / name).stat()
            except OSError:
                return f"{name} is missing"
            if (status.st_size, status.st_mtime_ns) != (size, changed):
                return f"{name} was changed"
        return None

    def tree_id(self, *roots: str) -> str:
        """One digest of all files beneath the roots: of their paths from the root's parent, and of what they hold."""
        found = []
        for root in roots:
            above = len(str(PurePosixPath(root).parent)) + 1
            found += [(name[above:], digest) for name, digest in self.digests.items() if name.startswith(f"{root}/")]
        return tree_digest(found)


def tree_digest(files: Iterable[tuple[str, str]]) -> str:
    """One sha256 of (path, sha256) pairs, whatever their order."""
    total = hashlib.sha256()
    for name, digest in sorted(files):
        total.update(f"{digest} {name}\n".encode())
    return total.hexdigest()


def unpacked(pin: Pin, prefix: Path) -> Package | None:
    """The pin's package beneath the prefix; None when there is none, or it is of another archive or of other files."""
    folder = prefix / pin.folder
    try:
        stamp = parse_json(read_text(folder / STAMP, JSON)).value
    except DocumentError:
        return None
    same = isinstance(stamp, dict) and all(stamp.get(key) == value for key, value in _identity(pin).items())
    return Package(folder, stamp) if same else None


def unpack(pin: Pin, archive: Path, prefix: Path) -> Package:
    """Unpacks into a folder beside and puts it in place of whatever was there; InputError X004 on a wrong archive."""
    prefix.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(dir=prefix, prefix=_UNFINISHED))
    try:
        beside.chmod(0o755)
        files = _extract(pin, archive, beside)
        stamp = {**_identity(pin), "files": files}
        (beside / STAMP).write_text(json.dumps(stamp, separators=(",", ":")), encoding="utf-8")
        folder = prefix / pin.folder
        if folder.exists():
            folder.rename(beside.with_name(f"{beside.name}-old"))
        beside.rename(folder)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
        shutil.rmtree(beside.with_name(f"{beside.name}-old"), ignore_errors=True)
    return Package(folder, stamp)


def clear_unfinished(prefix: Path) -> None:
    """Removes what killed runs left; for the holder of the prefix's lock."""
    for folder in prefix.glob(f"{_UNFINISHED}*"):
        shutil.rmtree(folder, ignore_errors=True)


def _identity(pin: Pin) -> dict[str, Any]:
    return {"schema": _SCHEMA, "sha256": pin.sha256, "unpack": list(pin.unpack)}


def _extract(pin: Pin, archive: Path, folder: Path) -> dict[str, Sequence[Any]]:
    files: dict[str, Sequence[Any]] = {}
    met: set[str] = set()
    for name, mode, opened in _members(pin, archive):
        root = next(
            (root for root in pin.unpack if name == root or (root.endswith("/") and name.startswith(root))), None
        )
        if root is None:
            continue
        if ".." in PurePosixPath(name).parts or PurePosixPath(name).is_absolute():
            raise toolchain_error("X004", f"a path that leads out of the archive: {name}", archive)
        met.add(root)
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        total = hashlib.sha256()
        stream = opened()
        if stream is None:
            raise toolchain_error("X004", f"not a file: {name}", archive)
        with stream, path.open("wb") as out:
            while block := stream.read(1 << 20):
                total.update(block)
                out.write(block)
        path.chmod(0o755 if mode & 0o100 else 0o644)
        status = path.stat()
        files[name] = (status.st_size, status.st_mtime_ns, total.hexdigest())
    if missing := [root for root in pin.unpack if root not in met]:
        raise toolchain_error("X004", f"not in the archive: {', '.join(missing)}", archive)
    return files


def _members(pin: Pin, archive: Path) -> Iterator[tuple[str, int, Callable[[], IO[bytes] | None]]]:
    """Path, mode and opener of each regular file; an sdist's first folder is left off."""
    if pin.is_sdist:
        with tarfile.open(archive) as tar:
            for member in tar:
                if member.isreg():
                    yield member.name.partition("/")[2], member.mode, partial(tar.extractfile, member)
        return
    with zipfile.ZipFile(archive) as wheel:
        for entry in wheel.infolist():
            if not entry.is_dir():
                yield entry.filename, entry.external_attr >> 16, partial(wheel.open, entry)
