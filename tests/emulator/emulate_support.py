"""What a test needs that runs GEMMs through the dispatcher on the emulator: the tests' own build, and compiles."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

from hip_support import shim

from amd_support import amd_toolchain
from ckgen.model.target import Target
from ckgen.runtime import Library
from ckgen.specs.archs import load_archs
from ckgen_emulator.gemm.build import BuildContext, build_kernels, default_context
from ckgen_emulator.gemm.kernel import DEVICE_LIBRARY, LIBRARY, KernelUnits
from ckgen_emulator.gemm.runtime import Runtime
from cpp_build import SYSTEM_LIBRARIES, dispatcher_archive


@cache
def runtime(folder: Path) -> Runtime:
    """The dispatcher of the tests' own build as a shared library, and its HIP runtime."""
    library = folder / "libdispatcher.so"
    archive = dispatcher_archive()
    whole = ["-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive", *SYSTEM_LIBRARIES]
    subprocess.run(["g++", "-shared", "-o", str(library), *whole], check=True)
    return Runtime(library, shim())


def context() -> BuildContext:
    """Compiles as a user's build does, into the same cache."""
    return default_context(amd_toolchain(), load_archs(), print, lambda standing: None, 2)


def library_of(units: KernelUnits, target: Target, folder: Path) -> Library:
    """A library of one kernel with its GPU code, and the dispatcher in it, on a simulated GPU."""
    (built,) = build_kernels([units], context())
    assert built.library is not None, built.failure_text
    whole = ["-Wl,--whole-archive", str(dispatcher_archive()), "-Wl,--no-whole-archive", *SYSTEM_LIBRARIES]
    beside = ["-Wl,--no-as-needed", str(built.library), f"-Wl,-rpath,{built.library.parent}"]
    path = folder / "liboperations.so"
    subprocess.run(["g++", "-shared", "-o", str(path), *whole, *beside], check=True)
    return Library.load(path, [LIBRARY], str(target), device_names=[DEVICE_LIBRARY])
