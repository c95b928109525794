"""Tests of the emulator under address and undefined-behaviour sanitizers, of those parts of its core that touch memory.

Those parts: reading of code objects and instructions, arguments, global memory, LDS and their checks. The semantics of
arithmetic are left out, which would cost several times as much to compile. Exit 0 if the tests pass; a sanitizer's
finding ends the process. Needs g++ and the AMD toolchain.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from ckgen_emulator.core_library import core_library

FLAGS = (
    "-O0 -g1 -fsanitize=address,undefined,bounds-strict -fno-sanitize-recover=undefined -fno-omit-frame-pointer "
    "-D_GLIBCXX_ASSERTIONS"
)
SOURCES = (
    "decode elf kernarg kernel metadata memory lane_* global_order_lanes scalar_memory "
    "vector_memory_load vector_memory_store lds lds_checks* lds_dma lds_ops"
)
TESTS = (
    "test_decoder.py", "test_kernel.py", "test_kernarg.py", "test_scalar_memory.py", "test_vector_memory.py",
    "test_buffer_memory.py", "test_lds.py", "test_lds_races.py::test_exchange_through_lds",
)  # fmt: skip

# Only this process is preloaded: the compilers that tests start are none of the sanitizers' business.
_PYTEST = "import os, sys, pytest; del os.environ['LD_PRELOAD']; sys.exit(pytest.main(sys.argv[1:]))"


def main() -> int:
    """Builds, then runs the tests in a process that has the sanitizers' runtime."""
    root = Path(__file__).resolve().parent.parent
    os.environ |= {"CKGEN_EMULATOR_FLAGS": FLAGS, "CKGEN_EMULATOR_FLAGS_FOR": SOURCES, "CKGEN_REQUIRE_AMD": "1"}
    core_library()
    preloaded = " ".join(_library(name) for name in ("libasan.so", "libstdc++.so"))  # whose exceptions it intercepts
    environment = {**os.environ, "LD_PRELOAD": preloaded, "ASAN_OPTIONS": "detect_leaks=0"}
    tests = [str(Path("tests", "emulator", name)) for name in TESTS]
    command = [sys.executable, "-c", _PYTEST, "-q", "--capture=sys", *tests]  # what the runtime says is not captured
    return subprocess.run(command, cwd=root, env=environment, check=False).returncode


def _library(name: str) -> str:
    asked = subprocess.run(["g++", f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    return str(Path(asked.stdout.strip()).resolve())


if __name__ == "__main__":
    sys.exit(main())
