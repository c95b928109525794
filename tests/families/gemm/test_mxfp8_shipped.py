"""The shipped table of the MX-FP8 kernels for few rows, in both dialects: who answers, with a row and without one."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import pytest

from ckgen.families.common.query import ExternalKernel
from ckgen.model.fate import FateKind
from ckgen.model.selection import Tier
from ckgen.plan.model import GenerationPlan
from ckgen.plan.select import Selection, select
from plan_support import GFX950, OWN_TABLES, plan_of, query, write_table

TABLE = OWN_TABLES / "mxfp8_tuned_gemm.csv"
PEERS = ("K", "N", "M", "kernel", "n_sub", "k_splits", "use_hip")
"""The columns of AITER's table, which tells no chip."""
SHAPES = ((6144, 2304), (6144, 1536), (2048, 6144), (1536, 6144))
OWN = ExternalKernel("caller", "own")
HAND = {
    (6144, 2304): {8: "n1x16_k4", 16: "n1x16_k8", 32: "n1x16_k4", 64: "n1x16_k2"},
    (6144, 1536): {8: "n1x16_k4", 16: "n1x16_k8", 32: "n1x16_k4", 64: "n1x16_k2"},
    (2048, 6144): {8: "n1x16_k1", 16: "n1x16_k1", 32: "n1x16_k1", 64: "n2x16_k1"},
    (1536, 6144): {8: "n1x16_k1", 16: "n1x16_k1", 32: "n1x16_k1", 64: "n1x16_k1"},
}


@cache
def rows() -> tuple[dict[str, str], ...]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def plan_with(*tables: Path) -> GenerationPlan:
    return plan_of(*tables, targets=(GFX950,), signatures=("gemm_fp8_ocp_bf16_rcr_mx",))


@cache
def shipped() -> GenerationPlan:
    return plan_with(TABLE)


@cache
def bare() -> GenerationPlan:
    """Without a table."""
    return plan_with()


@pytest.fixture
def peers(tmp_path: Path) -> Path:
    """The same facts as AITER writes them."""
    return write_table(tmp_path / "t.csv", (",".join(row[name] for name in PEERS) for row in rows()), ",".join(PEERS))


def asked(plan: GenerationPlan, m: int, n: int, k: int) -> Selection:
    return select(query(plan, GFX950, "mxfp8", m, n, k))


def config(found: Selection) -> str:
    return found.instance.config.text().removeprefix("mxfp8_") if found.instance is not None else ""


def test_every_row_is_of_gfx950_with_256_cus_and_has_one_fate() -> None:
    assert {(row["gfx"], row["cu_num"]) for row in rows()} == {("gfx950", "256")}
    assert sorted((int(row["K"]), int(row["N"]), int(row["M"])) for row in rows()) == sorted(
        (k, n, m) for k, n in SHAPES for m in (1, 2, 4, 8, 16, 32, 64)
    )
    kinds = [fate.kind for fate in shipped().fates]
    assert kinds.count(FateKind.SELECTED) == 27 and kinds.count(FateKind.EXTERNAL) == 1 == len(kinds) - 27


def test_each_row_answers_as_it_says_in_the_peers_dialect_too(peers: Path) -> None:
    for plan in (shipped(), plan_with(peers)):
        for row in rows():
            m = int(row["M"])
            found = asked(plan, m, int(row["N"]), int(row["K"]))
            if row["use_hip"] == "0":
                assert found.instance is None and found.external == OWN
                assert found.reason == (
                    f"a row of the table leaves M = {m} to the caller's own kernel (rule gemm.instance.declined)"
                )
                continue
            own = row["n_sub"] == row["k_splits"] == "0"
            wanted = f"gemv_m{m}_n4x1_k4" if own else f"mfma_m{m}_n{row['n_sub']}x16_k{row['k_splits']}"
            assert (found.tier, config(found)) == (Tier.EXACT, wanted)
            assert own is (row["kernel"] == "gemv")


@pytest.mark.parametrize("m", range(1, 17))
def test_every_number_of_rows_up_to_16_has_a_kernel(m: int) -> None:
    """Of shapes that are measured and of ones that are not; a GEMV masks rows."""
    rounded = next(rows for rows in (1, 2, 4, 8, 16) if rows >= m)
    for k, n in (*SHAPES, (6144, 9216), (4096, 512)):
        text = config(asked(shipped(), m, n, k))
        assert text.startswith(f"mfma_m{m}_" if m in (8, 16) else f"gemv_m{rounded}_"), (m, n, k)
    assert config(asked(shipped(), m, 512, 96)) == f"gemv_m{rounded}_n4x1_k4", "matrix instructions take 128 of K"


def test_without_rows_the_hand_table_answers_for_its_shapes() -> None:
    for (k, n), of in HAND.items():
        for m, numbers in of.items():
            found = asked(bare(), m, n, k)
            assert (found.tier, config(found)) == (Tier.HEURISTIC, f"mfma_m{m}_{numbers}")


@pytest.mark.parametrize("n", [16, 256, 1152, 4608, 9216, 12288])
@pytest.mark.parametrize("m", [8, 16])
def test_eight_and_sixteen_rows_of_any_shape_are_matrix_instructions(m: int, n: int) -> None:
    found = asked(shipped(), m, n, 6144)
    assert (found.tier, config(found)) == (Tier.HEURISTIC, f"mfma_m{m}_n1x16_k8")


def test_a_row_declines_whatever_would_answer_behind_it(tmp_path: Path) -> None:
    """A near row of another M, the hand table, and the defaults."""
    header = "K,N,M,kernel,n_sub,k_splits,use_hip"
    lines = ("6144,2304,3,gemv,0,0,0", "6144,2304,4,gemv,0,0,1", "6144,2304,8,mfma,1,8,0", "6144,2304,5,gemv,0,0,0")
    plan = plan_with(write_table(tmp_path / "t.csv", lines, header))
    for m in (3, 5, 8):
        found = asked(plan, m, 2304, 6144)
        assert found.external == OWN and found.reason.endswith("(rule gemm.instance.declined)"), m
    assert asked(plan, 4, 2304, 6144).tier is Tier.EXACT and asked(plan, 6, 2304, 6144).tier is Tier.DEFAULT
