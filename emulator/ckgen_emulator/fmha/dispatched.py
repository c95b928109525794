"""A kernel of attention, chosen, planned and run by ckgen's dispatcher over the emulator's HIP."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from ckgen.build.planned import plan_host, plan_kernel
from ckgen.families.common.policy import MPolicy
from ckgen.families.common.unit import UnitPlan
from ckgen.families.fmha.append_problem import goes_back
from ckgen.families.fmha.asm_kernels import cut_of
from ckgen.families.fmha.cut import Cut
from ckgen.families.fmha.enums import FmhaCorner
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.measured import FmhaUnit
from ckgen.model.errors import UsageError
from ckgen.model.target import Target
from ckgen.plan.model import GenerationPlan
from ckgen.specs.archs import load_archs
from ckgen_emulator.apart import run_apart
from ckgen_emulator.core_library import core_library
from ckgen_emulator.fmha.append import AppendProblem
from ckgen_emulator.fmha.problem import FmhaProblem
from ckgen_emulator.gemm.build import BuildContext, build_kernels
from ckgen_emulator.gemm.drive import RunOptions, table_file, worker_environment
from ckgen_emulator.gemm.kernel import KernelUnits, registry_source
from ckgen_emulator.gemm.problem import Data
from ckgen_emulator.gemm.runtime import Runtime

Problem = AppendProblem | FmhaProblem

WORK, ANSWERS = "work.json", "answers.json"


@dataclass(frozen=True, slots=True)
class Work:
    """What the process is given. Paths are of shared libraries; `report` is written by the HIP runtime.

    deterministic: plans are asked for the same bits in any order of waves. cut: what the kernel's bounds allow.
    """

    dispatcher: str
    hip: str
    kernel: str
    signature: str
    report: str
    problems: tuple[Problem, ...]
    deterministic: bool
    cut: Cut

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Work:
        """The inverse of `to_json`."""
        problems = tuple(_problem(one) for one in fields["problems"])
        return cls(**{**fields, "problems": problems, "cut": Cut(fields["cut"])})

    def to_json(self) -> dict[str, Any]:
        """All fields; `from_json` reads them."""
        return {**asdict(self), "problems": [_to_json(one) for one in self.problems]}


def _to_json(problem: Problem) -> dict[str, Any]:
    return {name: one.value if isinstance(one, Enum) else one for name, one in asdict(problem).items()}


def _problem(fields: Mapping[str, Any]) -> Problem:
    sizes: dict[str, Any] = {name: tuple(of) if isinstance(of, list) else of for name, of in fields.items()}
    sizes["data"] = Data(sizes["data"])
    if "corner" not in sizes:
        return AppendProblem(**sizes)
    return FmhaProblem(**{**sizes, "corner": FmhaCorner(sizes["corner"])})


@dataclass(frozen=True, slots=True)
class Dispatched:
    """`wrong`: elements beyond their bound, by array. `launches`: as the HIP runtime reports them.

    bits: a hash of every byte of the results.
    """

    instance: str
    wrong: Mapping[str, int]
    launches: tuple[Mapping[str, Any], ...]
    bits: str

    @property
    def right(self) -> bool:
        """Every element is within its bound."""
        return not any(self.wrong.values())

    @property
    def findings(self) -> tuple[str, ...]:
        """The rules of what was found, each once."""
        return tuple(sorted({one["rule"] for launch in self.launches for one in launch["findings"]}))


def dispatched(
    instance: FmhaInstance,
    arch: str,
    problems: Sequence[Problem],
    runtime: Runtime,
    context: BuildContext,
    *,
    seed: int = 0,
) -> tuple[Dispatched, ...]:
    """A plan and a run of each problem with the only instance there is, in one process, under all checks.

    Plans of gradients go on behind a launch of which something was found: ck_tile's kernel has what is harmless.
    UsageError where it does not compile or a run fails.
    """
    (built,) = build_kernels([units_of(instance, arch)], context)
    if built.library is None:
        raise UsageError(f"{instance.name}: {built.failure_text}")
    with tempfile.TemporaryDirectory(prefix="ckgen-emulate-") as name:
        folder = Path(name)
        signature, report = instance.signature.canonical(), folder / "report"
        libraries = (str(runtime.dispatcher), str(runtime.hip), str(built.library))
        is_ordered = goes_back(instance.signature.traits) and not instance.constraints.unordered_dq
        work = Work(*libraries, signature, str(report), tuple(problems), is_ordered, cut_of(instance.config))
        (folder / WORK).write_text(json.dumps(work.to_json()), encoding="utf-8")
        target = Target(arch, load_archs()[arch].default_cu_num)
        options = RunOptions(findings_fail=not goes_back(instance.signature.traits))
        told = (table_file(context.toolchain, arch, folder), target, work.report, options, seed)
        environment = worker_environment(runtime.hip, core_library(), *told)
        if ended := run_apart("ckgen_emulator.fmha.dispatch_worker", folder, environment):
            raise UsageError(f"{instance.name}, {', '.join(map(str, problems))}: {ended}")
        answers = json.loads((folder / ANSWERS).read_text(encoding="utf-8"))
        launches = tuple(json.loads(line) for line in report.read_text(encoding="ascii").splitlines())
    ends = [answer["launches"] for answer in answers]
    starts = [0, *ends[:-1]]
    return tuple(
        Dispatched(answer["instance"], answer["wrong"], launches[start:end], answer["bits"])
        for answer, start, end in zip(answers, starts, ends, strict=True)
    )


def units_of(instance: FmhaInstance, arch: str) -> KernelUnits:
    """What is compiled of an instance, and a library in which it is the default."""
    unit: FmhaUnit = UnitPlan(instance.signature, (instance,), {arch: (0,)})
    plan = GenerationPlan((), MPolicy.LADDER, (unit,))
    return KernelUnits(plan_kernel(instance, arch, []), plan_host(instance, {arch: []}), registry_source(plan))
