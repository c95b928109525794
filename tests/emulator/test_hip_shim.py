"""The HIP runtime whose device is the emulator: what it answers, launches and refuses."""

from __future__ import annotations

import ctypes
import struct

import numpy as np
import pytest
from hip_support import (
    FAILURE,
    INVALID_CONFIGURATION,
    INVALID_HANDLE,
    INVALID_IMAGE,
    INVALID_POINTER,
    INVALID_VALUE,
    NO_DEVICE,
    NO_RESOURCES,
    NOT_FOUND,
    ON_DEVICE,
    OTHER_ARCH,
    TO_DEVICE,
    TO_HOST,
    Hip,
    MakeHip,
    add_arguments,
    code,
    hip,
    make_hip,
)

from ckgen.specs.archs import load_archs

__all__ = ["hip", "make_hip"]

pytestmark = [pytest.mark.amd, pytest.mark.cpp]

COUNT = 100
VALUES = np.arange(COUNT, dtype=np.int32) * 3 - 50


def attribute(hip: Hip, number: int) -> int:
    value = ctypes.c_int(-1)
    assert hip.call("hipDeviceGetAttribute", ctypes.byref(value), number, 0) == 0
    return value.value


@pytest.mark.parametrize(("target", "compute_units", "xcds"), [("gfx942:80", 80, 4), ("gfx950", 256, 8)])
def test_the_device_is_that_of_the_arch_specs(make_hip: MakeHip, target: str, compute_units: int, xcds: int) -> None:
    hip = make_hip(target)
    arch = target.partition(":")[0]
    lds = load_archs()[arch].lds_bytes
    assert [attribute(hip, number) for number in (63, 87, 56, 74, 10018)] == [compute_units, 64, 1024, lds, xcds]
    properties = ctypes.create_string_buffer(1472)
    hip.ok("hipGetDevicePropertiesR0600", properties, 0)
    assert properties.raw[1160:].partition(b"\0")[0].decode() == f"{arch}:sramecc+:xnack-"
    assert struct.unpack_from("<Q", properties, 296)[0] == lds
    assert [struct.unpack_from("<i", properties, at)[0] for at in (308, 320, 360, 388)] == [64, 1024, 9, compute_units]
    count, current = ctypes.c_int(), ctypes.c_int(-1)
    hip.ok("hipGetDeviceCount", ctypes.byref(count))
    hip.ok("hipGetDevice", ctypes.byref(current))
    assert (count.value, current.value) == (1, 0)
    assert hip.call("hipSetDevice", 1) == 101


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("CKGEN_EMULATOR", "", "CKGEN_EMULATOR is not set"),
        ("CKGEN_EMULATOR", "/nowhere.so", "CKGEN_EMULATOR: /nowhere.so"),
        ("CKGEN_EMULATOR_TABLE", "/nowhere.txt", "CKGEN_EMULATOR_TABLE: /nowhere.txt cannot be read"),
        ("CKGEN_EMULATOR_TARGET", "gfx1100", "'gfx1100' is no arch whose code is executed"),
        ("CKGEN_EMULATOR_TARGET", "gfx942:many", "'many' is no number"),
        ("CKGEN_EMULATOR_OPTIONS", "careful=1", "no option 'careful'"),
    ],
)
def test_without_a_device_it_says_why(
    hip: Hip, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], name: str, value: str, said: str
) -> None:
    monkeypatch.setenv(name, value)
    (hip.folder / "other").mkdir()
    other = Hip(hip.folder / "other")
    count = ctypes.c_int(-1)
    assert other.call("hipGetDeviceCount", ctypes.byref(count)) == NO_DEVICE and count.value == 0
    assert said in capfd.readouterr().err


