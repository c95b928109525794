"""Tuned MoE tables: every dialect of the shipped ones, what a row becomes, keys, and bad cells with their places."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import pytest

from ckgen.model.dtype import DType
from ckgen.model.fate import FateKind
from ckgen.model.moe_row import GateMode, MoeActivation, MoeDiscriminators, MoeRow, MoeScales, MoeStage
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.tables import LoadedTables, load_tables
from ckgen.tables.merge import merge
from ckgen.tables.repair import find_conflicts
from table_support import AITER, MOE_HEADER, load, options, table

GATE_UP = "moe_ck2stages_gemm1_256x32x64x128_1x4_MulABScale_v1_Nswizzle0_Quant2_MulRoutedWeight1_gelu_F8_F8_B16"
DOWN = "moe_ck2stages_gemm2_256x32x64x128_1x4_MulABScaleExpertWeight_v1_Nswizzle0_Quant2_MulRoutedWeight0_F8_F8_B16"
ASM = "_ZN5aiter45fmoe_bf16_pertokenFp8_g1u1_vs_silu_1tg_32x256E"
CELLS = {
    "cu_num": "80", "gfx": "gfx942", "token": "4", "model_dim": "2304", "inter_dim": "1536", "expert": "8",
    "topk": "2", "act_type": "ActivationType.Gelu", "dtype": "torch.bfloat16", "q_dtype_a": "torch.float8_e4m3fnuz",
    "q_dtype_w": "torch.float8_e4m3fnuz", "q_type": "QuantType.per_Token", "use_g1u1": "1", "doweight_stage1": "1",
    "block_m": "32", "ksplit": "0", "us1": "17.5", "kernelName1": GATE_UP, "err1": "0.4%", "us2": "14.5",
    "kernelName2": DOWN, "err2": "1.2%", "us": "32.0", "run_1stage": "0", "xbf16": "0", "flat": "0", "tflops": "5.26",
    "bw": "2629.41", "_tag": "", "max_m": "384", "shared_expert_id": "384", "hidden_pad": "0", "intermediate_pad": "0",
    "gate_mode": "GateMode.INTERLEAVE",
}  # fmt: skip
HIDDEN = (
    "gfx,cu_num,token,model_dim,inter_dim,expert,topk,shared_expert_id,act_type,dtype,q_dtype_a,q_dtype_w,q_type,"
    "use_g1u1,doweight_stage1,hidden_pad,intermediate_pad,gate_mode,block_m,ksplit,kernelName1,kernelName2"
)
GROUPED = (
    "gfx,cu_num,token,model_dim,inter_dim,expert,topk,act_type,dtype,q_dtype_a,q_dtype_w,q_type,use_g1u1,"
    "doweight_stage1,max_m,tile_m,kernelName1,kernelName2,us,tflops,bw"
)


def line(header: str = MOE_HEADER, **cells: str) -> str:
    return ",".join({"tile_m": "16", **CELLS, **cells}[name] for name in header.split(","))


def loaded(folder: Path, *rows: str, header: str = MOE_HEADER) -> LoadedTables:
    return load(folder, {"x_fmoe.csv": table(*rows, header=header)}, options(ops="moe", gfx={80: "gfx942"}))


def only(folder: Path, header: str = MOE_HEADER, **cells: str) -> MoeRow:
    tables = loaded(folder, line(header, **cells), header=header)
    assert [problem.render() for problem in tables.diagnostics] == []
    (found,) = tables.rows
    assert isinstance(found, MoeRow)
    return found


@cache
def shipped() -> LoadedTables:
    return load_tables([AITER], options(ops="moe", gfx={80: "gfx942", 304: "gfx942", 256: "gfx950"}))


def moe_rows() -> list[MoeRow]:
    return [row for row in shipped().rows if isinstance(row, MoeRow)]


def test_every_column_arrives_typed(tmp_path: Path) -> None:
    row = only(tmp_path)
    assert (str(row.location), row.module, row.target) == ("x_fmoe.csv:2", "fmoe", Target("gfx942", 80))
    assert (row.shape, row.experts, row.top_k) == (Shape(8 << 16 | 2, 4, 1536, 2304), 8, 2)
    assert row.discriminators == MoeDiscriminators(
        weight_dtype=DType.FP8_FNUZ, in_dtype=DType.FP8_FNUZ, out_dtype=DType.BF16, activation=MoeActivation.GELU,
        scales=MoeScales.PER_TOKEN, gated=True, weight_first=True,
    )  # fmt: skip
    assert row.stages == (MoeStage("ck", GATE_UP, 17.5, 0.004), MoeStage("ck", DOWN, 14.5, 0.012))
    assert (row.library, row.kernel, row.us, row.error_ratio) == ("ck", f"{GATE_UP} + {DOWN}", 32.0, 0.012)
    assert (row.k_batch, row.block_m) == (1, 32)
    assert row.sizes == "tokens=4 inter=1536 model=2304 experts=8 top_k=2"


def test_the_dialect_of_shared_experts_has_no_times(tmp_path: Path) -> None:
    row = only(tmp_path, HIDDEN, hidden_pad="64", intermediate_pad="128")
    key = row.discriminators
    assert isinstance(key, MoeDiscriminators)
    assert (key.shared_expert, key.hidden_pad, key.inter_pad, key.gate_mode) == (384, 64, 128, GateMode.INTERLEAVE)
    assert (row.us, row.error_ratio, row.block_m) == (None, None, 32)


def test_the_grouped_dialect_bounds_rows_and_may_not_tell_top_k(tmp_path: Path) -> None:
    row = only(tmp_path, GROUPED, topk="-1", kernelName1="grouped_gemm1_fp4", kernelName2="flydsl_moe2")
    assert isinstance(row.discriminators, MoeDiscriminators)
    assert row.discriminators.max_m == 384
    assert (row.top_k, row.shape.batch, row.block_m, row.library) == (None, 8 << 16, None, "flydsl")


@pytest.mark.parametrize("second", ["", "Null", " Null "])
def test_one_kernel_may_do_both_products(tmp_path: Path, second: str) -> None:
    row = only(tmp_path, kernelName1=ASM, kernelName2=second, run_1stage="1", err2="0.0%")
    assert (row.library, row.kernel, len(row.stages)) == ("asm", ASM, 1)


@pytest.mark.parametrize(
    ("names", "library"),
    [
        ((ASM, DOWN), "asm+ck"), (("flydsl_moe1_x", DOWN), "flydsl+ck"), ((GATE_UP, "opus_moe_x"), "ck+opus"),
        (("moe_cktile2stages_x", "strange"), "cktile+unknown"),
    ],
)  # fmt: skip
def test_a_row_s_library_is_that_of_its_kernels(tmp_path: Path, names: tuple[str, str], library: str) -> None:
    assert only(tmp_path, kernelName1=names[0], kernelName2=names[1]).library == library


def test_absent_cells_of_optional_columns_mean_what_other_dialects_mean(tmp_path: Path) -> None:
    header = MOE_HEADER.replace("bw,_tag", "bw,xbf16,flat,max_m,gate_mode,_tag")
    short = line().rsplit(",", 1)[0]
    (row,) = loaded(tmp_path, short, header=header).rows
    assert row.discriminators == only(tmp_path / "plain").discriminators
    assert row.k_batch == 1


@pytest.mark.parametrize(("cell", "k_batch"), [("0", 1), ("", 1), ("1", 1), ("8", 8)])
def test_ksplit_counts_parts(tmp_path: Path, cell: str, k_batch: int) -> None:
    assert only(tmp_path, ksplit=cell).k_batch == k_batch


@pytest.mark.parametrize(
    ("column", "cell", "code", "message"),
    [
        ("token", "0", "T005", "token '0' is not an integer greater than 0"),
        ("token", "", "T004", "token is missing"),
        ("model_dim", "2304.5", "T005", "model_dim '2304.5' is not an integer greater than 0"),
        ("expert", "65536", "T005", "expert '65536' is not a number of experts"),
        ("topk", "0", "T005", "topk '0' is not a number of experts"),
        ("topk", "-2", "T005", "topk '-2' is not a number of experts"),
        ("act_type", "Tanh", "T006", "act_type 'Tanh' is not a known value"),
        ("q_dtype_a", "fp8", "T006", "q_dtype_a 'fp8' is not a known value"),
        ("q_type", "per_Token", "T006", "q_type 'per_Token' is not a known value"),
        ("q_type", "", "T004", "q_type is missing"),
        ("use_g1u1", "2", "T006", "use_g1u1 '2' is not a known value"),
        ("doweight_stage1", "yes", "T006", "doweight_stage1 'yes' is not a known value"),
        ("block_m", "0", "T005", "block_m '0' is not an integer greater than 0"),
        ("ksplit", "-1", "T008", "ksplit '-1' is not a count"),
        ("err1", "many", "T008", "err1 'many' is not a share"),
        ("us2", "fast", "T008", "us2 'fast' is not a number"),
        ("us", "fast", "T008", "us 'fast' is not a number"),
        ("run_1stage", "x", "T006", "run_1stage 'x' is not a known value"),
        ("run_1stage", "1", "T006", f"kernelName2 '{DOWN[:100]}…' stands beside run_1stage 1"),
        ("kernelName1", "", "T004", "kernelName1 is missing"),
        ("kernelName2", "Null", "T004", "kernelName2 is missing"),
    ],
)
def test_a_bad_cell_is_located_and_ends_its_row(
    tmp_path: Path, column: str, cell: str, code: str, message: str
) -> None:
    tables = loaded(tmp_path, line(), line(token="8", **{column: cell}) if column != "token" else line(token=cell))
    (problem,) = tables.diagnostics
    assert problem.location is not None
    assert (problem.code, problem.location.line, problem.message) == (code, 3, message)
    (file,) = tables.files
    assert [(fate.kind, fate.reason) for fate in file.fates] == [(FateKind.INVALID, code)]
    assert len(file.rows) == 1 and file.row_count == 2


def test_a_table_without_a_needed_column_is_invalid_whole(tmp_path: Path) -> None:
    header = MOE_HEADER.replace("q_type,", "")
    tables = loaded(tmp_path, line(header), header=header)
    (problem,) = tables.diagnostics
    assert (problem.code, problem.message) == ("T004", "column q_type is missing")
    assert [(file.counted, file.row_count) for file in tables.files] == [(FateKind.INVALID, 1)]


def test_a_module_of_another_operation_passes_them_over(tmp_path: Path) -> None:
    files = {"x_fmoe.csv": table(line(), header=MOE_HEADER), "a8w8.csv": "M,N,K,us\n1,2,3,4\n"}
    asked = options(ops="gemm moe", module="fmoe", gfx={80: "gfx942"})
    assert [(file.module, file.counted) for file in load(tmp_path, files, asked).files] == [
        (None, FateKind.OTHER_OP), ("fmoe", None),
    ]  # fmt: skip
    asked = options(ops="gemm moe", module="a8w8")
    assert [file.counted for file in load(tmp_path, files, asked).files] == [None, FateKind.OTHER_OP]


def test_every_row_of_the_shipped_tables_is_read() -> None:
    assert shipped().diagnostics == ()
    files = [file for file in shipped().files if file.kind == "moe_tuned"]
    assert (len(files), len(moe_rows())) == (20, 1900)
    assert all(len(file.rows) == file.row_count for file in files)
    assert Counter(row.library for row in moe_rows()) == {
        "ck": 787, "flydsl": 595, "asm": 264, "asm+ck": 226, "flydsl+ck": 14, "ck+flydsl": 14,
    }  # fmt: skip
    assert Counter(str(row.target) for row in moe_rows()) == {
        "gfx942:80": 958, "gfx942:304": 52, "gfx950:256": 779, "gfx1250:256": 111,
    }  # fmt: skip
    names = {stage.kernel for row in moe_rows() for stage in row.stages}
    assert Counter(stage.split("_")[0] for stage in names) == {"flydsl": 307, "moe": 78, "": 44, "grouped": 2}


def test_without_an_arch_the_target_of_a_row_stays_open() -> None:
    tables = load_tables([AITER], options(ops="moe", gfx={80: "gfx942", 304: "gfx942"}))
    assert sum(row.target is None for row in tables.rows) == 655


def test_no_two_rows_of_the_shipped_tables_have_one_key() -> None:
    keys = Counter((row.target, row.shape, row.discriminators) for row in moe_rows())
    assert max(keys.values()) == 1
    assert find_conflicts(shipped()) == ()


def test_what_only_some_dialects_say_tells_rows_apart() -> None:
    plain = ("activation", "scales", "gated", "weight_first", "in_dtype", "weight_dtype", "out_dtype")
    found = defaultdict(list)
    for row in moe_rows():
        key = (row.target, row.shape, row.top_k, *(getattr(row.discriminators, field) for field in plain))
        found[key].append(row.discriminators)
    (twice,) = (alike for alike in found.values() if len(alike) > 1)
    assert [one.max_m for one in twice if isinstance(one, MoeDiscriminators)] == [3072, 384]


@pytest.mark.parametrize(
    "other",
    [
        {"max_m": "385"}, {"_tag": "x"}, {"gate_mode": "GateMode.SEPARATED"}, {"shared_expert_id": "1"},
        {"hidden_pad": "1"}, {"intermediate_pad": "1"}, {"topk": "3"}, {"expert": "9"},
        {"act_type": "ActivationType.Silu"}, {"q_type": "QuantType.per_Tensor"},
        {"q_dtype_a": "torch.int8"}, {"q_dtype_w": "torch.int8"},
        {"dtype": "torch.float16"}, {"use_g1u1": "0"}, {"doweight_stage1": "0"}, {"model_dim": "64"},
    ],
)  # fmt: skip
def test_every_key_column_is_in_the_key(tmp_path: Path, other: dict[str, str]) -> None:
    header = f"{MOE_HEADER},max_m,gate_mode,shared_expert_id,hidden_pad,intermediate_pad"
    rows = [line(header), line(header, kernelName1="flydsl_x", **other)]
    assert find_conflicts(loaded(tmp_path / "two", *rows, header=header)) == ()
    same = [line(header), line(header, kernelName1="flydsl_x")]
    assert len(find_conflicts(loaded(tmp_path / "one", *same, header=header))) == 1


def test_block_m_is_part_of_the_answer(tmp_path: Path) -> None:
    (conflict,) = find_conflicts(loaded(tmp_path, line(), line(block_m="64")))
    assert "gfx942:80 fmoe tokens=4 inter=1536 model=2304 experts=8 top_k=2" in conflict.lines()[0]


def test_tables_of_several_dialects_merge_into_one_that_says_the_same(tmp_path: Path) -> None:
    files = {"a_fmoe.csv": table(line(), header=MOE_HEADER), "b_fmoe.csv": table(line(HIDDEN), header=HIDDEN)}
    asked = options(ops="moe", gfx={80: "gfx942"})
    before = load(tmp_path / "two", files, asked)
    after = load(tmp_path / "one", {"c_fmoe.csv": merge(before)}, asked)
    assert after.diagnostics == ()
    keys = [{(row.target, row.shape, row.discriminators, row.answer) for row in one.rows} for one in (before, after)]
    assert keys[0] == keys[1] and len(keys[0]) == 2
