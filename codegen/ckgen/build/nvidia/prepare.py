"""Makes a prefix hold a working NVIDIA toolchain: locked, resumable, and nothing to do when all is there."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ckgen.build.nvidia.model import NvidiaToolchain
from ckgen.build.nvidia.pins import BESIDE_CUDA, Role, pins
from ckgen.build.nvidia.toolchain import load, merged, write_record
from ckgen.build.packages.errors import toolchain_error
from ckgen.build.packages.lock import locked
from ckgen.build.packages.prepare import clear_unfinished, prepare_package
from ckgen.model.errors import UsageError
from ckgen.specs.archs import processor_of
from ckgen.specs.targets import target_of_product

_PRODUCT = "H100"
_TREE = "nvidia/cu13"
_FIRST_UNIT = 'extern "C" __global__ void ckgen_first(unsigned* out) { out[threadIdx.x] = blockIdx.x; }\n'


@dataclass(frozen=True, slots=True)
class Prepared:
    """The toolchain, and what had to be done: a line per package."""

    toolchain: NvidiaToolchain
    done: tuple[str, ...]


def prepare(prefix: Path, cuda: Path | None, say: Callable[[str], None]) -> Prepared:
    """Downloads, unpacks or mends what is missing or damaged; of a CUDA that is named, what that need not bring.

    UsageError on another machine than Linux on x86-64; InputError X002 to X004 for a package that cannot be had, X005
    for a CUDA that lacks a part, X007 where the compiler cannot compile a first unit.
    """
    machine = (sys.platform, platform.machine().lower())
    if machine[0] != "linux" or machine[1] not in ("x86_64", "amd64"):
        raise UsageError(f"the NVIDIA toolchain is for Linux on x86-64, not {'/'.join(machine)}")
    roles = BESIDE_CUDA if cuda is not None else tuple(Role)
    with locked(prefix, say):
        clear_unfinished(prefix)
        done = [line for role in roles for line in prepare_package(pins()[role], prefix, say)]
        if cuda is None and (done or not merged(prefix).is_dir()):
            say("making one tree of CUDA's wheels")
            _merge(prefix)
        write_record(prefix, cuda.absolute() if cuda is not None else None)
        toolchain = load(prefix)
        if done or cuda is not None:
            _try(toolchain)
    return Prepared(toolchain, tuple(done))


def _merge(prefix: Path) -> None:
    """nvcc finds its parts by where it lies itself: hard links to the files of all wheels, in one tree."""
    beside = Path(tempfile.mkdtemp(dir=prefix, prefix=".unpacking-"))
    for role, pin in pins().items():
        if role in BESIDE_CUDA:
            continue
        source = prefix / pin.folder / _TREE
        for file in sorted(path for path in source.rglob("*") if path.is_file()):
            place = beside / file.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            os.link(file, place)
    beside.chmod(0o755)
    shutil.rmtree(merged(prefix), ignore_errors=True)
    beside.rename(merged(prefix))


def _try(toolchain: NvidiaToolchain) -> None:
    """Compiles and reads one small unit."""
    with tempfile.TemporaryDirectory(prefix="ckgen-first-") as folder:
        (Path(folder) / toolchain.device_source).write_text(_FIRST_UNIT, encoding="utf-8")
        for step in toolchain.device_steps(processor_of(target_of_product(_PRODUCT).gfx), ()):
            done = subprocess.run(step, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
            if done.returncode:
                lines = [*(done.stdout + done.stderr).splitlines()[-10:], f"the command was: {' '.join(step)}"]
                raise toolchain_error("X007", "it cannot compile a first unit", toolchain.root, detail=lines)
