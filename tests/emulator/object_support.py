"""The core's reader of code objects (core/c_api_object.h) for tests."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from typing import Any

from ckgen_emulator.core_library import core_library

_U32, _U64, _TEXT, _PTR = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_void_p


@dataclass(frozen=True)
class ReadKernel:
    """The figures of one kernel; `arguments` and `hidden` as (kind, offset, size)."""

    name: str
    lds_bytes: int
    scratch_bytes: int
    kernarg_bytes: int
    text_start: int
    entry: int
    text_bytes: int
    vgprs: int
    accum_offset: int
    max_workgroup: int
    arguments: tuple[tuple[str, int, int], ...]
    hidden: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class ReadObject:
    """What the core read; `error` is empty where it read all of it."""

    error: str
    machine: int
    image: bytes
    kernels: tuple[ReadKernel, ...]


_NUMBERS = (
    "lds_bytes", "scratch_bytes", "kernarg_bytes", "text_start", "entry", "text_bytes", "vgprs", "accum_offset",
    "max_workgroup",
)  # fmt: skip


class _KernelC(ctypes.Structure):
    _fields_ = [("name", _TEXT), *((name, _U32) for name in _NUMBERS), ("argument_count", _U32), ("hidden_count", _U32)]


class _ArgumentC(ctypes.Structure):
    _fields_ = [("kind", _TEXT), ("offset", _U32), ("size", _U32)]


@cache
def _core() -> Any:
    core = ctypes.CDLL(str(core_library()))
    types: dict[str, tuple[Any, list[Any]]] = {
        "read": (_PTR, [_TEXT, _U64]),
        "free": (None, [_PTR]),
        "error": (_TEXT, [_PTR]),
        "machine": (_U32, [_PTR]),
        "image": (_PTR, [_PTR, ctypes.POINTER(_U64)]),
        "kernel_count": (_U32, [_PTR]),
        "kernel": (ctypes.c_int, [_PTR, _U32, ctypes.POINTER(_KernelC)]),
        "argument": (ctypes.c_int, [_PTR, _U32, _U32, ctypes.POINTER(_ArgumentC)]),
    }
    for name, (result, arguments) in types.items():
        function = getattr(core, f"ckgen_emu_object_{name}")
        function.restype, function.argtypes = result, arguments
    return core


def read_object(data: bytes) -> ReadObject:
    """The code object in `data` as the core reads it."""
    core = _core()
    handle = core.ckgen_emu_object_read(data, len(data))
    try:
        size = _U64()
        address = core.ckgen_emu_object_image(handle, ctypes.byref(size))
        image = ctypes.string_at(address, size.value) if size.value else b""
        kernels = [_kernel(core, handle, index) for index in range(core.ckgen_emu_object_kernel_count(handle))]
        error = core.ckgen_emu_object_error(handle).decode("utf-8", "backslashreplace")
        return ReadObject(error, core.ckgen_emu_object_machine(handle), image, tuple(kernels))
    finally:
        core.ckgen_emu_object_free(handle)


def _kernel(core: Any, handle: int, index: int) -> ReadKernel:
    found = _KernelC()
    assert core.ckgen_emu_object_kernel(handle, index, ctypes.byref(found)) == 0
    arguments = []
    for position in range(found.argument_count + found.hidden_count):
        one = _ArgumentC()
        assert core.ckgen_emu_object_argument(handle, index, position, ctypes.byref(one)) == 0
        arguments.append((one.kind.decode("utf-8", "backslashreplace"), int(one.offset), int(one.size)))
    numbers = {name: int(getattr(found, name)) for name in _NUMBERS}
    passed = found.argument_count
    name = found.name.decode("utf-8", "backslashreplace")
    return ReadKernel(name, **numbers, arguments=tuple(arguments[:passed]), hidden=tuple(arguments[passed:]))
