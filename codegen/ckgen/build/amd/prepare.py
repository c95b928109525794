"""Makes a prefix hold a working toolchain: locked, resumable, and nothing to do when all is there."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from ckgen.build.amd.model import AmdToolchain, Kind
from ckgen.build.amd.pins import Role, wanted
from ckgen.build.amd.rocm import rocm_toolchain
from ckgen.build.amd.toolchain import Record, load, write_record
from ckgen.build.packages.errors import toolchain_error
from ckgen.build.packages.lock import locked
from ckgen.build.packages.prepare import clear_unfinished, prepare_package
from ckgen.model.errors import UsageError
from ckgen.specs.archs import processor_of
from ckgen.specs.targets import target_of_product

_PRODUCT = "MI300X"
_FIRST_UNIT = """\
#include <hip/hip_runtime.h>
#include <cstdint>
#include <type_traits>
extern "C" __global__ void ckgen_first(std::uint32_t* out) { out[threadIdx.x] = blockIdx.x; }
"""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The toolchain, and what had to be done: `done` has a line per package, such as `unpacked ziglang 0.17.0`."""

    toolchain: AmdToolchain
    done: tuple[str, ...]


def prepare_pinned(prefix: Path, say: Callable[[str], None], also: Iterable[Role] = ()) -> Prepared:
    """Downloads, unpacks or mends what is missing or damaged; `say` hears each step before it is taken.

    UsageError on another machine than Linux on x86-64; InputError X002 to X004 for a package that cannot be had, X007
    when the compiler cannot compile a first unit.
    """
    machine = (sys.platform, platform.machine().lower())
    if machine[0] != "linux" or machine[1] not in ("x86_64", "amd64"):
        raise UsageError(f"the pinned toolchain is for Linux on x86-64, not {'/'.join(machine)}: use --rocm")
    with locked(prefix, say):
        clear_unfinished(prefix)
        done = [line for pin in wanted(frozenset(also)) for line in prepare_package(pin, prefix, say)]
        write_record(prefix, Record(Kind.PINNED))
        toolchain = load(prefix)
        if done:
            _try(toolchain)
    return Prepared(toolchain, tuple(done))


def prepare_rocm(prefix: Path, rocm: Path, ck: Path | None, say: Callable[[str], None]) -> Prepared:
    """Takes a ROCm into use and records it; InputError X005 to X007 when it lacks a part or cannot compile."""
    with locked(prefix, say):
        record = Record(Kind.ROCM, rocm.absolute(), ck.absolute() if ck is not None else None)
        toolchain = rocm_toolchain(rocm, prefix, record.ck)
        _try(toolchain)
        write_record(prefix, record)
    return Prepared(toolchain, ())


def _try(toolchain: AmdToolchain) -> None:
    """Compiles, assembles and links one small unit, and compiles its host half."""
    folder = Path(tempfile.mkdtemp(prefix="ckgen-first-"))
    try:
        source, assembly, code, linked = (str(folder / f"first.{end}") for end in ("hip", "s", "o", "hsaco"))
        Path(source).write_text(_FIRST_UNIT, encoding="utf-8")
        processor = processor_of(target_of_product(_PRODUCT).gfx)
        _run(toolchain, [*toolchain.device(processor), "-O1", "-S", "-o", assembly, source])
        _run(toolchain, [*toolchain.assemble(processor), "-o", code, assembly])
        _run(toolchain, [*toolchain.link(), "-o", linked, code])
        _run(toolchain, [*toolchain.host(), "-fsyntax-only", source])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(toolchain: AmdToolchain, command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        hint = "install the C++ library's headers (Debian: g++)" if toolchain.libstdcxx is None else None
        lines = [*(done.stdout + done.stderr).splitlines()[-10:], f"the command was: {' '.join(command)}"]
        raise toolchain_error("X007", "it cannot compile a first unit", toolchain.root, detail=lines, hint=hint)
