"""Generate, build, select, run, verify: all that quickstart does, apart from printing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ckgen.build.runtime_library import RuntimeProject, build_runtime
from ckgen.families.gemm.signature import GemmSignature, parse_signature
from ckgen.model.arch import ArchKind
from ckgen.model.target import Target
from ckgen.quickstart.problems import QuickProblem, gpu_targets, problems_of
from ckgen.quickstart.verify import Outcome, run_checked
from ckgen.runtime import Device, Options, RuntimeLibrary
from ckgen.specs import load_archs
from ckgen.specs.native import own_cpu

NAME = "ckgen_quickstart"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table."""

    target: Target
    problem: QuickProblem
    signature: GemmSignature
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Session:
    """A built library and what can be asked of it."""

    library: RuntimeLibrary
    folder: Path
    targets: tuple[Target, ...]

    @property
    def count(self) -> int:
        """Of problems, which `lines` runs."""
        return sum(len(problems_of(target)) for target in self.targets)

    def lines(self) -> Iterator[Line]:
        """Every problem of every target, run and checked."""
        archs = load_archs()
        dispatcher = self.library.dispatcher([NAME], Options())
        for target in self.targets:
            device = self._device(target)
            for problem in problems_of(target):
                signature = parse_signature(problem.signature, archs[target.gfx].fp8_flavour)
                outcome = run_checked(self.library, dispatcher, device, signature, problem.shape)
                yield Line(target, problem, signature, outcome)

    def explain(self, target: Target, problem: QuickProblem) -> str:
        """The dispatcher's own trail for one problem."""
        shape = problem.shape
        asked = self.library.problem(problem.signature, shape.m, shape.n, shape.k, batch=max(shape.batch, 1))
        return self.library.dispatcher([NAME], Options()).explain(asked, self._device(target))

    def _device(self, target: Target) -> Device:
        is_cpu = load_archs()[target.gfx].kind is ArchKind.CPU
        return self.library.host() if is_cpu else self.library.simulated(str(target))


def prepare(folder: Path, say: Callable[[str], None]) -> Session:
    """Generates and builds what is not up to date, then loads it; errors as build_runtime's."""
    archs = load_archs()
    targets = (*gpu_targets(), own_cpu())
    names = {
        parse_signature(problem.signature, archs[target.gfx].fp8_flavour).canonical()
        for target in targets
        for problem in problems_of(target)
    }
    project = RuntimeProject(NAME, folder.resolve(), targets, tuple(sorted(names)))
    return Session(RuntimeLibrary(build_runtime(project, say)), folder, targets)
