"""Runs an attention kernel on small problems, checked, and holds it against the definition."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from ckgen.build.amd.toolchain import load
from ckgen.emulator.code_object.run import chip_of
from ckgen.emulator.core import Chip, Emulator, Options
from ckgen.emulator.fmha.call import prepare
from ckgen.emulator.fmha.problem import FmhaProblem, fmha_data
from ckgen.emulator.isa import isa_text
from ckgen.emulator.production.model import Outcome, compare
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.model.errors import UsageError
from ckgen.specs.archs import load_archs


@dataclass(frozen=True, slots=True)
class FmhaKernel:
    """The instance's code object for an arch, and its host unit as `call.link` makes it."""

    name: str
    signature: FmhaSignature
    arch: str
    code_object: bytes
    library: Path


def run_fmha(kernel: FmhaKernel, problem: FmhaProblem, options: Options | None = None) -> Outcome:
    """One launch. UsageError where the host unit refuses the problem."""
    chosen = options or Options()
    data = fmha_data(kernel.signature, problem)
    cu_num = load_archs()[kernel.arch].default_cu_num
    call = prepare(kernel.library, data.shape, data.args, cu_num=cu_num)
    for output in data.outputs:
        output.actual.reshape(-1).view(np.uint8)[:] = 0xFF
    with Emulator(*_chip(kernel.arch)) as emulator:
        module = emulator.load(kernel.code_object)
        for array in data.inputs:
            emulator.add(array, writable=False)
        for output in data.outputs:
            emulator.add(output.actual, written=False)
        began = time.perf_counter()
        run = emulator.launch(module, call.symbol, call.grid, call.block, call.args, chosen, call.dynamic_lds)
        seconds = time.perf_counter() - began
    compared = tuple(compare(output) for output in data.outputs)
    return Outcome(
        "fmha", call.symbol, kernel.arch, str(problem), chosen.seed, compared, run.findings, run.instructions, seconds
    )


@cache
def _chip(arch: str) -> tuple[Chip, str]:
    decoder = load().decoder
    if decoder is None:
        raise UsageError("a ROCm has no instruction tables: `ckgen toolchain amd` prepares them")
    spec = load_archs()[arch]
    return chip_of(spec, spec.default_cu_num), isa_text(decoder, arch)
