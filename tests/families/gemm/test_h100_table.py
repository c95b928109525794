"""What was tuned on an H100: every row of the shipped tables answers its problem."""

from __future__ import annotations

import csv
from collections import Counter

import pytest

from ckgen import paths
from ckgen.families.registry import family_of
from ckgen.fuzz.decision import target_named
from ckgen.fuzz.operations import operation_of
from ckgen.model.selection import NO_WISHES, Tier
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import make_plan
from ckgen.plan.select import select
from ckgen.specs.archs import load_archs
from ckgen.tune.problems import Key, case_of, signature_of

TARGET = target_named("sm_90a:132")
FOLDER = paths.tuning_dir() / "ckgen"
SIGNATURES = {
    "h100_bf16_tuned_gemm.csv": ("gemm_bf16_rcr",),
    "h100_fp8_tuned_gemm.csv": ("gemm_fp8_ocp_bf16_rcr_rowwise", "gemm_fp8_ocp_bf16_rcr_blockscale"),
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_each_row_answers_exactly_and_says_where_it_was_measured(name: str) -> None:
    signatures, table = SIGNATURES[name], FOLDER / name
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert Counter(row["signature"] for row in rows) == dict.fromkeys(signatures, 104)
    assert {row["device"] for row in rows} == {"NVIDIA H100 80GB HBM3"}
    assert all(int(row["tried"]) >= 2 and int(row["runs"]) >= 5 and row["driver"] and row["date"] for row in rows)
    options = PlanOptions(targets=(TARGET,), tuning=(table,), ops=frozenset({"gemm"}), signatures=signatures)
    plan = make_plan(options, load_archs())
    for row in rows:
        case = case_of(Key(row["signature"], 0, int(row["M"]), int(row["N"]), int(row["K"])), TARGET)
        signature = signature_of(case.signature)
        problem = operation_of(signature).problem(case, signature)
        answer = select(family_of(signature).query(plan, TARGET, signature, problem, NO_WISHES))
        assert answer.instance is not None
        assert (answer.tier, answer.instance.name) == (Tier.EXACT, row["kernelName"])
