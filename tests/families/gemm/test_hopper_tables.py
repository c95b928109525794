"""What was tuned on an H100 and an H200: every row of the shipped tables answers its problem on its product."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ckgen import paths
from ckgen.families.grouped_gemm.asked import told_groups
from ckgen.families.registry import family_of
from ckgen.fuzz.decision import target_named
from ckgen.fuzz.operations import operation_of
from ckgen.model.selection import NO_WISHES, Tier
from ckgen.model.target import Target
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import make_plan
from ckgen.plan.select import select
from ckgen.specs.archs import load_archs
from ckgen.tune.problems import Key, case_of, signature_of

FOLDER = paths.tuning_dir() / "ckgen"
OPS = frozenset({"gemm", "grouped_gemm"})
DEVICES = {"": "NVIDIA H100 80GB HBM3", "h200": "NVIDIA H200"}
DENSE = {"": 104, "h200": 1001}
FP8 = "gemm_fp8_ocp_bf16_rcr"
KINDS = {
    "gemm_bf16_rcr_batched": 39, f"{FP8}_rowwise_batched": 39, "gemm_int8_bf16_rcr_rowwise_batched": 39,
    "gemm_int8_bf16_rcr_rowwise": 104, "gemm_int8_int32_rcr": 104, "gemm_bf16_rrr": 104, "gemm_bf16_ccr": 88,
    "gemm_bf16_crr": 88, "gemm_bf16_rcr_bias_epi_gelu": 104, "gemm_bf16_rcr_epi_silu_mul": 104,
    f"{FP8}_rowwise_bias_epi_gelu": 104, "grouped_gemm_bf16_rcr": 20, f"grouped_{FP8}_rowwise": 20,
    f"grouped_{FP8}_blockscale": 20, "grouped_gemm_int8_bf16_rcr_rowwise": 20, "grouped_gemm_int8_int32_rcr": 20,
    "grouped_gemm_bf16_rcr_epi_silu_mul": 20,
}  # fmt: skip
ROWS = {
    "hopper_bf16_tuned_gemm.csv": {"gemm_bf16_rcr": DENSE},
    "hopper_fp8_tuned_gemm.csv": {f"{FP8}_rowwise": DENSE, f"{FP8}_blockscale": DENSE},
    "hopper_kinds_tuned_gemm.csv": {signature: {"h200": count} for signature, count in KINDS.items()},
}
"""Of each table the signatures, and of each how many problems on a product."""


def rows_of(table: Path) -> list[dict[str, str]]:
    """Those of ckgen's own kernels; others are of cuBLASLt."""
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert all(":" not in row["kernelName"] or row["kernelName"].startswith("cublaslt:") for row in rows)
    return [row for row in rows if ":" not in row["kernelName"]]


def problem_of(row: dict[str, str], target: Target) -> Any:
    """A GEMM, a batch, or groups whose largest sizes the row says."""
    if row["signature"].startswith("grouped"):
        return told_groups("grouped_gemm", f"{row['M']}x{row['N']}x{row['K']}")
    case = case_of(Key(row["signature"], *(int(row[name]) for name in "BMNK")), target)
    signature = signature_of(case.signature)
    return operation_of(signature).problem(case, signature)


@pytest.mark.parametrize("name", ROWS)
def test_each_row_answers_exactly_and_says_where_it_was_measured(name: str) -> None:
    counts, table = ROWS[name], FOLDER / name
    rows = rows_of(table)
    assert Counter((row["signature"], row["sku"]) for row in rows) == {
        (signature, sku): count for signature, of in counts.items() for sku, count in of.items()
    }
    assert all(row["device"] == DEVICES[row["sku"]] for row in rows)
    assert all(int(row["tried"]) >= 2 and int(row["runs"]) >= 5 and row["driver"] and row["date"] for row in rows)
    for sku in {sku for of in counts.values() for sku in of}:
        target = target_named(":".join(filter(None, ("sm_90a:132", sku))))
        options = PlanOptions(targets=(target,), tuning=(table,), ops=OPS, signatures=tuple(counts))
        plan = make_plan(options, load_archs())
        for row in (row for row in rows if row["sku"] == sku):
            signature = signature_of(row["signature"])
            query = family_of(signature).query(plan, target, signature, problem_of(row, target), NO_WISHES)
            answer = select(query)
            assert answer.instance is not None
            assert (answer.tier, answer.instance.name) == (Tier.EXACT, row["kernelName"])
