"""The machine's own target: its first HIP or CUDA device if one answers, else the CPU by what cpuid says."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from ckgen.model.arch import ArchSpec
from ckgen.model.target import Target
from ckgen.specs.archs import load_archs

_LIBRARY = "libamdhip64.so"
_MULTIPROCESSOR_COUNT = 63
_CUDA_LIBRARY = "libcuda.so.1"
_CUDA_MULTIPROCESSORS, _CUDA_MAJOR, _CUDA_MINOR = 16, 75, 76
_ROCMINFO_SECONDS = 20


def native_target() -> Target:
    """`native_device`, which names its product where its count has a more usual one: what `native` means in a list."""
    found, archs = native_device(), load_archs()
    return found._replace(sku=archs[found.gfx].told_apart(found.cu_num, found.sku)) if found.sku else found


def native_device() -> Target:
    """A GPU's target if one answers, AMD's first, else the CPU's; no GPU call is made before this is asked.

    With its product, where the driver's name for it or the CPU's model is known.
    """
    archs = load_archs()
    return hip_target(archs) or rocminfo_target() or cuda_target(archs) or own_cpu()


def own_cpu() -> Target:
    """This machine's CPU as a target: its highest level, the cores that this process may use, its product if known."""
    told = cpu_info()
    return cpu_target(load_archs(), told.get("flags", "").split(), len(os.sched_getaffinity(0)), cpu_model(told))


def hip_target(archs: Mapping[str, ArchSpec]) -> Target | None:
    """Device 0 through the HIP runtime's C API; None where the library or a device is missing."""
    try:
        hip = ctypes.CDLL(os.environ.get("CKGEN_HIP_LIBRARY") or _LIBRARY)
        count, cu_num = ctypes.c_int(0), ctypes.c_int(0)
        if hip.hipGetDeviceCount(ctypes.byref(count)) != 0 or count.value == 0:
            return None
        if hip.hipDeviceGetAttribute(ctypes.byref(cu_num), _MULTIPROCESSOR_COUNT, 0) != 0 or cu_num.value <= 0:
            return None
        properties = _hip_properties(hip)
    except (OSError, AttributeError):
        return None
    match = re.search(rb"gfx[0-9a-f]+", properties)
    return _target(archs, match.group().decode(), cu_num.value, properties.split(b"\0")[0]) if match else None


def _hip_properties(hip: ctypes.CDLL) -> bytes:
    """The properties struct, which differs between HIP versions: it begins with the product's name, and its arch's is
    the only `gfx…` text in it. Empty where the call fails."""
    properties = ctypes.create_string_buffer(8192)
    read = getattr(hip, "hipGetDevicePropertiesR0600", None) or hip.hipGetDeviceProperties
    return properties.raw if read(properties, 0) == 0 else b""


def _target(archs: Mapping[str, ArchSpec], gfx: str, cu_num: int, driver_name: bytes) -> Target:
    arch = archs.get(gfx)
    name = driver_name.decode(errors="replace")
    return Target(gfx, cu_num, arch.word_of_device(cu_num, name) if arch else "")


def cuda_target(archs: Mapping[str, ArchSpec]) -> Target | None:
    """Device 0 through NVIDIA's driver; None where the driver, a device or a spec of it is missing."""
    try:
        cuda = ctypes.CDLL(os.environ.get("CKGEN_CUDA_LIBRARY") or _CUDA_LIBRARY)
        found = [ctypes.c_int(0) for _ in range(3)]
        if cuda.cuInit(0) != 0:
            return None
        for value, attribute in zip(found, (_CUDA_MULTIPROCESSORS, _CUDA_MAJOR, _CUDA_MINOR), strict=True):
            if cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, 0) != 0:
                return None
        product = ctypes.create_string_buffer(256)
        if cuda.cuDeviceGetName(product, len(product), 0) != 0:
            product.value = b""
    except (OSError, AttributeError):
        return None
    count, capability = found[0].value, 10 * found[1].value + found[2].value
    known = (arch.name for arch in archs.values() if arch.compute_capability == capability > 0)
    name = next(known, None)
    return _target(archs, name, count, product.value) if name is not None and count > 0 else None


