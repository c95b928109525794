"""Changing tables on disk: line by line in bytes, and all files or none."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

from ckgen.model.errors import UsageError


def without_lines(data: bytes, numbers: Collection[int]) -> bytes:
    """`data` without these lines (counted from 1); every other byte stays."""
    lines = data.splitlines(keepends=True)
    return b"".join(line for number, line in enumerate(lines, 1) if number not in numbers)


def write_files(contents: Mapping[Path, bytes]) -> None:
    """Replaces each file by its new bytes; all are written aside before the first is replaced."""
    staged: list[tuple[Path, Path]] = []
    try:
        for path, data in contents.items():
            target = path.resolve()
            staged.append((_stage(target, data), target))
        while staged:
            aside, target = staged[-1]
            os.replace(aside, target)  # noqa: PTH105
            staged.pop()
    except OSError as error:
        raise UsageError(f"cannot write {error.filename or 'tables'}: {error.strerror or error}") from error
    finally:
        for aside, _ in staged:
            aside.unlink(missing_ok=True)


def _stage(target: Path, data: bytes) -> Path:
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    aside = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        if target.exists():
            shutil.copymode(target, aside)
        else:
            aside.chmod(0o644)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    return aside
