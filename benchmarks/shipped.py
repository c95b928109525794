"""The plan over all shipped tables that benchmarks measure; from a checkout, ckgen need not be installed."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "codegen"))

from ckgen import paths
from ckgen.model.target import Target
from ckgen.plan.model import GenerationPlan
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import make_plan
from ckgen.specs.archs import load_archs

TARGETS = (Target("gfx942", 80), Target("gfx942", 304), Target("gfx950", 256))


def shipped_plan() -> GenerationPlan:
    """Every target that the shipped GEMM tables have many rows of."""
    return make_plan(PlanOptions(targets=TARGETS, tuning=(paths.tuning_dir() / "aiter",)), load_archs())
