"""Runs one product's kernel on small problems, checked, and holds it against the definition."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from ckgen.build.amd.toolchain import load
from ckgen.emulator.code_object.run import chip_of
from ckgen.emulator.core import Chip, Emulator, Options
from ckgen.emulator.isa import isa_text
from ckgen.emulator.moe.call import prepare
from ckgen.emulator.moe.problem import PartProblem, part_data
from ckgen.emulator.production.model import Outcome, compare
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.errors import UsageError
from ckgen.specs.archs import load_archs


@dataclass(frozen=True, slots=True)
class PartKernel:
    """A part's kernels on an arch: the code object, and its host unit as `call.link` makes it."""

    name: str
    signature: GemmSignature
    arch: str
    block_m: int
    code_object: bytes
    library: Path


def run_part(kernel: PartKernel, problem: PartProblem, options: Options | None = None) -> Outcome:
    """One launch. UsageError where the host unit refuses the problem."""
    chosen = options or Options()
    data = part_data(kernel.signature, kernel.arch, kernel.block_m, problem)
    cu_num = load_archs()[kernel.arch].default_cu_num
    call = prepare(kernel.library, kernel.signature, kernel.block_m, problem, data, cu_num)
    output = data.output
    if bool(call.clear_bytes) != output.zeroed or call.clear_bytes not in (0, output.actual.nbytes):
        raise UsageError(f"{kernel.name}: the host unit clears {call.clear_bytes} bytes of C")
    output.actual.reshape(-1).view(np.uint8)[:] = 0 if output.zeroed else 0xFF
    with Emulator(*_chip(kernel.arch)) as emulator:
        module = emulator.load(kernel.code_object)
        for array in data.inputs:
            emulator.add(array, writable=False)
        emulator.add(output.actual, written=output.zeroed)
        began = time.perf_counter()
        run = emulator.launch(module, call.symbol, call.grid, call.block, call.args, chosen, call.dynamic_lds)
        seconds = time.perf_counter() - began
    shape = f"{problem.tokens}x{problem.n}x{problem.k}"
    compared = (compare(output),)
    return Outcome(
        "moe", call.symbol, kernel.arch, shape, chosen.seed, compared, run.findings, run.instructions, seconds
    )


@cache
def _chip(arch: str) -> tuple[Chip, str]:
    decoder = load().decoder
    if decoder is None:
        raise UsageError("a ROCm has no instruction tables: `ckgen toolchain amd` prepares them")
    spec = load_archs()[arch]
    return chip_of(spec, spec.default_cu_num), isa_text(decoder, arch)