def test_a_kernel_computes_with_arguments_in_a_buffer_or_one_by_one(hip: Hip) -> None:
    source, out = hip.array(VALUES), hip.made("hipMalloc", 4 * COUNT)
    function = hip.function("add")
    assert hip.launch(function, add_arguments(out, source, COUNT, 7), grid=2) == 0
    assert np.array_equal(hip.read(out, COUNT), VALUES + 7)
    one_by_one = [ctypes.c_uint64(out), ctypes.c_uint64(source), ctypes.c_int16(COUNT), ctypes.c_int(-9)]
    pointers = (ctypes.c_void_p * 4)(*(ctypes.addressof(one) for one in one_by_one))
    hip.ok("hipModuleLaunchKernel", function, 2, 1, 1, 64, 1, 1, 0, 0, pointers, 0)
    assert np.array_equal(hip.read(out, COUNT), VALUES - 9)
    first, second = hip.report()
    assert first["kernel"] == "add" and first["grid"] == [2, 1, 1] and first["block"] == [64, 1, 1]
    assert first["findings"] == [] and first["error"] is None
    assert (first["groups"], first["waves"]) == (2, 2)
    assert first["instructions"] == second["instructions"] > 10


def test_what_is_wrong_with_a_kernel_fails_its_launch_and_the_next_wait(hip: Hip) -> None:
    stream, out = hip.made("hipStreamCreate"), hip.made("hipMalloc", 4 * 64)
    assert hip.launch(hip.function("beyond"), struct.pack("<Q", out), on=stream) == FAILURE
    assert hip.call("hipGetLastError") == FAILURE and hip.call("hipGetLastError") == 0
    assert [hip.call("hipStreamSynchronize", stream) for _ in range(2)] == [FAILURE, 0]
    (launch,) = hip.report()
    (finding,) = launch["findings"]
    assert finding["rule"] == "out_of_bounds" and finding["lane"] == 63 and finding["group"] == [0, 0, 0]
    assert "global_store" in finding["instruction"]


