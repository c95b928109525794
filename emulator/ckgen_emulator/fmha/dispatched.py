"""A kernel that appends, chosen, planned and run by ckgen's dispatcher, whose HIP runtime is the emulator."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ckgen.build.planned import plan_host, plan_kernel
from ckgen.families.common.policy import MPolicy
from ckgen.families.common.unit import UnitPlan
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.measured import FmhaUnit
from ckgen.model.errors import UsageError
from ckgen.model.target import Target
from ckgen.plan.model import GenerationPlan
from ckgen.specs.archs import load_archs
from ckgen_emulator.core_library import core_library
from ckgen_emulator.fmha.append import AppendProblem
from ckgen_emulator.gemm.build import BuildContext, build_kernels
from ckgen_emulator.gemm.drive import RunOptions, table_file, worker_environment
from ckgen_emulator.gemm.kernel import KernelUnits, registry_source
from ckgen_emulator.gemm.problem import Data
from ckgen_emulator.gemm.runtime import Runtime


@dataclass(frozen=True, slots=True)
class AppendWork:
    """What the process is given. Paths are of shared libraries; `report` is written by the HIP runtime."""

    dispatcher: str
    hip: str
    kernel: str
    signature: str
    report: str
    problem: AppendProblem

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> AppendWork:
        """The inverse of `to_json`."""
        sizes: dict[str, Any] = {
            name: tuple(of) if isinstance(of, list) else of for name, of in fields["problem"].items()
        }
        return cls(**{**fields, "problem": AppendProblem(**{**sizes, "data": Data(sizes["data"])})})

    def to_json(self) -> dict[str, Any]:
        """All fields; `from_json` reads them."""
        return {**asdict(self), "problem": {**asdict(self.problem), "data": self.problem.data.value}}


@dataclass(frozen=True, slots=True)
class Dispatched:
    """`wrong`: elements beyond their bound, by array. `launches`: as the HIP runtime reports them."""

    instance: str
    wrong: Mapping[str, int]
    launches: tuple[Mapping[str, Any], ...]

    @property
    def right(self) -> bool:
        """Every element is within its bound."""
        return not any(self.wrong.values())

    @property
    def findings(self) -> tuple[str, ...]:
        """The rules of what was found, each once."""
        return tuple(sorted({one["rule"] for launch in self.launches for one in launch["findings"]}))


def append_dispatched(
    instance: FmhaInstance, arch: str, problem: AppendProblem, runtime: Runtime, context: BuildContext, *, seed: int = 0
) -> Dispatched:
    """One plan and one run with the only instance there is; UsageError where it does not compile or the run fails."""
    (built,) = build_kernels([_units_of(instance, arch)], context)
    if built.library is None:
        raise UsageError(f"{instance.name}: {built.failure_text}")
    with tempfile.TemporaryDirectory(prefix="ckgen-emulate-") as name:
        folder = Path(name)
        signature, report = instance.signature.canonical(), folder / "report"
        work = AppendWork(
            str(runtime.dispatcher), str(runtime.hip), str(built.library), signature, str(report), problem
        )
        file = folder / "work.json"
        file.write_text(json.dumps(work.to_json()), encoding="utf-8")
        target = Target(arch, load_archs()[arch].default_cu_num)
        told = (table_file(context.toolchain, arch, folder), target, work.report, RunOptions(), seed)
        environment = {**os.environ, **worker_environment(runtime, core_library(), *told)}
        command = [sys.executable, "-m", "ckgen_emulator.fmha.append_worker", str(file)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode:
            raise UsageError(f"{instance.name}, {problem}: {done.stderr.strip() or done.returncode}")
        answer = json.loads(done.stdout)
        launches = tuple(json.loads(line) for line in report.read_text(encoding="ascii").splitlines())
    return Dispatched(answer["instance"], answer["wrong"], launches)


def _units_of(instance: FmhaInstance, arch: str) -> KernelUnits:
    unit: FmhaUnit = UnitPlan(instance.signature, (instance,), {arch: (0,)})
    plan = GenerationPlan((), MPolicy.LADDER, (unit,))
    return KernelUnits(plan_kernel(instance, arch, []), plan_host(instance, {arch: []}), registry_source(plan))
