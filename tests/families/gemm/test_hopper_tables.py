"""What was tuned on an H100 and an H200: every row of the shipped tables answers its problem on its product."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

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

FOLDER = paths.tuning_dir() / "ckgen"
SIGNATURES = {
    "hopper_bf16_tuned_gemm.csv": ("gemm_bf16_rcr",),
    "hopper_fp8_tuned_gemm.csv": ("gemm_fp8_ocp_bf16_rcr_rowwise", "gemm_fp8_ocp_bf16_rcr_blockscale"),
}
DEVICES = {"": "NVIDIA H100 80GB HBM3", "h200": "NVIDIA H200"}
PROBLEMS = {"": 104, "h200": 1001}


def rows_of(table: Path) -> list[dict[str, str]]:
    """Those of ckgen's own kernels; others are of cuBLASLt."""
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert all(":" not in row["kernelName"] or row["kernelName"].startswith("cublaslt:") for row in rows)
    return [row for row in rows if ":" not in row["kernelName"]]


@pytest.mark.parametrize("name", SIGNATURES)
def test_each_row_answers_exactly_and_says_where_it_was_measured(name: str) -> None:
    signatures, table = SIGNATURES[name], FOLDER / name
    rows = rows_of(table)
    assert Counter((row["signature"], row["sku"]) for row in rows) == {
        (signature, sku): count for signature in signatures for sku, count in PROBLEMS.items()
    }
    assert {(row["sku"], row["device"]) for row in rows} == set(DEVICES.items())
    assert all(int(row["tried"]) >= 2 and int(row["runs"]) >= 5 and row["driver"] and row["date"] for row in rows)
    for sku in DEVICES:
        target = target_named(":".join(filter(None, ("sm_90a:132", sku))))
        options = PlanOptions(targets=(target,), tuning=(table,), ops=frozenset({"gemm"}), signatures=signatures)
        plan = make_plan(options, load_archs())
        for row in (row for row in rows if row["sku"] == sku):
            case = case_of(Key(row["signature"], 0, int(row["M"]), int(row["N"]), int(row["K"])), target)
            signature = signature_of(case.signature)
            problem = operation_of(signature).problem(case, signature)
            answer = select(family_of(signature).query(plan, target, signature, problem, NO_WISHES))
            assert answer.instance is not None
            assert (answer.tier, answer.instance.name) == (Tier.EXACT, row["kernelName"])
