"""A host unit without a dispatcher: as a library, and what it answers."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shlex
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ckgen import paths
from ckgen.model.errors import UsageError

_FOLDER = Path(__file__).parent
_ANSWER = _FOLDER / "prepared.hpp"
_HEADERS = ("include/ckgen", "backends/asm", "backends/device", "backends/hip")


@dataclass(frozen=True, slots=True)
class Call:
    """One launch; `clear_bytes` of the output are zeroed first."""

    symbol: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_lds: int
    args: bytes
    clear_bytes: int


class _Answered(ctypes.Structure):
    _fields_ = [
        ("symbol", ctypes.c_char * 256), ("grid", ctypes.c_uint32 * 3), ("block", ctypes.c_uint32 * 3),
        ("dynamic_lds", ctypes.c_uint32), ("args_size", ctypes.c_uint32), ("clear_bytes", ctypes.c_uint64),
        ("args", ctypes.c_ubyte * 4096), ("message", ctypes.c_char * 240),
    ]  # fmt: skip


def link_unit(host_unit: Path, sources: Iterable[Path], defines: Mapping[str, str], folder: Path) -> Path:
    """The host unit, an object or C++ without HIP, and the sources as a library in `folder`; kept by what it is of."""
    parts = (*sources, host_unit)
    headers = [header for room in _HEADERS for header in sorted((paths.dispatcher_dir() / room).glob("*.hpp"))]
    digest = hashlib.sha256(repr(dict(defines)).encode())
    for part in (*parts, _ANSWER, *headers):
        digest.update(hashlib.sha256(part.read_bytes()).digest())
    library = folder / f"{digest.hexdigest()[:32]}.so"
    if not library.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        made = folder / f"{library.stem}.{os.getpid()}"
        _compile(made, defines, parts)
        made.replace(library)
    return library


def answer_of(function: Any, *asked: Any) -> Call:
    """What a function of the library answers, whose last argument is an Answered; UsageError where it refuses."""
    answered = _Answered()
    if function(*asked, ctypes.byref(answered)):
        raise UsageError(answered.message.decode())
    grid, block = tuple(answered.grid), tuple(answered.block)
    args = bytes(answered.args[: answered.args_size])
    return Call(answered.symbol.decode(), grid, block, answered.dynamic_lds, args, answered.clear_bytes)


def address(array: Any) -> int | None:
    """Where an array's memory begins."""
    return None if array is None else int(array.ctypes.data)


def _compile(to: Path, defines: Mapping[str, str], sources: Iterable[Path]) -> None:
    words = [f"-D{name}={value}" for name, value in defines.items()]
    compiler = shlex.split(os.environ.get("CXX") or "g++")
    folders = [f"-I{folder}" for folder in (paths.dispatcher_dir() / "include", paths.dispatcher_dir(), _FOLDER)]
    command = [*compiler, "-std=c++20", "-O1", "-fPIC", "-shared", *folders, *words, "-o", str(to), *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UsageError(f"{shlex.join(command)}\n{done.stderr.strip()}")
