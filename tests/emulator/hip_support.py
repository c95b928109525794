"""The HIP shim as Python sees it: one runtime per test, of a device and options of its own."""

from __future__ import annotations

import ctypes
import json
import shutil
import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from step_support import table

from amd_kernels import compiled
from ckgen_emulator.core_library import core_library
from cpp_build import built

TO_DEVICE, TO_HOST, ON_DEVICE = 1, 2, 3
INVALID_VALUE, INVALID_CONFIGURATION, INVALID_POINTER, NO_DEVICE = 1, 9, 17, 100
INVALID_IMAGE, OTHER_ARCH, INVALID_HANDLE, NOT_FOUND, NO_RESOURCES, FAILURE = 200, 209, 400, 500, 701, 719
CAPTURING, INVALIDATED, MERGED, UNMATCHED, UNJOINED, IMPLICIT, CAPTURED_EVENT = 900, 901, 902, 903, 904, 906, 907
"""HIP's errors; those from 900 on are of captures."""

SOURCE = """
#define K extern "C" __attribute__((global)) void
#define LANE __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()
K __attribute__((amdgpu_flat_work_group_size(64, 256))) add(int* out, const int* in, short n, int more) {
  int i = GROUP * 64 + LANE;
  if (i < n) out[i] = in[i] + more;
}
K beyond(int* out) { out[LANE + 1] = 7; }
"""


def shim() -> Path:
    """The shim's library."""
    return built("ckgen_hip_shim") / "emulator" / "ckgen_emulator" / "hip_shim" / "libckgen_hip_shim.so"


def environment(folder: Path, target: str, options: str = "") -> dict[str, str]:
    """What the shim must be told of a device: its core, table, target, options and the report's file."""
    text = folder / f"table_{target.partition(':')[0]}.txt"
    text.write_text(table(target.partition(":")[0]), encoding="utf-8")
    return {
        "CKGEN_EMULATOR": str(core_library()),
        "CKGEN_EMULATOR_TABLE": str(text),
        "CKGEN_EMULATOR_TARGET": target,
        "CKGEN_EMULATOR_OPTIONS": options,
        "CKGEN_EMULATOR_REPORT": str(folder / "report.jsonl"),
    }


def read_report(folder: Path) -> list[dict[str, Any]]:
    """The launches that the report in that folder tells of."""
    path = folder / "report.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()] if path.exists() else []


@cache
def code(arch: str) -> bytes:
    """The tests' small kernels."""
    return compiled(arch, SOURCE).data


class Hip:
    """One loaded shim. A copy of the library has state of its own, and reads its environment at its first call."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        copy = folder / "libamdhip64.so"
        shutil.copy(shim(), copy)
        self.library = ctypes.CDLL(str(copy))

    def call(self, name: str, *arguments: Any) -> int:
        """The error of a HIP function; whole numbers are passed as pointers are."""
        words = [ctypes.c_void_p(one) if isinstance(one, int) else one for one in arguments]
        return int(getattr(self.library, name)(*words))

    def made(self, name: str, *arguments: Any) -> int:
        """The handle that a HIP function puts into its first argument."""
        handle = ctypes.c_void_p()
        assert self.call(name, ctypes.byref(handle), *arguments) == 0, name
        return handle.value or 0

    def ok(self, name: str, *arguments: Any) -> None:
        assert self.call(name, *arguments) == 0, name

    def array(self, values: NDArray[Any]) -> int:
        """Device memory with those values."""
        memory = self.made("hipMalloc", values.nbytes)
        self.ok("hipMemcpy", memory, values.ctypes.data, values.nbytes, TO_DEVICE)
        return memory

    def read(self, memory: int, count: int) -> NDArray[np.int32]:
        values = np.zeros(count, np.int32)
        self.ok("hipMemcpy", values.ctypes.data, memory, values.nbytes, TO_HOST)
        return values

    def module(self, data: bytes) -> int:
        return self.made("hipModuleLoadData", ctypes.c_char_p(data))

    def function(self, name: str, data: bytes | None = None) -> int:
        """A kernel of the tests' own module, or of `data`."""
        return self.made("hipModuleGetFunction", self.module(data or code("gfx942")), name.encode())

    def launch(self, function: int, args: bytes, *, grid: int = 1, block: int = 64, lds: int = 0, on: int = 0) -> int:
        """A launch with a buffer of arguments."""
        buffer, size = ctypes.c_char_p(args), ctypes.c_size_t(len(args))
        extra = (ctypes.c_void_p * 5)(
            1, ctypes.cast(buffer, ctypes.c_void_p).value, 2, ctypes.addressof(size), 3
        )  # HIP_LAUNCH_PARAM_BUFFER_POINTER, _BUFFER_SIZE, _END
        return self.call("hipModuleLaunchKernel", function, grid, 1, 1, block, 1, 1, lds, on, 0, extra)

    def report(self) -> list[dict[str, Any]]:
        """What the report tells of each launch."""
        return read_report(self.folder)

    def status(self, stream: int) -> int:
        """Whether a stream is being captured: 0 no, 1 yes, 2 invalidated."""
        found = ctypes.c_int(-1)
        self.ok("hipStreamIsCapturing", stream, ctypes.byref(found))
        return found.value


def add_arguments(out: int, source: int, count: int, more: int) -> bytes:
    """The kernarg segment of `add`."""
    return struct.pack("<QQhxxi", out, source, count, more)


MakeHip = Callable[..., Hip]


@pytest.fixture
def make_hip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeHip:
    """`make_hip(target, options)` is a runtime of that device."""

    def make(target: str = "gfx942:304", options: str = "") -> Hip:
        for name, value in environment(tmp_path, target, options).items():
            monkeypatch.setenv(name, value)
        hip = Hip(tmp_path)
        hip.ok("hipInit", 0)
        return hip

    return make


@pytest.fixture
def hip(make_hip: MakeHip) -> Hip:
    """A runtime of an MI300X that checks."""
    return make_hip()
