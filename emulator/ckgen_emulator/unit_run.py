"""What a host unit answered, launched under all checks and held against what must come out."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ckgen_emulator.bindings import Emulator, Options, Run, stats_of
from ckgen_emulator.chip import pinned_chip
from ckgen_emulator.host_unit import Call
from ckgen_emulator.production.model import Outcome, Output, compare


def run_call(
    kind: str, arch: str, code_object: bytes, call: Call, problem: str,
    inputs: Iterable[Any], outputs: Sequence[Output], options: Options,
) -> Outcome:  # fmt: skip
    """One launch of a code object's kernel; `kind` and `problem` are for the outcome's reader."""
    return run_calls(kind, arch, code_object, (call,), problem, inputs, outputs, options)


def run_calls(
    kind: str, arch: str, code_object: bytes, calls: Sequence[Call], problem: str,
    inputs: Iterable[Any], outputs: Sequence[Output], options: Options, room: Iterable[Any] = (),
) -> Outcome:  # fmt: skip
    """Launches one after the other, with `room` between them that is not written at first; named by the first."""
    runs: list[Run] = []
    with Emulator(*pinned_chip(arch)) as emulator:
        module = emulator.load(code_object)
        for array in inputs:
            emulator.add(array, writable=False)
        for array in room:
            emulator.add(array, written=False)
        for output in outputs:
            output.actual.reshape(-1).view(np.uint8)[:] = 0 if output.zeroed else 0xFF
            if output.held is not None:
                output.actual[...] = output.held
            emulator.add(output.actual, written=output.zeroed or output.held is not None)
        began = time.perf_counter()
        for call in calls:
            launch = (call.symbol, call.grid, call.block, call.args, options, call.dynamic_lds)
            runs.append(emulator.launch(module, *launch))
        seconds = time.perf_counter() - began
    compared = tuple(map(compare, outputs))
    findings = tuple(finding for run in runs for finding in run.findings)
    instructions = sum(run.instructions for run in runs)
    stats = stats_of([run.figures for run in runs])
    return Outcome(kind, calls[0].symbol, arch, problem, options.seed, compared, findings, instructions, seconds, stats)
