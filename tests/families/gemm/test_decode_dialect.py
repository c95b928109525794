"""Tables of the MX-FP8 kernels for few rows: their kind, their cells, and what their rows mean."""

from __future__ import annotations

import pytest

from ckgen.families.gemm.decode_dialect import COLUMNS, EXPERT_COLUMNS, adapt_decode, adapt_experts
from ckgen.model.diagnostic import Location
from ckgen.model.target import Target
from ckgen.model.tuned_row import ExpertProduct, Shape, TunedRow
from ckgen.tables.cells import split_columns
from ckgen.tables.read import parse_bytes
from ckgen.tables.reading import Adapted, Place, missing_columns
from table_support import MODULES, kind_of

PLAIN = "K,N,M,n_sub,k_splits,use_hip"
GFX950 = Target("gfx950", 256)


def read(*lines: str, header: str = PLAIN) -> Adapted[TunedRow]:
    raw, problems = parse_bytes("\n".join((header, *lines, "")).encode(), "t.csv")
    assert raw is not None and not problems
    return adapt_decode(split_columns(raw), MODULES["mxfp8"], Place("t.csv", "t.csv", 0), {256: "gfx950"}.get)


@pytest.mark.parametrize("header", [PLAIN, f"gfx,cu_num,{PLAIN}", "M,N,K,use_hip,us"])
def test_the_column_use_hip_tells_the_kind(header: str) -> None:
    assert kind_of(header) == "decode_tuned"


def test_a_row_names_a_kernel_or_leaves_it_to_the_caller() -> None:
    table = read("4096,7168,32,2,4,1", "4096,7168,64,2,4,0", "4096,7168,16,0,0,0", "4096,7168,2,4,2,1")
    assert not table.problems
    named = [(row.library, row.kernel) for row in table.rows]
    assert named == [("hip", "mfma_m32_n2_k4"), ("caller", "own"), ("caller", "own"), ("hip", "gemv_m2_n4_k2")]
    first = table.rows[0]
    assert (first.module, str(first.shape), first.target, first.k_batch, first.us) == (
        "mxfp8",
        "M=32 N=7168 K=4096",
        GFX950,
        1,
        None,
    )


def test_the_column_kernel_says_which_of_two_kernels_it_is() -> None:
    header = "K,N,M,kernel,n_sub,k_splits,use_hip"
    table = read("96,40,8,gemv,0,0,1", "96,40,16,mfma,1,8,1", "96,40,3,gemv,0,0,0", header=header)
    assert [(row.library, row.kernel) for row in table.rows] == [
        ("hip", "gemv_m8_n4_k4"),
        ("hip", "mfma_m16_n1_k8"),
        ("caller", "own"),
    ]
    some = read("96,40,8,triton,0,0,1", "96,40,8,,0,0,1", "96,40,4,,0,0,1", header=header)
    assert [row.kernel for row in some.rows] == ["mfma_m8_n1_k8", "gemv_m4_n4_k4"]
    assert [(one.code, one.message) for one in some.problems] == [("T006", "kernel 'triton' is not a known value")]
    assert kind_of(header) == "decode_tuned"


def test_targets_are_told_or_the_usual_one() -> None:
    table = read("256,4096,16,32,1,8,1", ",4096,16,32,2,8,1", header=f"cu_num,{PLAIN}")
    assert [(row.target, row.kernel) for row in table.rows] == [(GFX950, "mfma_m32_n1_k8")]
    assert [(problem.code, problem.location.line) for problem in table.problems] == [("T004", 3)]


@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        ("4096,7168,32,2,4,yes", "T006", "use_hip 'yes' is not a known value"),
        ("4096,7168,0,2,4,1", "T005", "M '0' is not an integer greater than 0"),
        ("4096,7168,32,-1,4,1", "T005", "n_sub '-1' is not a count"),
        ("4096,7168,32,2,,1", "T004", "k_splits is missing"),
    ],
)
def test_bad_cells_are_located(line: str, code: str, says: str) -> None:
    table = read("4096,7168,1,4,4,1", line)
    assert len(table.rows) == 1 and table.invalid == ((3, code),)
    assert [(one.code, one.message) for one in table.problems] == [(code, says)]


EXPERTS = "N,K,a_div,has_weight,use_hip"


def test_a_row_of_experts_is_for_any_m_and_leaves_its_product_to_the_caller() -> None:
    assert kind_of(EXPERTS) == kind_of(f"{EXPERTS},M") == "decode_experts"
    raw, _ = parse_bytes(
        f"{EXPERTS}\n1536,6144,8,0,0\n6144,768,1,1,1\n1536,6144,0,0,0\n1536,6144,2,1,1\n".encode(), "t.csv"
    )
    assert raw is not None
    table = adapt_experts(split_columns(raw), MODULES["mxfp8"], Place("t.csv", "t.csv", 0), {256: "gfx950"}.get)
    assert [(row.shape, row.discriminators.experts, row.library, row.target) for row in table.rows] == [
        (Shape(0, 1, 1536, 6144), ExpertProduct(gate_up=True, weighted=False), "caller", GFX950),
        (Shape(0, 1, 6144, 768), ExpertProduct(gate_up=False, weighted=True), "ckgen", GFX950),
        (Shape(0, 1, 1536, 6144), ExpertProduct(gate_up=True, weighted=True), "ckgen", GFX950),
    ]
    (wrong,) = table.problems
    assert (wrong.code, wrong.message) == ("T005", "a_div '0' is not an integer greater than 0")
    (missing,) = missing_columns(EXPERT_COLUMNS, ["N", "K", "a_div", "use_hip"], Location("t.csv", 1))
    assert missing.message == "column has_weight is missing"


def test_missing_columns_are_told() -> None:
    found = list(missing_columns(COLUMNS, ["K", "N", "M", "use_hip"], Location("t.csv", 1)))
    assert [one.message for one in found] == ["column n_sub is missing", "column k_splits is missing"]
