"""A table of the MX-FP8 kernels for few rows in a plan: who answers where it says yes, no, or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckgen.model.fate import FateKind
from ckgen.model.selection import Tier
from ckgen.plan.model import ExternalKernel
from ckgen.plan.select import select
from plan_support import GFX950, plan_of, query, write_table

HEADER = "K,N,M,n_sub,k_splits,use_hip"
LINES = ("4096,512,32,2,4,1", "4096,512,8,1,4,0", "4096,512,64,2,4,0", "4096,512,4,4,2,1", "4128,512,8,1,4,1")
OWN = ExternalKernel("caller", "own")


@pytest.mark.parametrize(
    ("m", "n", "tier", "config", "external"),
    [
        (32, 512, Tier.EXACT, "mxfp8_mfma_m32_n2x16_k4", None),
        (4, 512, Tier.EXACT, "mxfp8_gemv_m4_n4x1_k2", None),
        (2, 512, Tier.DEFAULT, "mxfp8_gemv_m2_n4x1_k4", None),
        (8, 512, Tier.UNSUPPORTED, "", OWN),
        (8, 4096, Tier.DEFAULT, "mxfp8_mfma_m8_n1x16_k8", None),
        (64, 512, Tier.UNSUPPORTED, "", OWN),
        (64, 4096, Tier.UNSUPPORTED, "", None),
        (32, 4096, Tier.UNSUPPORTED, "", None),
        (5, 512, Tier.UNSUPPORTED, "", None),
    ],
)
def test_who_answers(tmp_path: Path, m: int, n: int, tier: Tier, config: str, external: ExternalKernel | None) -> None:
    plan = plan_of(write_table(tmp_path / "t.csv", LINES, HEADER), targets=(GFX950,))
    found = select(query(plan, GFX950, "mxfp8", m, n, 4096))
    assert (found.tier, found.instance.config.text() if found.instance else "") == (tier, config)
    assert m == 5 or found.external == external
    if m == 8 and external:
        assert found.reason != ""


def test_every_row_has_a_fate(tmp_path: Path) -> None:
    plan = plan_of(write_table(tmp_path / "t.csv", LINES, HEADER), targets=(GFX950,))
    kinds = [fate.kind for fate in plan.fates]
    assert [kinds.count(kind) for kind in (FateKind.SELECTED, FateKind.EXTERNAL, FateKind.UNAVAILABLE)] == [2, 2, 1]
