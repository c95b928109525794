"""The core's C interface (core/c_api.h) as Python objects."""

from __future__ import annotations

import ctypes
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckgen.model.errors import UsageError
from ckgen_emulator.core_library import core_library

CLASSES = ("scalar", "vector", "matrix", "scalar_memory", "vector_memory", "lds", "control")
VECTOR_REGISTERS = 512
SCALARS = 128
LANES = 64
VCC, M0, EXEC = 106, 124, 126

_U32, _U64, _TEXT, _PTR = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_void_p
_ABI = 6


@dataclass(frozen=True, slots=True)
class Chip:
    """The GPU that is simulated; `lds_bytes` of one compute unit."""

    arch: str
    compute_units: int
    xcds: int
    lds_bytes: int


@dataclass(frozen=True, slots=True)
class Options:
    """How a launch runs. `seed` 0: waves in order, as far as each goes; else an adversary's order.

    `trace`: a file to which every executed instruction is appended; empty for none. `turn`, with seed 0: all workgroups
    that fit run side by side, each wave in turn by so many instructions, as a GPU might; 0: one after the other.
    `watch`: address and bytes of memory whose last store is traced, much slower; no bytes: none.
    """

    checked: bool = True
    seed: int = 0
    threads: int = 1
    most_instructions: int = 0
    most_findings: int = 20
    trace: str = ""
    turn: int = 0
    watch: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong, where and for whom; `instruction` is empty where none is to blame."""

    rule: str
    instruction: str
    what: str
    address: int
    group: tuple[int, int, int]
    wave: int
    lane: int
    count: int


@dataclass(frozen=True, slots=True)
class Run:
    """What a launch executed and found; bytes, lanes and cycles as in core/stats.hpp.

    `origin`: of one that watches, as core/c_api.h says.
    """

    instructions: int
    by_class: dict[str, int]
    counts: dict[str, int]
    occupancy: int
    findings: tuple[Finding, ...]
    origin: Mapping[str, Any] | None = None

    @property
    def figures(self) -> Figures:
        """As `stats_of` takes them."""
        return self.by_class, self.counts, self.occupancy


Figures = tuple[Mapping[str, int], Mapping[str, int], int]
"""Of a launch: instructions by class, other counts, and workgroups that a compute unit holds."""


def stats_of(launches: Sequence[Figures]) -> dict[str, Any]:
    """Counts of all launches together; the least occupancy of them, in workgroups per compute unit."""
    by_class: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for classes, others, _ in launches:
        by_class.update(classes)
        counts.update(others)
    occupancy = min((held for *_, held in launches), default=0)
    return {"launches": len(launches), "by_class": dict(by_class), **counts, "occupancy": occupancy}


def last_origin(launches: Sequence[Mapping[str, Any] | None]) -> Mapping[str, Any] | None:
    """Of launches that watched one place, that of the last one which wrote it; else of the last."""
    told = [one for one in launches if one is not None]
    return next((one for one in reversed(told) if one["writes"]), told[-1] if told else None)


class _ChipC(ctypes.Structure):
    _fields_ = [("arch", _TEXT), ("table", _TEXT), ("compute_units", _U32), ("xcds", _U32), ("lds_bytes", _U32)]


class _DispatchC(ctypes.Structure):
    _fields_ = [("grid", _U32 * 3), ("block", _U32 * 3), ("dynamic_lds", _U32), ("args", _PTR), ("args_size", _U64)]


class _OptionsC(ctypes.Structure):
    _fields_ = [
        ("checked", ctypes.c_int), ("seed", _U64), ("threads", _U32), ("most_instructions", _U64),
        ("most_findings", _U32), ("trace", _TEXT), ("watch", _U64), ("watch_bytes", _U64), ("turn", _U32),
    ]  # fmt: skip


_COUNTS = (
    "global_read", "global_written", "atomics", "lds_read", "lds_written", "lds_cycles", "lds_conflict_cycles",
    "groups", "waves",
)  # fmt: skip


class _ResultC(ctypes.Structure):
    _fields_ = [
        ("instructions", _U64), ("by_class", _U64 * len(CLASSES)), *((name, _U64) for name in _COUNTS),
        ("occupancy", _U32), ("findings", _U32),
    ]  # fmt: skip


class _FindingC(ctypes.Structure):
    _fields_ = [
        ("rule", _TEXT), ("instruction", _TEXT), ("what", _TEXT), ("address", _U32), ("group", _U32 * 3),
        ("wave", _U32), ("lane", ctypes.c_int32), ("count", _U64),
    ]  # fmt: skip


class _WaveC(ctypes.Structure):
    _fields_ = [
        ("scalars", _PTR), ("vectors", _PTR), ("lds", _PTR), ("lds_bytes", _U32), ("mode", _U32), ("scc", _U32),
        ("all_written", ctypes.c_int),
    ]  # fmt: skip


@cache
def _core() -> Any:
    """The library with its functions' types; TypeError never, UsageError for another ABI."""
    core = ctypes.CDLL(str(core_library()))
    pointer = ctypes.POINTER
    types: dict[str, tuple[Any, list[Any]]] = {
        "error": (_TEXT, []),
        "abi": (_U32, []),
        "create": (_PTR, [pointer(_ChipC)]),
        "destroy": (None, [_PTR]),
        "memory_add": (ctypes.c_int, [_PTR, _PTR, _U64, ctypes.c_int, ctypes.c_int]),
        "memory_remove": (ctypes.c_int, [_PTR, _PTR]),
        "memory_written": (ctypes.c_int, [_PTR, _PTR, _U64]),
        "load": (ctypes.c_int, [_PTR, _TEXT, _U64, pointer(_PTR)]),
        "unload": (None, [_PTR, _PTR]),
        "kernel_count": (_U32, [_PTR]),
        "kernel_name": (_TEXT, [_PTR, _U32]),
        "launch": (
            ctypes.c_int,
            [_PTR, _PTR, _TEXT, pointer(_DispatchC), pointer(_OptionsC), pointer(_ResultC), pointer(_PTR)],
        ),
        "report_finding": (None, [_PTR, _U32, pointer(_FindingC)]),
        "report_origin": (_TEXT, [_PTR]),
        "report_free": (None, [_PTR]),
        "step": (
            ctypes.c_int,
            [_PTR, _TEXT, _U64, pointer(_OptionsC), pointer(_WaveC), pointer(_ResultC), pointer(_PTR)],
        ),
        "disassemble": (_U64, [_PTR, _TEXT, _U64, _PTR, _U64]),
        "opcodes": (_U64, [_PTR, _PTR, _U64]),
    }
    for name, (result, arguments) in types.items():
        function = getattr(core, f"ckgen_emu_{name}")
        function.restype, function.argtypes = result, arguments
    if core.ckgen_emu_abi() != _ABI:
        raise UsageError(f"the emulator's core has ABI {core.ckgen_emu_abi()}, this ckgen needs {_ABI}")
    return core


