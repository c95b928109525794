"""What a host unit answered, launched under all checks and held against what must come out."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ckgen.emulator.chip import pinned_chip
from ckgen.emulator.core import Emulator, Options
from ckgen.emulator.host_unit import Call
from ckgen.emulator.production.model import Outcome, Output, compare


def run_call(
    kind: str, arch: str, code_object: bytes, call: Call, problem: str,
    inputs: Iterable[Any], outputs: Sequence[Output], options: Options,
) -> Outcome:  # fmt: skip
    """One launch of a code object's kernel; `kind` and `problem` are for the outcome's reader."""
    with Emulator(*pinned_chip(arch)) as emulator:
        module = emulator.load(code_object)
        for array in inputs:
            emulator.add(array, writable=False)
        for output in outputs:
            output.actual.reshape(-1).view(np.uint8)[:] = 0 if output.zeroed else 0xFF
            emulator.add(output.actual, written=output.zeroed)
        began = time.perf_counter()
        run = emulator.launch(module, call.symbol, call.grid, call.block, call.args, options, call.dynamic_lds)
        seconds = time.perf_counter() - began
    compared = tuple(map(compare, outputs))
    return Outcome(kind, call.symbol, arch, problem, options.seed, compared, run.findings, run.instructions, seconds)
