"""Runs an attention kernel on small problems, checked, and holds it against the definition."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ckgen.emulator.core import Options
from ckgen.emulator.fmha.call import prepare
from ckgen.emulator.fmha.problem import FmhaProblem, fmha_data
from ckgen.emulator.production.model import Outcome
from ckgen.emulator.unit_run import run_call
from ckgen.families.fmha.signature import FmhaSignature
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
    data = fmha_data(kernel.signature, problem)
    cu_num = load_archs()[kernel.arch].default_cu_num
    call = prepare(kernel.library, data.shape, data.args, cu_num=cu_num)
    return run_call(
        "fmha", kernel.arch, kernel.code_object, call, str(problem), data.inputs, data.outputs, options or Options()
    )