class Wave:
    """One wave's registers around a few instructions; `vectors` has v0…v255, then a0…a255."""

    def __init__(self, lds_bytes: int = 0) -> None:
        self.scalars: NDArray[np.uint32] = np.zeros(SCALARS, np.uint32)
        self.vectors: NDArray[np.uint32] = np.zeros((VECTOR_REGISTERS, LANES), np.uint32)
        self.lds: NDArray[np.uint8] = np.zeros(lds_bytes, np.uint8)
        self.mode = 0x3F0
        self.scc = 0
        self.exec_mask = 2**LANES - 1

    def pair(self, first: int) -> int:
        """Scalar registers `first` and `first + 1` as one number."""
        return int(self.scalars[first]) | int(self.scalars[first + 1]) << 32

    def set_pair(self, first: int, value: int) -> None:
        """Sets scalar registers `first` and `first + 1`."""
        self.scalars[first], self.scalars[first + 1] = value & 0xFFFFFFFF, value >> 32 & 0xFFFFFFFF

    @property
    def exec_mask(self) -> int:
        """EXEC."""
        return self.pair(EXEC)

    @exec_mask.setter
    def exec_mask(self, value: int) -> None:
        self.set_pair(EXEC, value)


class Module:
    """A loaded code object; `kernels` are their names."""

    def __init__(self, handle: int, kernels: tuple[str, ...]) -> None:
        self.handle, self.kernels = handle, kernels


