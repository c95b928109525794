"""Runs one product's kernel on small problems, checked, and holds it against the definition."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.errors import UsageError
from ckgen.specs.archs import load_archs
from ckgen_emulator.bindings import Options
from ckgen_emulator.moe.call import prepare
from ckgen_emulator.moe.problem import PartProblem, part_data
from ckgen_emulator.production.model import Outcome
from ckgen_emulator.unit_run import run_call


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
    data = part_data(kernel.signature, kernel.block_m, problem)
    cu_num = load_archs()[kernel.arch].default_cu_num
    call = prepare(kernel.library, kernel.signature, kernel.block_m, problem, data, cu_num)
    output = data.output
    if bool(call.clear_bytes) != output.zeroed or call.clear_bytes not in (0, output.actual.nbytes):
        raise UsageError(f"{kernel.name}: the host unit clears {call.clear_bytes} bytes of C")
    shape = f"{problem.tokens}x{problem.n}x{problem.k}"
    return run_call("moe", kernel.arch, kernel.code_object, call, shape, data.inputs, (output,), options or Options())
