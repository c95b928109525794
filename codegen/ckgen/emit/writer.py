"""Publishes a generated tree: unchanged files keep their bytes and times, the whole changes at once or not at all."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fcntl import LOCK_EX, flock
from pathlib import Path

from ckgen.emit.leftovers import staging_of, sweep
from ckgen.emit.manifest import MANIFEST, read_manifest
from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.errors import InputError

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


@dataclass(frozen=True, slots=True)
class Changes:
    """What publishing would do, by relative path, each sorted."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)

    def but_for_the_manifest(self) -> Changes:
        """What is generated; the manifest also changes with inputs that decide nothing of it."""
        return Changes(
            *(tuple(path for path in paths if path != MANIFEST) for paths in (self.added, self.changed, self.removed))
        )


def compare(out: Path, texts: Mapping[str, str]) -> Changes:
    """`texts` (the manifest among them) against the tree at `out`; only files that its manifest lists can be removed.

    InputError (G002) where a file or folder that no manifest lists stands in the way.
    """
    known = read_manifest(out)
    owned = {*known.files, MANIFEST} if known is not None else set()
    added, changed, foreign = [], [], []
    for path, text in texts.items():
        place = out / path
        if not _occupied(place):
            added.append(path)
        elif path not in owned or not place.is_file() or place.is_symlink():
            foreign.append(path)
        elif place.read_bytes() != text.encode():
            changed.append(path)
    if foreign:
        raise InputError(_foreign(out, path) for path in foreign)
    removed = [path for path in owned - texts.keys() if (out / path).is_file()]
    return Changes(tuple(sorted(added)), tuple(sorted(changed)), tuple(sorted(removed)))


@contextmanager
def exclusive(out: Path) -> Iterator[None]:
    """Keeps other runs from publishing beside `out` meanwhile, and makes the folder above it.

    What killed runs left there is removed. InputError (G003) where that folder cannot be made. A file system without
    locks goes unguarded, and nothing of it is removed.
    """
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        folder = os.open(out.parent, os.O_RDONLY)
    except OSError as error:
        raise InputError([_unwritable(out, error)]) from None
    try:
        with suppress(OSError):
            flock(folder, LOCK_EX)
            sweep(out)
        yield
    finally:
        os.close(folder)


def publish(out: Path, texts: Mapping[str, str], changes: Changes) -> None:
    """Makes the tree at `out` hold exactly `texts`, and whatever else was there that no manifest listed.

    The new tree is built beside the old one and takes its place in one rename: an interruption leaves either.
    InputError (G003) where that is not possible, for example because the folder cannot be written.
    """
    if not changes:
        return
    staging = staging_of(out)
    try:
        staging.mkdir()
        _fill(staging, out, texts, {*changes.added, *changes.changed})
        if not out.exists():
            staging.rename(out)
            return
        owned = {*texts, *changes.removed}
        _adopt_foreign(staging, out, owned)
        _exchange(staging, out)
        _adopt_foreign(out, staging, owned)  # what was put into the old tree since
    except OSError as error:
        raise InputError([_unwritable(out, error)]) from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _fill(staging: Path, out: Path, texts: Mapping[str, str], fresh: Iterable[str]) -> None:
    """New and changed files are written, all others linked, so that their times stay."""
    written = set(fresh)
    for folder in {(staging / path).parent for path in texts}:
        folder.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        if path in written:
            (staging / path).write_bytes(text.encode())
        else:
            _link(out / path, staging / path)


def _link(source: Path, place: Path) -> None:
    """The same file under a second name; a copy with its times where the file system has no hard links."""
    try:
        os.link(source, place, follow_symlinks=False)
    except PermissionError:
        shutil.copy2(source, place, follow_symlinks=False)


def _adopt_foreign(new: Path, old: Path, owned: set[str]) -> None:
    """Links files that are not the generator's into the new tree, where it has none; a symbolic link is made again."""
    for folder, folders, files in os.walk(old):
        here = Path(folder)
        for name in (*files, *(name for name in folders if (here / name).is_symlink())):
            relative = (here / name).relative_to(old)
            place = new / relative
            if relative.as_posix() in owned or _occupied(place):
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            _link(here / name, place)
        for name in folders:
            inside = here / name
            if not inside.is_symlink() and not any(inside.iterdir()):
                (new / inside.relative_to(old)).mkdir(parents=True, exist_ok=True)


def _exchange(new: Path, old: Path) -> None:
    """Swaps two folders; atomic where the kernel can (Linux), else by three renames."""
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is not None:
        done = renameat2(_AT_FDCWD, os.fsencode(new), _AT_FDCWD, os.fsencode(old), _RENAME_EXCHANGE)
        if done == 0:
            return
        code = ctypes.get_errno()
        if code not in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
            raise OSError(code, os.strerror(code), str(old))
    aside = new.with_name(f"{new.name}-old")
    old.rename(aside)
    new.rename(old)
    aside.rename(new)


def _occupied(path: Path) -> bool:
    """Whether anything stands at the path, a file in place of one of its folders included."""
    try:
        path.lstat()
    except FileNotFoundError:
        return False
    except NotADirectoryError:
        return True
    return True


def _foreign(out: Path, path: str) -> Diagnostic:
    return Diagnostic(
        "G002",
        "a file that ckgen did not write is in the way",
        Location(str(out / path)),
        hint="move it away, or choose another --out",
    )


def _unwritable(out: Path, error: OSError) -> Diagnostic:
    return Diagnostic(
        "G003",
        f"cannot write the tree: {error.strerror or error}",
        Location(str(out)),
        hint="choose an --out that can be written; the old tree is as it was",
    )