class Emulator:
    """One simulated chip with its memory. Not for several threads at once; a context manager."""

    def __init__(self, chip: Chip, table: str) -> None:
        self.chip = chip
        self._core = _core()
        described = _ChipC(chip.arch.encode(), table.encode(), chip.compute_units, chip.xcds, chip.lds_bytes)
        self._handle: int | None = self._core.ckgen_emu_create(ctypes.byref(described))
        if not self._handle:
            raise UsageError(self._error())
        self._kept: dict[int, NDArray[Any]] = {}

    def __enter__(self) -> Emulator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Frees the chip; arrays are the caller's again."""
        if self._handle:
            self._core.ckgen_emu_destroy(self._handle)
        self._handle = None
        self._kept.clear()

    def add(self, array: NDArray[Any], *, written: bool = True, writable: bool = True) -> int:
        """Lets kernels touch a contiguous array's memory; gives its address. Kept alive until removed."""
        if not array.flags.c_contiguous:
            raise ValueError("kernels need contiguous memory")
        address = array.ctypes.data
        self._done(self._core.ckgen_emu_memory_add(self._handle, address, array.nbytes, written, writable))
        self._kept[address] = array
        return address

    def remove(self, array: NDArray[Any]) -> None:
        """Takes it away again."""
        self._done(self._core.ckgen_emu_memory_remove(self._handle, array.ctypes.data))
        del self._kept[array.ctypes.data]

    def load(self, code_object: bytes) -> Module:
        """Loads a code object of the chip's arch; UsageError for what is none."""
        handle = _PTR()
        self._done(self._core.ckgen_emu_load(self._handle, code_object, len(code_object), ctypes.byref(handle)))
        assert handle.value is not None
        count = self._core.ckgen_emu_kernel_count(handle)
        names = tuple(self._core.ckgen_emu_kernel_name(handle, index).decode() for index in range(count))
        return Module(handle.value, names)

    def unload(self, module: Module) -> None:
        """Forgets a module."""
        self._core.ckgen_emu_unload(self._handle, module.handle)

    def launch(
        self,
        module: Module,
        kernel: str,
        grid: Sequence[int],
        block: Sequence[int],
        args: bytes,
        options: Options,
        dynamic_lds: int = 0,
    ) -> Run:
        """Runs a kernel to its end; `grid` in workgroups. UsageError for what cannot be launched at all."""
        dispatch = _DispatchC(
            (_U32 * 3)(*grid),
            (_U32 * 3)(*block),
            dynamic_lds,
            ctypes.cast(ctypes.c_char_p(args), _PTR).value,
            len(args),
        )
        result, report = _ResultC(), _PTR()
        self._done(
            self._core.ckgen_emu_launch(
                self._handle,
                module.handle,
                kernel.encode(),
                ctypes.byref(dispatch),
                ctypes.byref(_options(options)),
                ctypes.byref(result),
                ctypes.byref(report),
            )
        )
        return self._run(result, report)

    def step(self, code: bytes, wave: Wave, options: Options | None = None, *, all_written: bool = True) -> Run:
        """Runs instruction bytes for one wave and changes its registers."""
        chosen = _options(options or Options())
        state = _WaveC(
            wave.scalars.ctypes.data, wave.vectors.ctypes.data, wave.lds.ctypes.data, wave.lds.nbytes, wave.mode,
            wave.scc, all_written,
        )  # fmt: skip
        result, report = _ResultC(), _PTR()
        self._done(
            self._core.ckgen_emu_step(
                self._handle,
                code,
                len(code),
                ctypes.byref(chosen),
                ctypes.byref(state),
                ctypes.byref(result),
                ctypes.byref(report),
            )
        )
        wave.mode, wave.scc = state.mode, state.scc
        return self._run(result, report)

    def disassemble(self, code: bytes) -> list[tuple[int, int, str]]:
        """Address, bytes and text of every instruction, up to what is none."""
        lines = self._text(
            lambda text, room: self._core.ckgen_emu_disassemble(self._handle, code, len(code), text, room)
        )
        split = (line.split(" ", 2) for line in lines)
        return [(int(address, 16), int(size), text) for address, size, text in split]

    def opcodes(self) -> dict[str, bool]:
        """Every mnemonic of the chip, and whether it is executed."""
        lines = self._text(lambda text, room: self._core.ckgen_emu_opcodes(self._handle, text, room))
        return {name: executed == "1" for _, name, executed in (line.split() for line in lines)}

    def _text(self, ask: Any) -> list[str]:
        room = ask(None, 0)
        text = ctypes.create_string_buffer(room)
        ask(text, room)
        return text.value.decode().splitlines()

    def _run(self, result: _ResultC, report: Any) -> Run:
        findings = []
        for index in range(result.findings):
            one = _FindingC()
            self._core.ckgen_emu_report_finding(report, index, ctypes.byref(one))
            group = (one.group[0], one.group[1], one.group[2])
            findings.append(
                Finding(
                    one.rule.decode(),
                    one.instruction.decode(),
                    one.what.decode(),
                    one.address,
                    group,
                    one.wave,
                    one.lane,
                    one.count,
                )
            )
        told = self._core.ckgen_emu_report_origin(report)
        self._core.ckgen_emu_report_free(report)
        by_class = dict(zip(CLASSES, result.by_class, strict=True))
        counts = {name: int(getattr(result, name)) for name in _COUNTS}
        return Run(
            result.instructions, by_class, counts, result.occupancy, tuple(findings), json.loads(told) if told else None
        )

    def _done(self, status: int) -> None:
        if status:
            raise UsageError(self._error())

    def _error(self) -> str:
        return str(self._core.ckgen_emu_error().decode())


def _options(options: Options) -> _OptionsC:
    numbers = (options.seed, options.threads, options.most_instructions, options.most_findings)
    return _OptionsC(options.checked, *numbers, options.trace.encode(), *options.watch, options.turn)
