"""The rooms whose source is C++."""

from __future__ import annotations

from .cmake_room import CMakeRoom
from .emulator_room import EmulatorRoom
from .mutant import Room

_HOST_TESTS = tuple(f"tests/cpp/test_host_{what}.py" for what in ("fused", "quant", "moe", "gemm"))
"""The quickest first."""


def cpp_rooms() -> tuple[Room, ...]:
    return (
        CMakeRoom(
            "dispatcher",
            ("dispatcher_cpp/src", "dispatcher_cpp/include/ckgen"),
            ("ckgen_dispatcher_tests", "ckgen_device_code_tests", "ckgen_host_tests"),
            ("tests/cpp/test_codecs.py",),
        ),
        CMakeRoom("host", ("dispatcher_cpp/backends/host",), ("ckgen_host_tests",), _HOST_TESTS),
        EmulatorRoom(),
    )
