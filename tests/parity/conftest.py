from __future__ import annotations

import csv
from pathlib import Path

import pytest
from parity_support import BUILT, Parity

from ckgen.families.common.policy import MPolicy
from plan_support import OWN_TABLES, REAL_TABLES, plan_of

SCALED = REAL_TABLES / "model_configs" / "a8w8_blockscale_tuned_gemm_ds_v3.csv"


def _provided(path: Path) -> Path:
    """Rows of a provider at every fifth problem of a shipped table, and between its sizes."""
    with SCALED.open(encoding="utf-8", newline="") as lines:
        shipped = [row for row in csv.DictReader(lines) if (row["gfx"], row["cu_num"]) == ("gfx942", "304")]
    sizes = {(int(row["M"]) + more, row["N"], row["K"]) for row in shipped[::5] for more in (0, 3)}
    rows = [
        f"gfx942,304,gemm_fp8_fnuz_bf16_rcr_blockscale,0,{m},{n},{k},hipblaslt:1.0.0_solution{m},1,5\n"
        for m, n, k in sorted(sizes)
    ]
    path.write_text("gfx,cu_num,signature,B,M,N,K,kernelName,splitK,us\n" + "".join(rows), encoding="utf-8")
    return path


def _parity(policy: MPolicy, tmp_path_factory: pytest.TempPathFactory) -> Parity:
    name = f"parity_{policy.value}"
    folder = tmp_path_factory.mktemp(name)
    tables = (REAL_TABLES, OWN_TABLES, _provided(folder / "provided.csv"))
    return Parity(plan_of(*tables, targets=BUILT, m_policy=policy), name, folder)


@pytest.fixture(scope="session")
def ladder_parity(tmp_path_factory: pytest.TempPathFactory) -> Parity:
    return _parity(MPolicy.LADDER, tmp_path_factory)


@pytest.fixture(scope="session")
def aiter_parity(tmp_path_factory: pytest.TempPathFactory) -> Parity:
    return _parity(MPolicy.AITER, tmp_path_factory)


@pytest.fixture(params=list(MPolicy), ids=str)
def parity(request: pytest.FixtureRequest) -> Parity:
    found: Parity = request.getfixturevalue(f"{request.param.value}_parity")
    return found
