"""Runs an attention kernel on small problems, checked, and holds it against the definition."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.runtime.fmha_split import FmhaSplitPlan
from ckgen.specs.archs import load_archs
from ckgen_emulator.bindings import Options
from ckgen_emulator.fmha.call import SplitOf, partial_bytes, prepare
from ckgen_emulator.fmha.problem import FmhaProblem, fmha_data
from ckgen_emulator.production.model import Outcome
from ckgen_emulator.unit_run import run_calls


@dataclass(frozen=True, slots=True)
class FmhaKernel:
    """The instance's code object for an arch, and its host unit as `call.link` makes it."""

    instance: FmhaInstance
    arch: str
    code_object: bytes
    library: Path

    @property
    def name(self) -> str:
        """The instance's."""
        return self.instance.name

    @property
    def signature(self) -> FmhaSignature:
        """The instance's."""
        return self.instance.signature


def run_fmha(
    kernel: FmhaKernel,
    problem: FmhaProblem,
    options: Options | None = None,
    *,
    splits: int | None = None,
    schedule: FmhaSplitPlan | None = None,
    partial_rows: int = 0,
    trace_wrong: bool = False,
) -> Outcome:
    """The kernel, and behind it what combines its splits, equal ones or of a schedule, padding included.

    `splits`: instead of the problem's. `partial_rows`: room of a schedule for so many, where that is more than its own.
    `trace_wrong`: as run_calls. UsageError where the host unit refuses the problem.
    """
    data = fmha_data(kernel.signature, problem)
    shape, args, inputs = data.shape, dict(data.args), list(data.inputs)
    cu_num = load_archs()[kernel.arch].default_cu_num
    asked = kernel.instance.constraints
    if schedule is not None:
        rows = max(schedule.sizes.partial_rows, partial_rows)
        shape = replace(
            shape, split_items=len(schedule.items), split_combines=len(schedule.combine_items), split_rows=rows,
            split_m0=asked.m0, split_n0=asked.n0, split_merged=asked.merge_heads,
        )  # fmt: skip
        arrays = {"split_items": schedule.items, "split_combines": schedule.combine_items}
        args |= {name: array for name, array in arrays.items() if len(array)}
        inputs += [array for array in arrays.values() if len(array)]
    of = SplitOf(kernel.instance, problem.splits if splits is None else splits)
    combines = asked.always_combines or of.splits > 1 or schedule is not None
    room = partial_bytes(kernel.library, shape, of) if combines else 0
    of = replace(of, workspace=np.empty(room, np.uint8) if room else None)
    calls = [prepare(kernel.library, shape, args, cu_num=cu_num, of=of)]
    if room:
        calls.append(prepare(kernel.library, shape, args, cu_num=cu_num, of=of, combines=True))
    rooms = () if of.workspace is None else (of.workspace,)
    return run_calls(
        "fmha", kernel.arch, kernel.code_object, calls, str(problem), inputs, data.outputs, options or Options(), rooms,
        trace_wrong=trace_wrong,
    )  # fmt: skip
