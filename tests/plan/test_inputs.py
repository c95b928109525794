"""A survey answers for any profiles as a plan of its own would, in whatever order they are asked for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ckgen.plan.inputs import plan_inputs
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import make_plan, plan_of
from ckgen.plan.profile_file import profile_file
from ckgen.specs.archs import load_archs
from plan_support import GFX942, LARGE, SMALL_M, row, write_table


def test_one_survey_serves_all_profiles(tmp_path: Path) -> None:
    table = write_table(tmp_path / "a8w8_blockscale.csv", [row(16, SMALL_M), row(64, LARGE), row(64, LARGE, us=12.0)])
    archs, ops = load_archs(), frozenset({"gemm", "fmha"})
    options = PlanOptions((GFX942,), ops, (table,), signatures=("fmha_bf16_*", "*blockscale*"))
    known = plan_inputs(options, archs)
    for names in (("fp8",), (), ("minimal",)):
        profiles = tuple(profile_file(Path(name)) for name in names)
        alone = make_plan(replace(options, profiles=profiles), archs)
        assert plan_of(known, profiles) == alone
        assert alone.instances
