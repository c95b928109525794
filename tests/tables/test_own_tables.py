"""Tables of ckgen's own: one form for all ops, read as instances' names tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ckgen.families.registry import FAMILIES, family_of
from ckgen.fuzz.case import Case
from ckgen.fuzz.decision import target_of
from ckgen.fuzz.operations import operation_of
from ckgen.model.fate import FateKind
from ckgen.model.selection import NO_WISHES, Tier
from ckgen.model.target import Target
from ckgen.plan.model import GenerationPlan
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import make_plan
from ckgen.plan.select import Selection, select
from ckgen.specs.archs import load_archs
from ckgen.tune.problems import Key, case_of, key_of, signature_of
from ckgen.tune.table import NO_TABLE, TunedLine, with_rows

CPU = Target("x86_64_v4", 2)
MI300X = Target("gfx942", 304)
GEMM = Key("gemm_bf16_rcr", 0, 64, 128, 256)
BATCHED = Key("gemm_bf16_rcr_batched", 4, 64, 128, 256)
GROUPED = Key("grouped_gemm_bf16_rcr", 0, 64, 128, 256, sizes="2*64x128x256;8x128x256")
MOE = Key("moe_bf16_rcr_layer_gated_epi_silu", 0, 64, 128, 256, 8, 2)
FMHA = Key(
    "fmha_bf16_masked", sizes="batch=2 heads_q=8 heads_k=2 seqlen_q=640 seqlen_k=640 hdim_q=64 hdim_v=64 mask=b:-1;0"
)
ROWS: tuple[tuple[Key, str], ...] = (
    (GEMM, "gemm_bf16_rcr_host_6x32_48x512x512_t0"),
    (Key("gemm_bf16_rcr", 0, 800, 1280, 2560), "gemm_bf16_rcr_host_14x32_112x128x256_t0_streamk_linear"),
    (BATCHED, "gemm_bf16_rcr_batched_host_6x32_48x512x512_t0"),
    (GROUPED, "grouped_gemm_bf16_rcr_host_6x32_48x512x512_t0"),
    (MOE, "moe_bf16_rcr_layer_gated_epi_silu_host_gateup_host_4x32_16x512x512_t0_down_host_4x32_16x512x512_t0"),
    (FMHA, "fmha_bf16_masked_host_16x64_t0"),
)  # fmt: skip
"""Of kernels that no shipped set asks for."""


def line(key: Key, kernel: str, us: float = 1e4, **changes: Any) -> TunedLine:
    said: dict[str, Any] = {
        "splits": 1,
        "spread": 0.01,
        "runs": 9,
        "tried": 4,
        "device": "CPU",
        "driver": "",
        "conditions": "",
        "tool": "t",
    }
    return TunedLine(key, kernel, us=us, **(said | changes))


def table(path: Path, *rows: tuple[Key, str], target: Target = CPU) -> Path:
    path.write_bytes(with_rows(NO_TABLE, target, [line(*row) for row in rows]))
    return path


def plan(*tables: Path, target: Target = CPU, ops: str = "", **options: Any) -> GenerationPlan:
    asked = PlanOptions(targets=(target,), ops=frozenset(ops.split() or FAMILIES), tuning=tables, **options)
    return make_plan(asked, load_archs())


def select_case(found: GenerationPlan, case: Case) -> Selection:
    """What the plan answers."""
    signature = signature_of(case.signature)
    problem = operation_of(signature).problem(case, signature)
    return select(family_of(signature).query(found, target_of(case), signature, problem, NO_WISHES))


def fates(found: GenerationPlan) -> list[str]:
    assert [one.render() for one in found.diagnostics if one.code not in ("P002", "P003")] == []
    return [str(fate) for fate in found.fates]


def test_rows_of_every_op_are_selected_and_answer_their_problem(tmp_path: Path) -> None:
    found = plan(table(tmp_path / "own.csv", *ROWS))
    assert fates(found) == ["selected"] * len(ROWS)
    for key, kernel in ROWS:
        answer = select_case(found, case_of(key, CPU))
        assert answer.instance is not None
        assert (answer.tier, answer.instance.name) == (Tier.EXACT, kernel), key


def test_a_key_of_a_case_is_that_of_its_row() -> None:
    for key, _ in ROWS:
        assert key_of(case_of(key, CPU)) == key


def test_rows_of_ops_that_are_not_asked_for_are_counted(tmp_path: Path) -> None:
    own = table(tmp_path / "own.csv", *ROWS)
    for ops, count in (("gemm", 2), ("stream_k", 1), ("moe", 1), ("gemm stream_k grouped_gemm fmha", 5)):
        (report,) = plan(own, ops=ops).reports
        kept = {FateKind.SELECTED: count, FateKind.OTHER_OP: len(ROWS) - count}
        assert {kind: found for kind, found in report.fates.items() if found} == kept, ops


def test_a_later_own_table_wins_row_by_row_over_a_peers_one(tmp_path: Path) -> None:
    from plan_support import SMALL_M, row, write_table

    theirs = write_table(tmp_path / "a8w8_blockscale_tuned_gemm.csv", [row(16), row(32)])
    signature = "gemm_fp8_fnuz_bf16_rcr_blockscale"
    kernel = f"{signature}_ck_{SMALL_M.removeprefix('a8w8_blockscale_')}"
    own = table(tmp_path / "own.csv", (Key(signature, 0, 16, 512, 1024), kernel), target=MI300X)
    for layers, expected in (((theirs, own), kernel), ((own, theirs), None)):
        found = plan(*layers, target=MI300X, ops="gemm")
        answer = select_case(found, case_of(Key(signature, 0, 16, 512, 1024), MI300X))
        assert answer.tier is Tier.EXACT
        assert answer.instance is not None
        assert (answer.instance.name == kernel) is (expected is not None)
        other = select_case(found, case_of(Key("gemm_fp8_fnuz_fp16_rcr_blockscale", 0, 16, 512, 1024), MI300X))
        assert other.row.location.file == theirs.name, "the peer's row is of both types of C, this one's of one"


@pytest.mark.parametrize("policy", ["ladder", "aiter"])
def test_both_policies_answer_signatures_that_no_peer_has(tmp_path: Path, policy: str) -> None:
    from ckgen.families.common.policy import MPolicy

    found = plan(table(tmp_path / "own.csv", *ROWS), m_policy=MPolicy(policy))
    for key, kernel in ROWS[3:5]:
        below = case_of(Key(key.signature, 0, 60, 128, 256, key.experts, key.top_k), CPU)
        answer = select_case(found, below)
        assert answer.instance is not None
        assert (answer.tier, answer.instance.name) == (Tier.NEAR, kernel)


WRONG = [
    ({"kernelName": "gemm_bf16_rcr_host_nonsense"}, "T012"),
    ({"kernelName": "gemm_fp16_rcr_host_6x32_48x512x512_t0"}, "T015"),
    ({"kernelName": ""}, "T004"),
    ({"signature": "bf16"}, "T015"),
    ({"gfx": "nonsense"}, "T006"),
    ({"cu_num": "0"}, "T005"),
    ({"M": "0"}, "T005"),
    ({"M": "x"}, "T005"),
    ({"B": "2"}, "T005"),
    ({"splitK": "0"}, "T008"),
    ({"splitK": "65536"}, "T008"),
    ({"us": "soon"}, "T008"),
]


@pytest.mark.parametrize(("changes", "code"), WRONG)
def test_each_mistake_has_its_code_and_line(tmp_path: Path, changes: dict[str, str], code: str) -> None:
    cells = line(*ROWS[0]).cells(CPU)
    text = "\n".join([",".join(cells), ",".join(cells.values()), ",".join((cells | changes).values())])
    (tmp_path / "own.csv").write_text(text + "\n")
    found = plan(tmp_path / "own.csv")
    assert [(one.code, one.location.line) for one in found.diagnostics if one.location] == [(code, 3)]
    assert [str(fate) for fate in found.fates] == ["selected"]


FMHA_WRONG = [
    ("batch=2 heads_q=8", "needs seqlen_q=…, hdim_q=…"),
    ("batch=2 heads_q=8 seqlen_q=64 hdim_q=64 mask=x", "mask 'x' is not"),
    ("nonsense", "is no KEY=VALUE"),
]


@pytest.mark.parametrize(("sizes", "said"), FMHA_WRONG)
def test_sizes_of_attention_that_make_no_problem_are_refused(tmp_path: Path, sizes: str, said: str) -> None:
    (one,) = plan(table(tmp_path / "own.csv", (Key(FMHA.signature, sizes=sizes), ROWS[-1][1]))).diagnostics
    assert one.code == "T005"
    assert said in one.message


def test_groups_must_be_of_the_rows_largest_sizes(tmp_path: Path) -> None:
    wrong = Key(GROUPED.signature, 0, 64, 128, 256, sizes="64x128x128")
    (one,) = plan(table(tmp_path / "own.csv", (wrong, ROWS[3][1]))).diagnostics
    assert "the largest sizes of the groups are 64x128x128, the row says 64x128x256" in one.message


def test_a_kernel_of_another_device_or_flavour_is_unavailable_with_the_reason(tmp_path: Path) -> None:
    ocp = "gemm_fp8_ocp_bf16_rcr_blockscale"
    named = f"{ocp}_ck_1x128x128_256x16x64x256_16x32_16x32_1x1_16x16x1_16x16x1_1x16x1x16_4_1x1_intrawave_v1"
    own = table(tmp_path / "own.csv", ROWS[0], (Key(ocp, 0, 16, 512, 1024), named), target=MI300X)
    assert fates(plan(own, target=MI300X)) == [
        "unavailable(a kernel of backend host does not run on gfx942)",
        f"unavailable(gfx942 has another 8-bit float than {ocp})",
    ]


def test_columns_of_provenance_may_hold_anything_and_sizes_may_be_missing(tmp_path: Path) -> None:
    head = "gfx,cu_num,signature,B,M,N,K,kernelName,splitK,us,note"
    row = f"x86_64_v4,2,gemm_bf16_rcr,,64,128,256,{ROWS[0][1]},,,anything"
    (tmp_path / "own.csv").write_text(f"{head}\n{row}\n")
    assert fates(plan(tmp_path / "own.csv")) == ["selected"]


def test_it_is_not_merged_with_tables_of_modules(tmp_path: Path) -> None:
    from ckgen.model.errors import InputError
    from ckgen.tables.merge import merge
    from table_support import BLOCKSCALE_HEADER, load, one, options

    own = table(tmp_path / "own.csv", *ROWS).read_bytes()
    files = {"own.csv": own, "a8w8_blockscale_tuned_gemm.csv": one(BLOCKSCALE_HEADER)}
    with pytest.raises(InputError) as error:
        merge(load(tmp_path / "both", files, options(ops=" ".join(FAMILIES))))
    (found,) = error.value.diagnostics
    assert (found.code, found.message) == ("T014", "its rows are of no one module")
