"""Where the AMD toolchain lies: in the user's cache, or in a prefix that was named."""

from __future__ import annotations

import os
from pathlib import Path

from ckgen.build.packages.place import cache_dir, cache_room, check

PREFIX = "CKGEN_AMD_PREFIX"
_AMD = "amd"


def default_prefix() -> Path:
    """`$CKGEN_AMD_PREFIX`, else `amd` in the cache; it need not exist, and nobody has looked whose it is."""
    named = os.environ.get(PREFIX)
    return Path(named).absolute() if named else cache_dir() / _AMD


def new_prefix() -> Path:
    """The default prefix, created as `cache_room` does where it lies in the cache."""
    return default_prefix() if os.environ.get(PREFIX) else cache_room(_AMD)


def known_prefix() -> Path:
    """The default prefix; InputError B003 where it lies in a cache that others can write. Nothing is created."""
    place = default_prefix()
    if not os.environ.get(PREFIX):
        for folder in (place.parent, place):
            if folder.exists():
                check(folder)
    return place
