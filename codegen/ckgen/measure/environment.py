"""Where it is measured: the machine and the versions of what takes part."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import subprocess
import sys
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path

from ckgen.measure.model import Environment
from ckgen.model.target import Target
from ckgen.specs.native import own_cpu
from ckgen.version import __version__

_THREADS = "CKGEN_NUM_THREADS"
LIBRARIES: tuple[str, ...] = ("numpy", "torch")
"""What peers are made of."""


def threads() -> int:
    """Of host kernels: CKGEN_NUM_THREADS, else the cores that this process may use."""
    told = os.environ.get(_THREADS, "")
    return int(told) if told.isdecimal() and int(told) else len(os.sched_getaffinity(0))


def environment(target: Target) -> Environment:
    """This machine; a GPU's twins run on its CPU, which is then the device."""
    found = {"ckgen": __version__, "python": platform.python_version(), **_compiler()}
    for name in LIBRARIES:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return Environment(cpu_name(), str(target), "", threads(), tuple(sorted(found.items())))


@cache
def cpu_name() -> str:
    """The CPU as cpuid has it, the level of our kernels on it, and the cores that this process may use."""
    told = dict(re.findall(r"^(.*?)\s*: (.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE))
    model = f"{told['model name']}, family {told['cpu family']} model {told['model']}"
    target = own_cpu()
    return f"{model}, {target.gfx}, {target.cu_num} cores"


def loaded_versions() -> dict[str, str]:
    """Of LIBRARIES, as far as they are loaded, and of what is in them."""
    found: dict[str, str] = {name: str(sys.modules[name].__version__) for name in LIBRARIES if name in sys.modules}
    if "torch" in sys.modules:
        told = re.search(r"MKL-DNN v([\d.]+)", sys.modules["torch"].__config__.show())
        found["oneDNN"] = told[1] if told else "none"
    return found


def driver_of(runtime: str) -> str:
    """A GPU's driver: its runtime and the version that counts, with NVIDIA's own where its library says it."""
    if runtime.startswith("CUDA ") and (nvml := _nvml()) is not None:
        text = ctypes.create_string_buffer(80)
        if nvml.nvmlSystemGetDriverVersion(text, len(text)) == 0:
            return f"{text.value.decode()}, {runtime}"
    return runtime


def gpu_clock_mhz(bus: str) -> float | None:
    """That of the multiprocessors of NVIDIA's device there now; None where nobody says."""
    nvml, device, clock = _nvml(), ctypes.c_void_p(), ctypes.c_uint()
    if nvml is None or nvml.nvmlDeviceGetHandleByPciBusId_v2(bus.encode(), ctypes.byref(device)) != 0:
        return None
    return float(clock.value) if nvml.nvmlDeviceGetClockInfo(device, 1, ctypes.byref(clock)) == 0 else None


@cache
def _nvml() -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
        return library if library.nvmlInit_v2() == 0 else None
    except (OSError, AttributeError):
        return None


def governor() -> str:
    """How CPU 0's clock is governed; empty where the kernel does not say."""
    try:
        return Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def clock_mhz() -> float | None:
    """CPU 0's clock now; None where the kernel does not say."""
    told = re.search(r"^cpu MHz\s*: ([\d.]+)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    return float(told[1]) if told else None


def build_flags(library: Path) -> str:
    """The flags with which CMake had a library compiled; empty for one that it did not build."""
    try:
        cache_text = (library.parent / "CMakeCache.txt").read_text(encoding="utf-8")
    except OSError:
        return ""
    found = dict(re.findall(r"^(\w+):\w+=(.*)$", cache_text, re.MULTILINE))
    kind = found.get("CMAKE_BUILD_TYPE", "")
    return " ".join(f"{found.get('CMAKE_CXX_FLAGS', '')} {found.get(f'CMAKE_CXX_FLAGS_{kind.upper()}', '')}".split())


@cache
def _compiler() -> dict[str, str]:
    name = os.environ.get("CXX", "g++")
    try:
        done = subprocess.run([*name.split(), "-dumpfullversion"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return {}
    return {name: done.stdout.strip()}
