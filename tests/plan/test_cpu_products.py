"""Rows of a CPU's product answer on the CPU whose cpuid tells it, and on no other model of its level."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckgen.model.selection import Tier
from ckgen.model.target import Target
from ckgen.plan.select import select
from ckgen.specs.archs import load_archs
from ckgen.specs.native import cpu_target
from plan_support import plan_of, query, write_table

LEVEL = "x86_64_amx"
SIGNATURE = "gemm_fp32_rcr"
KERNEL = f"{SIGNATURE}_host_4x32_64x512x512_t0"
HEADER = "gfx,cu_num,sku,signature,B,M,N,K,kernelName,splitK,us"


@pytest.mark.parametrize(
    ("model", "tiers"),
    [
        ("GenuineIntel 6 207", [Tier.EXACT, Tier.NEAR]),
        ("GenuineIntel 6 143", [Tier.DEFAULT] * 2),
        ("GenuineIntel 6 173", [Tier.DEFAULT] * 2),
    ],
)
def test_another_model_takes_none_of_them(model: str, tiers: list[Tier], tmp_path: Path) -> None:
    row = f"{LEVEL},2,emeraldrapids,{SIGNATURE},0,33,48,64,{KERNEL},1,9"
    table = write_table(tmp_path / "tuned.csv", [row], HEADER)
    plan = plan_of(table, targets=(Target(LEVEL, 2),), ops=frozenset({"gemm"}), signatures=(SIGNATURE,))
    archs = load_archs()
    cpu = archs[LEVEL].cpu
    assert cpu is not None
    device = cpu_target(archs, cpu.required, 2, model)
    assert [select(query(plan, device, SIGNATURE, m, 48, 64)).tier for m in (33, 32)] == tiers
