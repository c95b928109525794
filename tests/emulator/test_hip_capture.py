"""Captures of the HIP shim: what is recorded is not done, what cannot be is refused, a graph can be launched again."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest
from hip_support import (
    CAPTURED_EVENT,
    CAPTURING,
    FAILURE,
    IMPLICIT,
    INVALID_HANDLE,
    INVALID_VALUE,
    INVALIDATED,
    MERGED,
    TO_DEVICE,
    UNJOINED,
    UNMATCHED,
    Hip,
    add_arguments,
    code,
    hip,
    make_hip,
)

__all__ = ["hip", "make_hip"]

pytestmark = [pytest.mark.amd, pytest.mark.cpp]

COUNT = 64
VALUES = np.arange(COUNT, dtype=np.int32) + 1
GLOBAL, THREAD, RELAXED = 0, 1, 2


def executable_of(hip: Hip, stream: int) -> int:
    """The graph of the capture that ends now, ready to be launched."""
    graph = ctypes.c_void_p()
    hip.ok("hipStreamEndCapture", stream, ctypes.byref(graph))
    assert graph.value
    executable = hip.made("hipGraphInstantiate", graph.value, 0, 0, 0)
    hip.ok("hipGraphDestroy", graph)
    return executable


def test_a_captured_launch_is_done_when_its_graph_is_launched_and_again(hip: Hip) -> None:
    stream, function = hip.made("hipStreamCreate"), hip.function("add")
    source, out = hip.array(VALUES), hip.array(np.zeros(COUNT, np.int32))
    host = VALUES * 10
    hip.ok("hipStreamBeginCapture", stream, GLOBAL)
    assert hip.status(stream) == 1
    hip.ok("hipMemsetAsync", out, 0xFF, 8, stream)
    hip.ok("hipMemcpyAsync", source + 8, host.ctypes.data + 8, 4 * COUNT - 8, TO_DEVICE, stream)
    args = bytearray(add_arguments(out + 8, source + 8, COUNT - 2, 5))
    assert hip.launch(function, bytes(args), on=stream) == 0
    args[:] = bytes(len(args))
    executable = executable_of(hip, stream)
    assert hip.status(stream) == 0 and hip.report() == []
    assert np.array_equal(hip.read(out, COUNT), np.zeros(COUNT))
    for factor in (10, 30):
        host[:] = VALUES * factor
        hip.ok("hipMemset", out, 0, 4 * COUNT)
        hip.ok("hipGraphLaunch", executable, stream)
        hip.ok("hipStreamSynchronize", stream)
        found = hip.read(out, COUNT)
        assert list(found[:2]) == [-1, -1] and np.array_equal(found[2:], VALUES[2:] * factor + 5)
    assert len(hip.report()) == 2
    hip.ok("hipGraphExecDestroy", executable)
    assert hip.call("hipGraphLaunch", executable, stream) == INVALID_HANDLE


def test_a_graph_may_be_captured_into_another(hip: Hip) -> None:
    stream, out, function = hip.made("hipStreamCreate"), hip.array(VALUES), hip.function("add")
    hip.ok("hipStreamBeginCapture", stream, GLOBAL)
    assert hip.launch(function, add_arguments(out, out, COUNT, 1), on=stream) == 0
    inner = executable_of(hip, stream)
    hip.ok("hipStreamBeginCapture", stream, GLOBAL)
    hip.ok("hipGraphLaunch", inner, stream)
    assert hip.launch(function, add_arguments(out, out, COUNT, 10), on=stream) == 0
    hip.ok("hipGraphLaunch", inner, stream)
    outer = executable_of(hip, stream)
    hip.ok("hipGraphLaunch", outer, stream)
    assert np.array_equal(hip.read(out, COUNT), VALUES + 12)


REFUSED: dict[str, Callable[[Hip, int], int]] = {
    "hipMalloc": lambda hip, stream: hip.call("hipMalloc", ctypes.byref(ctypes.c_void_p()), 64),
    "hipFree": lambda hip, stream: hip.call("hipFree", 0),
    "hipHostMalloc": lambda hip, stream: hip.call("hipHostMalloc", ctypes.byref(ctypes.c_void_p()), 64, 0),
    "hipMemset": lambda hip, stream: hip.call("hipMemset", 0, 0, 0),
    "hipStreamSynchronize": lambda hip, stream: hip.call("hipStreamSynchronize", stream),
    "hipStreamQuery": lambda hip, stream: hip.call("hipStreamQuery", stream),
    "hipDeviceSynchronize": lambda hip, stream: hip.call("hipDeviceSynchronize"),
    "hipModuleLoadData": lambda hip, stream: hip.call(
        "hipModuleLoadData", ctypes.byref(ctypes.c_void_p()), ctypes.c_char_p(code("gfx942"))
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_captured_is_refused_and_ends_the_capture(hip: Hip, name: str) -> None:
    stream, out = hip.made("hipStreamCreate"), hip.array(VALUES)
    hip.ok("hipStreamBeginCapture", stream, GLOBAL)
    assert REFUSED[name](hip, stream) == CAPTURING
    assert hip.status(stream) == 2
    assert hip.call("hipMemsetAsync", out, 0, 4, stream) == INVALIDATED
    graph = ctypes.c_void_p(1)
    assert hip.call("hipStreamEndCapture", stream, ctypes.byref(graph)) == INVALIDATED and not graph.value
    assert hip.status(stream) == 0
    assert REFUSED[name](hip, stream) == 0


def test_a_relaxed_capture_allows_other_work(hip: Hip) -> None:
    stream, other = hip.made("hipStreamCreate"), hip.made("hipStreamCreate")
    hip.ok("hipStreamBeginCapture", stream, RELAXED)
    hip.ok("hipFree", hip.made("hipMalloc", 64))
    hip.ok("hipStreamSynchronize", other)
    assert hip.status(stream) == 1


def test_the_default_stream_would_wait_for_a_captured_one(hip: Hip) -> None:
    out = hip.array(VALUES)
    free = hip.made("hipStreamCreateWithFlags", 1)
    hip.ok("hipStreamBeginCapture", free, RELAXED)
    hip.ok("hipMemsetAsync", out, 0, 4, 0)
    blocking = hip.made("hipStreamCreate")
    hip.ok("hipStreamBeginCapture", blocking, RELAXED)
    assert hip.call("hipMemsetAsync", out, 0, 4, 0) == IMPLICIT
    assert (hip.status(free), hip.status(blocking)) == (1, 2)
    assert hip.call("hipStreamBeginCapture", 0, GLOBAL) == CAPTURING


def test_forked_streams_are_captured_and_must_be_joined(hip: Hip) -> None:
    first, second = hip.made("hipStreamCreate"), hip.made("hipStreamCreate")
    fork, join = hip.made("hipEventCreate"), hip.made("hipEventCreate")
    out, function = hip.array(VALUES), hip.function("add")

    def branch(*, joined: bool) -> None:
        hip.ok("hipStreamBeginCapture", first, GLOBAL)
        hip.ok("hipEventRecord", fork, first)
        hip.ok("hipStreamWaitEvent", second, fork, 0)
        assert hip.status(second) == 1
        assert hip.launch(function, add_arguments(out, out, COUNT, 100), on=second) == 0
        hip.ok("hipEventRecord", join, second)
        if joined:
            hip.ok("hipStreamWaitEvent", first, join, 0)

    branch(joined=True)
    assert hip.call("hipEventSynchronize", join) == CAPTURED_EVENT
    graph = ctypes.c_void_p()
    assert hip.call("hipStreamEndCapture", second, ctypes.byref(graph)) == UNMATCHED
    executable = executable_of(hip, first)
    assert hip.status(second) == 0
    hip.ok("hipGraphLaunch", executable, first)
    assert np.array_equal(hip.read(out, COUNT), VALUES + 100)
    branch(joined=False)
    assert hip.call("hipStreamEndCapture", first, ctypes.byref(graph)) == UNJOINED


def test_two_captures_do_not_become_one(hip: Hip) -> None:
    first, second, event = hip.made("hipStreamCreate"), hip.made("hipStreamCreate"), hip.made("hipEventCreate")
    hip.ok("hipStreamBeginCapture", first, GLOBAL)
    hip.ok("hipStreamBeginCapture", second, GLOBAL)
    assert hip.call("hipStreamBeginCapture", second, GLOBAL) == INVALID_VALUE
    hip.ok("hipEventRecord", event, first)
    assert hip.call("hipStreamWaitEvent", second, event, 0) == MERGED


def test_a_graph_does_not_keep_modules_or_memory(hip: Hip) -> None:
    stream = hip.made("hipStreamCreate")
    module = hip.module(code("gfx942"))
    function = hip.made("hipModuleGetFunction", module, b"add")
    out = hip.array(VALUES)
    hip.ok("hipStreamBeginCapture", stream, GLOBAL)
    assert hip.launch(function, add_arguments(out, out, COUNT, 1), on=stream) == 0
    executable = executable_of(hip, stream)
    hip.ok("hipFree", out)
    assert hip.call("hipGraphLaunch", executable, stream) == FAILURE
    assert {finding["rule"] for finding in hip.report()[-1]["findings"]} == {"out_of_bounds"}
    hip.ok("hipModuleUnload", module)
    assert hip.call("hipGraphLaunch", executable, stream) == INVALID_HANDLE