def gpu_count() -> int:
    """How many GPUs this process may use, AMD's or else NVIDIA's; no more than that is asked of the driver."""
    count = ctypes.c_int(0)
    try:
        hip = ctypes.CDLL(os.environ.get("CKGEN_HIP_LIBRARY") or _LIBRARY)
        if hip.hipGetDeviceCount(ctypes.byref(count)) == 0 and count.value > 0:
            return count.value
    except (OSError, AttributeError):
        pass
    try:
        cuda = ctypes.CDLL(os.environ.get("CKGEN_CUDA_LIBRARY") or _CUDA_LIBRARY)
        known = cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0
    except (OSError, AttributeError):
        return 0
    return count.value if known else 0


def only_gpu(number: int) -> dict[str, str]:
    """Variables of a process that is to see only that one of this process's GPUs, as its first.

    AMD's runtime counts by its own variable, and by NVIDIA's where that says nothing.
    """
    theirs, own = _seen("CUDA_VISIBLE_DEVICES"), _seen("HIP_VISIBLE_DEVICES")
    told = {"HIP_VISIBLE_DEVICES": own or theirs, "CUDA_VISIBLE_DEVICES": theirs}
    return {name: seen[number] if number < len(seen) else str(number) for name, seen in told.items()}


def _seen(name: str) -> list[str]:
    return [one.strip() for one in os.environ.get(name, "").split(",") if one.strip()]


def rocminfo_target() -> Target | None:
    """The first GPU agent that `rocminfo` lists; None without it."""
    program = shutil.which("rocminfo")
    if program is None:
        return None
    try:
        done = subprocess.run([program], capture_output=True, text=True, timeout=_ROCMINFO_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_rocminfo(done.stdout, load_archs())


def parse_rocminfo(text: str, archs: Mapping[str, ArchSpec]) -> Target | None:
    """`rocminfo` counts physical CUs; the target's count is what HIP reports for them."""
    agent = re.search(r"^\s*Name:\s*(gfx[0-9a-f]+)\s*$(.*?)(?=^\s*Agent\b|\Z)", text, re.MULTILINE | re.DOTALL)
    if agent is None:
        return None
    units = re.search(r"^\s*Compute Unit:\s*(\d+)", agent.group(2), re.MULTILINE)
    if units is None or int(units.group(1)) == 0:
        return None
    physical = int(units.group(1))
    arch = archs.get(agent.group(1))
    per_unit = arch.default_sku.physical_cus // arch.default_sku.cu_num if arch else 1
    product = re.search(r"^\s*Marketing Name:\s*(\S.*?)\s*$", agent.group(2), re.MULTILINE)
    name = product.group(1).encode() if product else b""
    return _target(archs, agent.group(1), max(1, physical // per_unit), name)


def cpu_info(cpuinfo: Path = Path("/proc/cpuinfo")) -> dict[str, str]:
    """What the kernel tells of the first processor; empty where it does not."""
    try:
        text = cpuinfo.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    return dict(re.findall(r"^(\w[\w ]*?)\s*: ?(.*)$", text.partition("\n\n")[0], re.MULTILINE))


def cpu_model(told: Mapping[str, str]) -> str:
    """A CPU's vendor, family and model, as `driver_names` of arch specs have them."""
    return " ".join(told.get(key, "") for key in ("vendor_id", "cpu family", "model"))


def cpu_target(archs: Mapping[str, ArchSpec], flags: Iterable[str], cores: int, model: str = "") -> Target:
    """The CPU arch with the most required flags that are all present; the least demanding one if none fits."""
    present = frozenset(flags)
    cpus = sorted(
        ((len(arch.cpu.required), name, arch.cpu.required) for name, arch in archs.items() if arch.cpu is not None),
    )
    fitting = [name for _, name, required in cpus if present.issuperset(required)]
    gfx = fitting[-1] if fitting else cpus[0][1]
    return Target(gfx, cores, archs[gfx].word_of_device(cores, model))
