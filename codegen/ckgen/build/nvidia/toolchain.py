"""Which NVIDIA toolchain is in use: the one recorded in a prefix."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ckgen.build.nvidia.model import Kind, NvidiaToolchain
from ckgen.build.nvidia.pins import BESIDE_CUDA, Role, pins
from ckgen.build.packages import record
from ckgen.build.packages.errors import toolchain_error
from ckgen.build.packages.fetch import digest_of
from ckgen.build.packages.place import cache_dir, cache_room
from ckgen.build.packages.unpack import Package, unpacked
from ckgen.build.toolchain import digest_of_parts

__all__ = ["Kind", "NvidiaToolchain", "load", "merged", "write_record"]

PREFIX = "CKGEN_NVIDIA_PREFIX"
_NVIDIA = "nvidia"
_CUTLASS = "cutlass_library/source/include"
_TREE = "nvidia/cu13"
_PROGRAMS = ("bin/nvcc", "bin/ptxas", "bin/cudafe++", "nvvm/bin/cicc")
_HEADERS = ("include/cuda.h", "include/cuda_runtime.h", "include/cccl/cuda/std/cstdint")
_HINT = "run `ckgen toolchain nvidia`"


@dataclass(frozen=True, slots=True)
class _Record:
    kind: Kind
    cuda: Path | None


def default_prefix() -> Path:
    """`$CKGEN_NVIDIA_PREFIX`, else `nvidia` in the cache; it need not exist."""
    named = os.environ.get(PREFIX)
    return Path(named).absolute() if named else cache_dir() / _NVIDIA


def new_prefix() -> Path:
    """The default prefix, created for the user alone where it lies in the cache; InputError B003 as there."""
    return default_prefix() if os.environ.get(PREFIX) else cache_room(_NVIDIA)


def merged(prefix: Path) -> Path:
    """The tree that the wheels of CUDA make together."""
    return prefix / f"cuda-{pins()[Role.COMPILER].version}"


def load(prefix: Path | None = None) -> NvidiaToolchain:
    """The toolchain that `ckgen toolchain nvidia` prepared in `prefix` (default: `default_prefix()`).

    InputError X001 when none is prepared, X005 for a CUDA that lacks a part or a g++ that does not run.
    """
    place = prefix.absolute() if prefix is not None else default_prefix()
    prepared = _read_record(place)
    if prepared is None:
        raise toolchain_error("X001", "no NVIDIA toolchain is prepared there", place, hint=_HINT)
    cuda = prepared.cuda or merged(place)
    if missing := [name for name in (*_PROGRAMS, *_HEADERS) if not (cuda / name).is_file()]:
        raise toolchain_error("X005", f"the CUDA lacks {', '.join(missing)}", cuda, hint=_HINT)
    wanted = BESIDE_CUDA if prepared.cuda is not None else tuple(Role)
    packages = {role: _package(role, place) for role in wanted}
    cutlass = packages[Role.CUTLASS]
    nvdisasm = packages[Role.DISASSEMBLER].folder / _TREE / "bin" / "nvdisasm"
    host, version = _host_compiler()
    release = _release(cuda)
    ids = [digest_of(cuda / name) or "" for name in _PROGRAMS] if prepared.cuda is not None else _digests()
    return NvidiaToolchain(
        kind=prepared.kind,
        prefix=place,
        cuda=cuda,
        cutlass=cutlass.folder / _CUTLASS,
        cutlass_id=cutlass.tree_id(_CUTLASS),
        nvdisasm=nvdisasm,
        host_compiler=host,
        compiler_version=release,
        compiler_id=digest_of_parts(release, version, *ids),
    )


def write_record(prefix: Path, cuda: Path | None) -> None:
    """That the wheels were prepared there, or for a CUDA."""
    record.write_record(prefix, (Kind.PINNED if cuda is None else Kind.CUDA).value, cuda=cuda)


def _read_record(prefix: Path) -> _Record | None:
    found = record.read_record(prefix)
    if found is None:
        return None
    cuda = found.get("cuda")
    return _Record(Kind(found["kind"]), Path(cuda) if cuda else None)


def _package(role: Role, prefix: Path) -> Package:
    pin = pins()[role]
    package = unpacked(pin, prefix)
    if package is None:
        raise toolchain_error(
            "X001", f"{pin.name} {pin.version} is not unpacked there", prefix / pin.folder, hint=_HINT
        )
    return package


def _digests() -> list[str]:
    return [pin.sha256 for role, pin in pins().items() if role not in BESIDE_CUDA]


def _release(cuda: Path) -> str:
    said = _ask([str(cuda / "bin" / "nvcc"), "--version"])
    found = re.search(r"release [0-9.]+, V([0-9.]+)", said)
    if found is None:
        raise toolchain_error("X005", "no nvcc: it says no release", cuda / "bin" / "nvcc")
    return f"nvcc {found[1]}"


def _host_compiler() -> tuple[str, str]:
    """g++ and what it says of itself."""
    program = shutil.which("g++")
    if program is None:
        raise toolchain_error("X005", "no g++, which compiles host units", hint="install g++ 12 or newer")
    return program, _ask([program, "--version"]).splitlines()[0]


def _ask(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise toolchain_error("X005", f"it does not run: {error}", Path(command[0])) from None
    if done.returncode or not done.stdout.strip():
        raise toolchain_error("X005", f"it does not run: exit code {done.returncode}", Path(command[0]))
    return done.stdout
