"""Where toolchains lie: the user's cache, or a prefix that was named."""

from __future__ import annotations

import os
from pathlib import Path

CACHE = "CKGEN_CACHE"
PREFIX = "CKGEN_AMD_PREFIX"


def cache_dir() -> Path:
    """`$CKGEN_CACHE`, else `$XDG_CACHE_HOME/ckgen`, else `~/.cache/ckgen`; it need not exist."""
    named = os.environ.get(CACHE)
    if named:
        return Path(named).absolute()
    shared = os.environ.get("XDG_CACHE_HOME")
    return (Path(shared).absolute() if shared else Path.home() / ".cache") / "ckgen"


def default_prefix() -> Path:
    """`$CKGEN_AMD_PREFIX`, else `amd` in the cache."""
    named = os.environ.get(PREFIX)
    return Path(named).absolute() if named else cache_dir() / "amd"
