"""A parser under test: a function of any bytes that raises for what is an error of ckgen's, and for nothing else."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ckgen.model.errors import CkgenError, InputError


@dataclass(frozen=True, slots=True)
class Target:
    """`seeds` are inputs that mean something, `words` what else is put in; a test tries so many `mutations`."""

    name: str
    run: Callable[[bytes], None]
    seeds: Callable[[], Sequence[bytes]]
    words: tuple[bytes, ...] = ()
    mutations: int = 150


@contextmanager
def refusal() -> Iterator[None]:
    """Where input may be refused: only as InputError with places, or UsageError, and with words."""
    try:
        yield
    except InputError as error:
        assert error.diagnostics, "an InputError without a diagnostic"
        for one in error.diagnostics:
            assert one.code and one.message, f"a diagnostic without words: {one}"
            assert one.location is not None, f"a diagnostic without a place: {one}"
    except CkgenError as error:
        assert str(error), "an error without words"


def file_of(data: bytes, name: str) -> Path:
    """A file with these bytes; it stands until the next one of that name."""
    place = _folder() / name
    place.write_bytes(data)
    return place


def text_of(data: bytes) -> str:
    """As a word of a command line comes to a program."""
    return data.decode("utf-8", "surrogateescape")


@cache
def _folder() -> Path:
    fast = Path("/dev/shm")
    folder = tempfile.TemporaryDirectory(prefix="ckgen-parser-fuzz-", dir=fast if fast.is_dir() else None)
    _kept.append(folder)
    return Path(folder.name)


_kept: list[tempfile.TemporaryDirectory[str]] = []
