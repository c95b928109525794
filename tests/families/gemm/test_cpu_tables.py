"""What was tuned on a CPU: every row of the shipped table answers its problem on that model, and on no other."""

from __future__ import annotations

import csv
from collections import Counter

from ckgen import paths
from ckgen.model.selection import Tier
from ckgen.model.target import Target
from ckgen.plan.select import select
from ckgen.specs.archs import load_archs
from ckgen.specs.native import cpu_target
from plan_support import plan_of, query

TABLE = paths.tuning_dir() / "ckgen" / "emerald_rapids_tuned_gemm.csv"
LEVEL, CORES = "x86_64_amx", 2
ROWS = {"gemm_bf16_rcr": 23, "gemm_fp32_rcr": 1}
OTHERS = {"another model": "GenuineIntel 6 143", "none that is known": "GenuineIntel 6 173"}


def test_each_row_answers_on_its_model_alone_and_says_where_it_was_measured() -> None:
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert Counter(row["signature"] for row in rows) == ROWS
    assert all("family 6 model 207" in row["device"] and row["conditions"] and row["date"] for row in rows)
    assert all(int(row["tried"]) >= 2 and int(row["runs"]) >= 10 for row in rows)
    archs = load_archs()
    cpu = archs[LEVEL].cpu
    assert cpu is not None
    plan = plan_of(TABLE, targets=(Target(LEVEL, CORES),), signatures=tuple(ROWS))
    own = cpu_target(archs, cpu.required, CORES, "GenuineIntel 6 207")
    others = [cpu_target(archs, cpu.required, CORES, model) for model in OTHERS.values()]
    for row in rows:
        sizes = (int(row[name]) for name in "MNK")
        asked = (row["signature"], *sizes)
        answer = select(query(plan, own, *asked))
        assert answer.instance is not None
        assert (answer.tier, answer.instance.name) == (Tier.EXACT, row["kernelName"])
        assert {select(query(plan, other, *asked)).tier for other in others} == {Tier.DEFAULT}
