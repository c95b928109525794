"""Runs production kernels on the emulator."""

from __future__ import annotations

import time
from functools import cache
from typing import Any

import numpy as np

from ckgen.model.errors import UsageError
from ckgen_emulator.bindings import Emulator, Options
from ckgen_emulator.chip import pinned_chip
from ckgen_emulator.production.model import Kind, Launch, Outcome, compare
from ckgen_emulator.production.wheel import KernelFile, Wheel, production_wheel

SIDE_BY_SIDE = Options(turn=8, most_findings=2000)
"""Waves and workgroups progress together, as on a GPU that holds them all: what these kernels are made for."""


def run_production(
    kind: Kind,
    file: KernelFile,
    problem: str,
    options: Options | None = None,
    *,
    wheel: Wheel | None = None,
    data: int = 0,
) -> Outcome:
    """Runs a kernel on one of its kind's problems or edges; `data` seeds the operands. UsageError for others."""
    problems = {**kind.problems(file), **kind.edges(file)}
    if problem not in problems:
        raise UsageError(f"{kind.name} has no problem '{problem}' for {file} (known: {', '.join(problems)})")
    launch = kind.prepare(file, problems[problem], np.random.default_rng(data))
    return run_launch(kind, file, problem, launch, options or SIDE_BY_SIDE, wheel or production_wheel())


def run_launch(kind: Kind, file: KernelFile, problem: str, launch: Launch, options: Options, wheel: Wheel) -> Outcome:
    """Runs a launch that is prepared; its outputs' arrays are filled before and hold the results after."""
    emulator = _emulator(file.arch, launch.compute_units)
    module = emulator.load(wheel.read(file))
    added: list[Any] = []
    try:
        for array in launch.inputs:
            emulator.add(array, writable=False)
            added.append(array)
        for array in launch.scratch:
            emulator.add(array)
            added.append(array)
        for output in launch.outputs:
            output.actual.reshape(-1).view(np.uint8)[:] = 0 if output.zeroed else 0xFF
            emulator.add(output.actual, written=output.zeroed)
            added.append(output.actual)
        if len(module.kernels) != 1:
            raise UsageError(f"{file} has {len(module.kernels)} kernels")
        began = time.perf_counter()
        run = emulator.launch(module, module.kernels[0], launch.grid, (launch.block, 1, 1), launch.arguments, options)
        seconds = time.perf_counter() - began
    finally:
        for array in added:
            emulator.remove(array)
        emulator.unload(module)
    compared = tuple(compare(output) for output in launch.outputs)
    return Outcome(
        kind.name, file.stem, file.arch, problem, options.seed, compared, run.findings, run.instructions, seconds
    )


@cache
def _emulator(arch: str, compute_units: int | None) -> Emulator:
    return Emulator(*pinned_chip(arch, compute_units))
