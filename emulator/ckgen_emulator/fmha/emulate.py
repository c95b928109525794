"""An attention kernel on one problem, in a process of its own, held against the definition."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ckgen.families.common.problem_finding import ProblemFinding
from ckgen.families.fmha.append_problem import goes_back
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.problem import check_problem, supports
from ckgen.model.errors import UsageError
from ckgen.progress import Progress
from ckgen_emulator.apart import call_apart
from ckgen_emulator.bindings import Options
from ckgen_emulator.core_library import core_library
from ckgen_emulator.fmha import append
from ckgen_emulator.fmha.append import AppendProblem, run_append
from ckgen_emulator.fmha.build import build_kernel
from ckgen_emulator.fmha.problem import FmhaProblem, launched_shape
from ckgen_emulator.fmha.run import FmhaKernel, run_fmha
from ckgen_emulator.production.model import Outcome


@dataclass(frozen=True, slots=True)
class FmhaResult:
    """`outcome` is None where nothing ran; `trouble` says in a sentence why, empty where something did."""

    kernel: str
    arch: str
    problem: FmhaProblem | AppendProblem
    outcome: Outcome | None
    trouble: str = ""

    @property
    def ok(self) -> bool:
        """All outputs are right, and nothing was found."""
        return self.outcome is not None and self.outcome.ok

    def to_json(self, *, stats: bool = False) -> dict[str, Any]:
        """The document of `ckgen emulate fmha --json`."""
        told = self.outcome.to_json() if self.outcome is not None else {}
        document: dict[str, Any] = {
            "ok": self.ok,
            "kernel": self.kernel,
            "arch": self.arch,
            "problem": str(self.problem),
            "data": self.problem.data.value,
            "seed": self.problem.seed,
            "outputs": told.get("outputs", []),
            "origin": self.outcome.origin if self.outcome is not None else None,
            "instructions": told.get("instructions", 0),
            "seconds": told.get("seconds", 0.0),
            "findings": told.get("findings", []),
            "trouble": [self.trouble] if self.trouble else [],
        }
        if stats:
            document["stats"] = dict(self.outcome.stats) if self.outcome is not None else {}
        return document


def emulate_fmha(
    instance: FmhaInstance, arch: str, problem: FmhaProblem | AppendProblem, options: Options, *,
    trace_wrong: bool = False, progress: Progress,
) -> FmhaResult:  # fmt: skip
    """Builds what is missing and runs it once; UsageError where the kernel does not compile, or is one of gradients.

    `trace_wrong`: a wrong result is traced in a second run.

    A problem that the dispatcher would not give the kernel is refused.
    """
    if goes_back(instance.signature.traits):
        raise UsageError(f"{instance.name}: gradients are a plan of several launches, not one")
    refused = _refused(instance, problem)
    if refused is not None:
        return FmhaResult(instance.name, arch, problem, None, refused.text)
    progress.step("compiling the kernel")
    _, kernel = build_kernel(instance, arch, progress)
    progress.step("preparing the emulator")
    core_library()
    progress.step("emulating")
    try:
        outcome = call_apart(_run, kernel, problem, options, trace_wrong)
    except UsageError as error:
        return FmhaResult(instance.name, arch, problem, None, str(error))
    return FmhaResult(instance.name, arch, problem, outcome)


def _refused(instance: FmhaInstance, problem: FmhaProblem | AppendProblem) -> ProblemFinding | None:
    signature, splits = instance.signature, 1
    if isinstance(problem, AppendProblem):
        shape = append.launched_shape(signature, problem)
    else:
        splits = problem.splits
        least = min(problem.lengths_k)
        shape = replace(launched_shape(signature, problem), min_seqlen_k=least, finite_kv=problem.finite_kv)
    return check_problem(signature, shape) or supports(instance.constraints, signature.traits, shape, splits)


def _run(kernel: FmhaKernel, problem: FmhaProblem | AppendProblem, options: Options, trace_wrong: bool) -> Outcome:
    if isinstance(problem, AppendProblem):
        return run_append(kernel, problem, options, trace_wrong=trace_wrong)
    return run_fmha(kernel, problem, options, trace_wrong=trace_wrong)
