"""What a host unit answered, launched under all checks and held against what must come out."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ckgen_emulator.bindings import Emulator, Options, Run, last_origin, stats_of
from ckgen_emulator.chip import pinned_chip
from ckgen_emulator.host_unit import Call
from ckgen_emulator.production.model import Compared, Outcome, Output, compare


def run_call(
    kind: str, arch: str, code_object: bytes, call: Call, problem: str,
    inputs: Iterable[Any], outputs: Sequence[Output], options: Options, *, trace_wrong: bool = False,
) -> Outcome:  # fmt: skip
    """One launch of a code object's kernel; `kind` and `problem` are for the outcome's reader."""
    return run_calls(kind, arch, code_object, (call,), problem, inputs, outputs, options, trace_wrong=trace_wrong)


def run_calls(
    kind: str, arch: str, code_object: bytes, calls: Sequence[Call], problem: str,
    inputs: Iterable[Any], outputs: Sequence[Output], options: Options, room: Iterable[Any] = (), *,
    trace_wrong: bool = False,
) -> Outcome:  # fmt: skip
    """Launches one after the other, with `room` between them that is not written at first; named by the first.

    `trace_wrong`: where an output is wrong they run once more, to find what wrote its first wrong element.
    """
    held = _Held(arch, code_object, tuple(inputs), tuple(room), tuple(outputs))
    began = time.perf_counter()
    runs = held.launch(calls, options)
    seconds = time.perf_counter() - began
    compared = tuple(map(compare, outputs))
    origin = None
    if trace_wrong and any(one.first is not None for one in compared):
        origin = last_origin([run.origin for run in held.launch(calls, _watching(options, outputs, compared))])
    findings = tuple(finding for run in runs for finding in run.findings)
    instructions = sum(run.instructions for run in runs)
    stats = stats_of([run.figures for run in runs])
    figures = (instructions, seconds, stats, origin)
    return Outcome(kind, calls[0].symbol, arch, problem, options.seed, compared, findings, *figures)


@dataclass(frozen=True, slots=True)
class _Held:
    """A code object, and the arrays that its kernels may touch."""

    arch: str
    code_object: bytes
    inputs: tuple[Any, ...]
    room: tuple[Any, ...]
    outputs: tuple[Output, ...]

    def launch(self, calls: Sequence[Call], options: Options) -> list[Run]:
        """On a chip of its own, the outputs as they are before."""
        with Emulator(*pinned_chip(self.arch)) as emulator:
            module = emulator.load(self.code_object)
            for array in self.inputs:
                emulator.add(array, writable=False)
            for array in self.room:
                emulator.add(array, written=False)
            for output in self.outputs:
                output.actual.reshape(-1).view(np.uint8)[:] = 0 if output.zeroed else 0xFF
                if output.held is not None:
                    output.actual[...] = output.held
                emulator.add(output.actual, written=output.zeroed or output.held is not None)
            return [
                emulator.launch(module, call.symbol, call.grid, call.block, call.args, options, call.dynamic_lds)
                for call in calls
            ]


def _watching(options: Options, outputs: Sequence[Output], compared: Sequence[Compared]) -> Options:
    """With an eye on the first wrong element; its output's array holds what is expected, element by element."""
    output, first = next((o, c.first) for o, c in zip(outputs, compared, strict=True) if c.first is not None)
    assert output.decoded is None
    index = int(np.ravel_multi_index(first.index, np.asarray(output.expected).shape))
    return replace(options, watch=(output.actual.ctypes.data + index * output.actual.itemsize, output.actual.itemsize))
