"""One plan over the shipped tables, and the same plan as a loaded library."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ckgen.families.common.unit import UnitPlan
from ckgen.families.gemm.query import GemmQuery
from ckgen.model.selection import NO_WISHES, Tier, Wishes
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.plan.model import GenerationPlan
from ckgen.plan.select import select
from ckgen.runtime import Dispatcher, Options, RuntimeLibrary
from ckgen.runtime.abi import NO_INDEX
from ckgen.specs.archs import load_archs
from plan_support import REAL_TARGETS
from runtime_build import load_generated

TARGETS = (*REAL_TARGETS, Target("gfx942", 228), Target("gfx950", 128), Target("gfx90a", 104))
BUILT = tuple(sorted({*TARGETS, Target("x86_64_v4", 2), Target("x86_64_v3", 1)}))


class Parity:
    """One plan, and the same plan as a loaded library."""

    def __init__(self, plan: GenerationPlan, name: str, folder: Path) -> None:
        self.plan = plan
        self.library: RuntimeLibrary = load_generated(plan, name, folder)
        self.dispatcher: Dispatcher = self.library.dispatcher([name], Options())
        self.names = [info.name for info in self.dispatcher.instances()]
        self.archs = load_archs()

    def compare(self, unit: UnitPlan, target: Target, shapes: Sequence[Shape], wishes: Wishes = NO_WISHES) -> int:
        """Asserts equality for every shape; the number compared."""
        device = self.library.simulated(str(target))
        number = self.library.signature(unit.name)
        records = self.dispatcher.select_many(number, [(s.batch, s.m, s.n, s.k) for s in shapes], device, wishes)
        for shape, record in zip(shapes, records, strict=True):
            found = select(GemmQuery(self.plan, target, unit.signature, shape, wishes))
            there = int(record["instance"])
            mine = (
                found.instance.name if found.instance else None,
                found.k_batch if found.instance else 1,
                found.tier,
                found.external.name if found.external else None,
                found.reason,
            )
            theirs = (
                self.names[there] if there != NO_INDEX else None,
                int(record["k_batch"]) if there != NO_INDEX else 1,
                tuple(Tier)[record["tier"]],
                self.dispatcher._external(int(record["external"]))[1] if record["external"] != NO_INDEX else None,
                self.dispatcher.reason(record) if there == NO_INDEX else "",
            )
            assert mine == theirs, (unit.name, str(target), shape, wishes)
        return len(shapes)
