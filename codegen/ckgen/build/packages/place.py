"""Where toolchains and what is kept between runs lie: the user's cache, or a prefix that was named.

What lies in the cache is compiled, loaded and run: nobody else may write there.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.errors import InputError

CACHE = "CKGEN_CACHE"


def cache_dir() -> Path:
    """`$CKGEN_CACHE`, else `$XDG_CACHE_HOME/ckgen`, else `~/.cache/ckgen`; it need not exist."""
    named = os.environ.get(CACHE)
    if named:
        return Path(named).absolute()
    shared = os.environ.get("XDG_CACHE_HOME")
    return (Path(shared).absolute() if shared else Path.home() / ".cache") / "ckgen"


def cache_room(name: str) -> Path:
    """A folder of the cache. It and the cache are created for the user alone.

    InputError B003 where another user can write to either.
    """
    room = cache_dir() / name
    room.parent.parent.mkdir(parents=True, exist_ok=True)
    for folder in (room.parent, room):
        folder.mkdir(mode=0o700, exist_ok=True)
        check(folder)
    return room


def check(folder: Path) -> None:
    """InputError B003 where another user owns the folder or can write to it."""
    status = folder.stat()
    if status.st_uid != os.geteuid():
        reason = f"the cache belongs to user {status.st_uid}, not to you ({os.geteuid()}): what is in it would be run"
        hint = f"set {CACHE} to a folder of your own"
    elif status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        reason = f"others can write to the cache (mode {stat.S_IMODE(status.st_mode):04o}): what is in it would be run"
        hint = f"delete it, or `chmod go-w` it if you trust what is in it, or set {CACHE} to a folder of your own"
    else:
        return
    raise InputError([Diagnostic("B003", reason, Location(str(folder)), hint=hint)])
