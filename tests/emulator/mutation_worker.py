"""Mutants of one kernel, in a process of its own that forks: `mutation_worker.py REQUEST.json`, JSON on stdout.

With `trace` in the request: of each mutant its place, and what wrote the first element that it gets wrong.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from ckgen.build.amd.toolchain import load
from ckgen.cli.option_values import tuning_or_shipped
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.specs.archs import load_archs
from ckgen_emulator.chip import chip_of
from ckgen_emulator.gemm.build import default_context
from ckgen_emulator.gemm.problem import Data, GemmProblem
from ckgen_emulator.gemm.runtime import Runtime
from ckgen_emulator.isa import isa_text
from ckgen_emulator.mutate.child import in_child
from ckgen_emulator.mutate.choose import Mutant
from ckgen_emulator.mutate.gemm import GemmChoice, GemmSubject
from ckgen_emulator.mutate.reduction import ReductionSubject
from ckgen_emulator.mutate.run import Campaign
from ckgen_emulator.mutate.subject import Subject

MOST_INSTRUCTIONS = 1 << 22


def subject(asked: dict[str, Any], folder: Path) -> Subject:
    """The kernel that is asked for, with two small problems, or the reduction."""
    toolchain, archs = load(), load_archs()
    target = Target(asked["arch"], archs[asked["arch"]].default_cu_num)
    if asked["kernel"] == ReductionSubject.name:
        assert toolchain.decoder is not None
        return ReductionSubject(
            chip_of(archs[target.gfx], target.cu_num), isa_text(toolchain.decoder, target.gfx), toolchain, (475,)
        )
    context = default_context(toolchain, archs, print, lambda standing: None, 2)
    problems = (GemmProblem(Shape(0, 67, 192, 384)), GemmProblem(Shape(0, 33, 128, 512), 1, 7, Data.RANDOM))
    runtime = Runtime(Path(asked["dispatcher"]), Path(asked["hip"]))
    choice = GemmChoice(asked["kernel"], target, problems)
    return GemmSubject(choice, tuning_or_shipped(()), folder, context, runtime)


def main(file: Path) -> None:
    """One mutant of every operator that is asked for."""
    asked = json.loads(file.read_text(encoding="utf-8"))
    campaign = Campaign(subject(asked, file.parent), file.parent, seeds=(0,))
    made = [one for one in campaign.mutants(load(), 1, 1) if one.operator in asked["operators"]]
    if "trace" in asked:
        print(json.dumps([traced(campaign.subject, one) for one in made]))
        return
    print(json.dumps([campaign.judge(one).to_json() for one in made]))


def traced(of: Subject, mutant: Mutant) -> dict[str, Any]:
    """Operator, address and origin of a mutant."""
    assert isinstance(of, GemmSubject)
    origin = in_child(lambda: of.origin(mutant.data, mutant.problems[0], MOST_INSTRUCTIONS), 120)
    return {"operator": mutant.operator, "address": mutant.address, "after": mutant.after, "origin": origin}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