def test_memory_is_uninitialised_until_it_is_written(hip: Hip) -> None:
    source, out = hip.made("hipMalloc", 4 * COUNT), hip.made("hipMalloc", 4 * COUNT)
    function, args = hip.function("add"), add_arguments(out, source, COUNT, 0)
    assert hip.launch(function, args, grid=2) == FAILURE
    assert {finding["rule"] for finding in hip.report()[-1]["findings"]} == {"uninitialised"}
    hip.ok("hipMemset", source, 1, 4 * COUNT - 4)
    assert hip.launch(function, args, grid=2) == FAILURE
    assert [finding["lane"] for finding in hip.report()[-1]["findings"]] == [COUNT - 1 - 64]
    hip.ok("hipMemset2DAsync", source, 8, 2, 4, COUNT // 2, 0)
    hip.ok("hipMemcpy", source + 4 * COUNT - 4, VALUES.ctypes.data, 4, TO_DEVICE)
    assert hip.launch(function, args, grid=2) == 0
    expected = np.where(np.arange(COUNT) % 2 == 0, 0x02020202, 0x01010101)
    expected[-1] = VALUES[0]
    assert np.array_equal(hip.read(out, COUNT), expected)


def test_unchecked_runs_take_memory_as_it_is(make_hip: MakeHip) -> None:
    hip = make_hip(options="checked=0,threads=2")
    source, out = hip.made("hipMalloc", 4 * COUNT), hip.made("hipMalloc", 4 * COUNT)
    assert hip.launch(hip.function("add"), add_arguments(out, source, COUNT, 0), grid=2) == 0
    assert np.array_equal(hip.read(out, COUNT), np.full(COUNT, -1))


def test_pinned_memory_is_of_the_host_and_of_kernels(hip: Hip) -> None:
    memory = hip.made("hipHostMalloc", 4 * COUNT, 0)
    values = np.ctypeslib.as_array((ctypes.c_int32 * COUNT).from_address(memory))
    values[:] = VALUES
    assert hip.launch(hip.function("add"), add_arguments(memory, memory, COUNT, 1), grid=2) == 0
    assert np.array_equal(values, VALUES + 1)
    assert hip.call("hipFree", memory) == INVALID_VALUE
    hip.ok("hipHostFree", memory)


def test_copies_stay_inside_of_allocations(hip: Hip) -> None:
    memory, host = hip.array(VALUES), np.zeros(COUNT, np.int32)
    assert hip.call("hipMemcpy", memory + 4, VALUES.ctypes.data, 4 * COUNT, TO_DEVICE) == INVALID_VALUE
    assert hip.call("hipMemset", memory + 4, 0, 4 * COUNT) == INVALID_VALUE
    assert hip.call("hipMemcpy", host.ctypes.data, VALUES.ctypes.data, 4, TO_DEVICE) == INVALID_POINTER
    assert hip.call("hipMemcpy", host.ctypes.data, host.ctypes.data, 4, TO_HOST) == INVALID_POINTER
    other = hip.made("hipMalloc", 4 * COUNT)
    hip.ok("hipMemcpyAsync", other, memory, 4 * COUNT, ON_DEVICE, 0)
    assert np.array_equal(hip.read(other, COUNT), VALUES)
    hip.ok("hipFree", memory)
    hip.ok("hipFree", 0)
    assert hip.call("hipFree", memory) == INVALID_VALUE


def test_modules_and_kernels_that_are_not_there_are_refused(hip: Hip, capfd: pytest.CaptureFixture[str]) -> None:
    out = ctypes.c_void_p()
    assert hip.call("hipModuleLoadData", ctypes.byref(out), ctypes.c_char_p(bytes(200))) == INVALID_IMAGE
    assert hip.call("hipModuleLoadData", ctypes.byref(out), ctypes.c_char_p(code("gfx950"))) == OTHER_ARCH
    assert "code for gfx950 on a gfx942" in capfd.readouterr().err
    module = hip.module(code("gfx942"))
    assert hip.call("hipModuleGetFunction", ctypes.byref(out), module, b"none") == NOT_FOUND
    function = hip.made("hipModuleGetFunction", module, b"add")
    hip.ok("hipModuleUnload", module)
    assert hip.call("hipModuleUnload", module) == INVALID_HANDLE
    assert hip.launch(function, bytes(24)) == INVALID_HANDLE
    assert hip.launch(12345, bytes(24)) == INVALID_HANDLE
    assert hip.report() == []


def test_launches_that_no_device_takes_are_refused(hip: Hip, capfd: pytest.CaptureFixture[str]) -> None:
    function = hip.function("add")
    assert hip.launch(function, bytes(24), block=320) == INVALID_CONFIGURATION
    assert "add: a workgroup of 320x1x1 work-items; add is compiled for at most 256" in capfd.readouterr().err
    assert hip.launch(function, bytes(24), grid=0) == INVALID_CONFIGURATION
    assert hip.launch(function, bytes(24), lds=65537) == NO_RESOURCES
    assert "65537 bytes of LDS" in capfd.readouterr().err
    assert hip.call("hipModuleLaunchKernel", function, 1, 1, 1, 64, 1, 1, 0, 0, 0, 0) == INVALID_VALUE
    assert hip.launch(function, bytes(24), on=98765) == INVALID_HANDLE
    assert hip.report() == []


def test_events_measure(hip: Hip) -> None:
    start, stop = hip.made("hipEventCreate"), hip.made("hipEventCreate")
    elapsed = ctypes.c_float(-1)
    assert hip.call("hipEventElapsedTime", ctypes.byref(elapsed), start, stop) == INVALID_HANDLE
    hip.ok("hipEventRecord", start, 0)
    hip.ok("hipEventRecord", stop, 0)
    hip.ok("hipEventSynchronize", stop)
    hip.ok("hipEventElapsedTime", ctypes.byref(elapsed), start, stop)
    assert 0 <= elapsed.value < 1000
    hip.ok("hipEventDestroy", start)
    assert hip.call("hipEventRecord", start, 0) == INVALID_HANDLE
    hip.library.hipGetErrorString.restype = ctypes.c_char_p
    hip.library.hipGetErrorName.restype = ctypes.c_char_p
    assert hip.library.hipGetErrorName(FAILURE) == b"hipErrorLaunchFailure"
    assert b"CKGEN_EMULATOR_REPORT" in hip.library.hipGetErrorString(FAILURE)
