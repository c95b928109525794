"""What a built library depends on, in one hash."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from ckgen import paths
from ckgen.version import __version__

_SOURCES = {".py", ".hpp", ".cpp", ".h", ".hip", ".txt", ".cmake", ".j2", ".json", ".yaml", ".in"}


def content_of(words: Iterable[str], files: Iterable[Path]) -> str:
    """A hash of the words, of the bytes of the files and folders, of ckgen's own sources and of the compiler."""
    digest = hashlib.sha256()
    for word in (__version__, own_sources(), compiler(os.environ.get("CXX", "")), *words):
        digest.update(word.encode() + b"\0")
    for file in files:
        for one in sorted(file.rglob("*")) if file.is_dir() else [file]:
            if one.is_file():
                digest.update(one.name.encode() + b"\0" + one.read_bytes() + b"\0")
    return digest.hexdigest()[:32]


@cache
def own_sources() -> str:
    """Of the generator, its templates and specs, the C++ library and the shipped tables."""
    digest = hashlib.sha256()
    for file in _own_files():
        digest.update(file.as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def _own_files() -> Iterator[Path]:
    generator = (paths.package_dir(), paths.templates_dir(), paths.arch_specs_dir())
    for folder in (*generator, paths.dispatcher_dir()):
        yield from sorted(one for one in folder.rglob("*") if one.suffix in _SOURCES and one.is_file())
    for folder in paths.shipped_tables():
        yield from sorted(folder.rglob("*.csv"))


@cache
def compiler(named: str) -> str:
    """The C++ compiler as it calls itself; empty where there is none, which the build then says."""
    for name in [named] if named else ["c++", "g++", "clang++"]:
        words = name.split()
        if shutil.which(words[0]):
            return subprocess.run([*words, "--version"], capture_output=True, text=True, check=False).stdout
    return ""
