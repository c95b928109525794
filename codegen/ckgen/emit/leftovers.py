"""The folder in which a run builds a tree, and what runs that were killed left of theirs.

Numbers of processes say nothing across containers and hosts that share a folder. Who holds the lock beside the tree
knows that no run of this boot of this machine publishes, whatever its namespace; of other boots and machines, whose
locks may not be seen, only what is old is nobody's.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import time
from functools import cache
from pathlib import Path

OLD_SECONDS = 24 * 3600
"""Publishing takes seconds; a folder of another machine or boot that nothing has changed for so long is left over."""


def staging_of(out: Path) -> Path:
    """Where this process builds the tree that is to stand at `out`."""
    return out.parent / f".{out.name}.ckgen-{os.getpid()}-{_boot()}"


def leftovers(out: Path) -> tuple[Path, ...]:
    """Folders of this user beside `out` that no run uses, if no run of this boot publishes there."""
    return tuple(path for path in _beside(out) if _is_left(path, out))


def sweep(out: Path) -> None:
    """Removes them; the caller holds the lock beside `out`."""
    for path in leftovers(out):
        shutil.rmtree(path, ignore_errors=True)


def _beside(out: Path) -> tuple[Path, ...]:
    try:
        return tuple(out.parent.iterdir())
    except OSError:
        return ()


def _is_left(path: Path, out: Path) -> bool:
    name = re.fullmatch(rf"{re.escape(f'.{out.name}.ckgen-')}[0-9]+(?:-(?P<boot>[0-9a-f]+))?", path.name)
    if name is None:
        return False
    try:
        found = path.lstat()
    except OSError:
        return False
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        return False
    return (name["boot"] is not None and name["boot"] == _boot()) or time.time() - found.st_mtime > OLD_SECONDS


@cache
def _boot() -> str:
    """A number of this boot of this machine, the same in all its containers."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip().replace("-", "")[:12]
