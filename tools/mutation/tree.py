"""A copy of the repository in which a mutant lives; the repository itself is never written to."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from os import utime
from pathlib import Path
from tempfile import TemporaryDirectory

from .mutant import Mutant

REPOSITORY = Path(__file__).resolve().parents[2]


@contextmanager
def scratch_tree() -> Iterator[Path]:
    """A copy of all files that git tracks or would track, gone at the end."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=REPOSITORY, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    with TemporaryDirectory(prefix="ckgen-mutation-") as folder:
        tree = Path(folder)
        for name in filter(None, listed.split("\0")):
            if (source := REPOSITORY / name).exists():
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, tree / name, follow_symlinks=False)
        yield tree


@contextmanager
def applied(tree: Path, mutant: Mutant) -> Iterator[None]:
    """`tree` with one mutant in it. Either text has a later time than any before it, in whole seconds: what was built
    or compiled to bytecode from the other one is stale to make, ninja and Python."""
    path = tree / mutant.site.key.file
    original, before = path.read_text(encoding="utf-8"), path.stat().st_mtime
    changed = max(int(before), int(time.time())) + 1
    _write(path, mutant.text, changed)
    try:
        yield
    finally:
        _write(path, original, max(changed, int(time.time())) + 1)


def _write(path: Path, text: str, when: int) -> None:
    path.write_text(text, encoding="utf-8")
    utime(path, (when, when))
