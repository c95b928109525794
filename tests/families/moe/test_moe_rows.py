"""What becomes of MoE rows: their signatures, the pairs that their names spell, their fates, and who answers.

`pytest -s tests/families/moe/test_moe_rows.py -k names` prints how many of the tables' kernels are built.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from ckgen.families.common.policy import MPolicy
from ckgen.families.gemm.enums import MoePart
from ckgen.families.gemm.lookup import table_view
from ckgen.families.moe.asm_kernels import asm_moe_kernels
from ckgen.families.moe.config import MoePairConfig
from ckgen.families.moe.query import MoeQuery
from ckgen.families.moe.row_key import routing_key
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.diagnostic import Severity
from ckgen.model.fate import Fate
from ckgen.model.groups import Routing
from ckgen.model.moe_row import MoeRow
from ckgen.model.selection import Tier
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.plan.model import AnyUnit, GenerationPlan
from ckgen.plan.registry_document import registry_text
from ckgen.plan.registry_read import read_registry
from ckgen.plan.select import select
from ckgen.plan.trail import trail
from ckgen.plan.uses import uses_of
from ckgen.specs.archs import load_archs
from plan_support import (
    GFX942_80,
    GFX950,
    REAL_TABLES,
    REAL_TARGETS,
    aiter_kernel_m,
    aiter_split_k_m,
    plan_of,
    told,
    write_table,
)

MOE = frozenset({"moe"})
TABLES_OWN = frozenset({"asm", "ck"})
"""Whose kernels tables name."""
HEADER = (
    "gfx,cu_num,token,model_dim,inter_dim,expert,topk,act_type,dtype,q_dtype_a,q_dtype_w,q_type,use_g1u1,"
    "doweight_stage1,block_m,ksplit,us1,kernelName1,err1,us2,kernelName2,err2,us,run_1stage,_tag"
)
GATE_UP = "moe_ck2stages_gemm1_256x32x64x128_1x4_MulABScale_v1_Nswizzle0_Quant2_MulRoutedWeight1_gelu_F8_F8_B16"
DOWN = "moe_ck2stages_gemm2_256x32x64x128_1x4_MulABScaleExpertWeight_v1_Nswizzle0_Quant2_MulRoutedWeight0_F8_F8_B16"
WHOLE = "_ZN5aiter45fmoe_bf16_pertokenFp8_g1u1_vs_silu_1tg_32x256E"
FIRST = "_ZN5aiter56fmoe_stage1_bf16_pertokenFp8_doweight_g1u1_32x64_4tg_pf3E"
LAYER = "moe_fp8_fnuz_bf16_rcr_rowwise_preshuffle_layer_gated_weightfirst_epi_gelu"
CELLS = {
    "gfx": "gfx942", "cu_num": "80", "token": "4", "model_dim": "2304", "inter_dim": "1536", "expert": "8",
    "topk": "2", "act_type": "ActivationType.Gelu", "dtype": "torch.bfloat16", "q_dtype_a": "torch.float8_e4m3fnuz",
    "q_dtype_w": "torch.float8_e4m3fnuz", "q_type": "QuantType.per_Token", "use_g1u1": "1", "doweight_stage1": "1",
    "block_m": "32", "ksplit": "0", "us1": "17.5", "kernelName1": GATE_UP, "err1": "0.4%", "us2": "14.5",
    "kernelName2": DOWN, "err2": "1.2%", "us": "32.0", "run_1stage": "0", "_tag": "", "max_m": "",
    "gate_mode": "GateMode.SEPARATED",
}  # fmt: skip


def with_tables(plan: GenerationPlan) -> tuple[AnyUnit, ...]:
    return tuple(unit for unit in plan.units if unit.tables)


def planned(folder: Path, *rows: dict[str, str], header: str = HEADER) -> GenerationPlan:
    lines = [",".join((CELLS | row)[name] for name in header.split(",")) for row in rows]
    return plan_of(
        write_table(folder / "x_fmoe.csv", lines, header), targets=(GFX942_80, GFX950), ops=MOE, backends=TABLES_OWN
    )


def fate(folder: Path, header: str = HEADER, **cells: str) -> str:
    (found,) = planned(folder, cells, header=header).fates
    return str(found)


def archs() -> dict[str, ArchSpec]:
    return dict(load_archs())


@cache
def shipped() -> GenerationPlan:
    """The plan of the shipped MoE tables alone."""
    tables = sorted(REAL_TABLES.rglob("*moe*.csv"))
    return plan_of(*tables, targets=REAL_TARGETS, ops=MOE, every_row=True)


def rows_and_fates() -> Iterator[tuple[MoeRow, Fate]]:
    rows = (row for file in shipped().files for row in file.rows)
    for row, found in zip(rows, shipped().fates, strict=True):
        assert isinstance(row, MoeRow)
        yield row, found


def test_every_shipped_row_has_its_fate() -> None:
    assert Counter(found.kind.value for _, found in rows_and_fates()) == {
        "selected": 849, "external": 758, "refused_measurement": 177, "other_target": 111, "unavailable": 5,
    }  # fmt: skip
    assert Counter(found.reason for _, found in rows_and_fates() if found.kind.value == "external") == {
        "flydsl": 484, "asm": 181, "asm+ck": 65, "flydsl+ck": 14, "ck+flydsl": 14,
    }  # fmt: skip
    assert {found.reason for _, found in rows_and_fates() if found.kind.value == "unavailable"} == {
        "ck.moe.pipeline: CK's MoE GEMMs do not split K (MulABScaleExpertWeightA8W8blkscaleSplitk, limit no splits)"
    }
    assert not [problem.render() for problem in shipped().diagnostics if problem.severity.value == "error"]


def test_rows_that_repeat_a_smaller_measurement_beat_the_peak() -> None:
    """Their `tflops` columns are those of fewer tokens: the table repeats a measurement instead of taking one."""
    beaten = [row for row, found in rows_and_fates() if "times the peak rate" in found.reason]
    assert len(beaten) == 172
    assert {row.location.file for row in beaten} == {"a8w8_blockscale_tuned_fmoe_ds_v3.csv"}
    measured = {(row.us, row.answer) for row, _ in rows_and_fates() if row not in beaten}
    assert sum((row.us, row.answer) in measured for row in beaten) > 100


def test_names_of_the_tables_are_kernels_that_are_built() -> None:
    fates: dict[str, Counter[str]] = {}
    for row, found in rows_and_fates():
        for stage in row.stages:
            fates.setdefault(stage.kernel, Counter())[found.kind.value] += 1
    names = [name for name in fates if name.startswith("moe_ck2stages")]
    built = [name for name in names if fates[name]["selected"]]
    shipped_names = [name for name in fates if name in asm_moe_kernels()]
    launched = [name for name in shipped_names if fates[name]["selected"]]
    print(f"\nck: {len(names)} names, {len(built)} built ({len(built) / len(names):.0%})")
    print(f"asm: {len(shipped_names)} names of kernels that ckgen launches, {len(launched)} in selected rows")
    assert (len(names), len(built)) == (78, 70)
    assert (len(shipped_names), len(launched)) == (23, 20)
    assert {fate for name in set(shipped_names) - set(launched) for fate in fates[name]} == {
        "refused_measurement", "external",
    }  # fmt: skip


def test_the_row_s_signature_and_pair(tmp_path: Path) -> None:
    plan = planned(tmp_path, {})
    assert [str(found) for found in plan.fates] == ["selected"]
    (unit,) = (unit for unit in plan.units if unit.name == LAYER)
    (instance,) = unit.instances
    assert isinstance(instance.config, MoePairConfig)
    assert instance.table_kernel == f"{GATE_UP} + {DOWN}"
    assert [part.signature.canonical() for part in instance.parts] == [
        LAYER.replace("layer", "gate_up"), "moe_fp8_fnuz_bf16_rcr_rowwise_preshuffle_down_weightfirst",
    ]  # fmt: skip
    ((key, group),) = unit.tables[0].groups.items()
    assert key == (1536, 2304, Routing(8, 2).lookup_key)
    assert group.runnable.at_or_above(4) == (4, 0)


def test_people_read_experts_and_top_k_not_their_key(tmp_path: Path) -> None:
    plan = planned(tmp_path, {})
    (unit,) = (unit for unit in plan.units if unit.name == LAYER)
    assert table_view(unit, unit.tables[0], routing_key)["groups"][0]["title"] == "experts=8 top_k=2 N=1536 K=2304"
    other = MoeQuery(plan, GFX942_80, unit.signature, Shape(0, 4, 1536, 2304), routing=Routing(9, 3))
    said = trail(other, str).text()
    assert "no rows for experts=9 top_k=3 N=1536 K=2304\n" in said and "B=" not in said
    ((row,),) = (file.rows for file in plan.files)
    assert row is not None and row.named_sizes == {"m": 4, "n": 1536, "k": 2304, "experts": 8, "top_k": 2}


def test_a_selected_row_answers_its_problem() -> None:
    asked = 0
    for row, found in rows_and_fates():
        if found.kind.value != "selected" or row.location.line % 20:
            continue
        assert row.target is not None and row.top_k is not None
        signature = next(unit.signature for unit in shipped().units if _answers(unit.tables, row))
        shape = Shape(0, row.shape.m, row.shape.n, row.shape.k)
        query = MoeQuery(shipped(), row.target, signature, shape, routing=Routing(row.experts, row.top_k))
        answer = select(query)
        assert (answer.tier, answer.row) == (Tier.EXACT, row)
        assert answer.instance is not None and answer.instance.table_kernel == row.kernel
        asked += 1
    assert asked > 10


def _answers(tables: object, row: MoeRow) -> bool:
    assert isinstance(tables, tuple)
    return any(row in group.rows.values() for table in tables for group in table.groups.values())


def test_shipped_kernels_make_layers_alone_and_in_pairs(tmp_path: Path) -> None:
    """Where they compute what the row says on its arch; else the row is another library's."""
    silu = {"act_type": "ActivationType.Silu", "doweight_stage1": "0"}
    whole = {**silu, "kernelName1": WHOLE, "kernelName2": "", "run_1stage": "1", "model_dim": "2048"}
    plan = planned(tmp_path / "whole", whole)
    assert [str(found) for found in plan.fates] == ["selected"]
    (unit,) = with_tables(plan)
    (instance,) = (one for one in unit.instances if one.table_kernel)
    assert (instance.backend, instance.table_kernel, instance.parts) == (Backend.ASM, WHOLE, ())

    plan = planned(tmp_path / "first", {"kernelName1": FIRST})
    assert [str(found) for found in plan.fates] == ["selected"]
    (layer,) = next(unit for unit in plan.units if unit.name == LAYER).instances
    assert [part.backend for part in layer.parts] == [Backend.ASM, Backend.CK]

    assert fate(tmp_path / "gelu", **{**whole, "act_type": "ActivationType.Gelu"}) == "external(asm)"
    assert fate(tmp_path / "weight", kernelName1=FIRST, doweight_stage1="0", kernelName2=DOWN) == "external(asm+ck)"
    assert fate(tmp_path / "scales", kernelName1=FIRST, q_type="QuantType.per_Tensor") == "external(asm+ck)"
    assert "takes blocks of 32 rows" in fate(tmp_path / "block", **whole, block_m="64")
    assert "K = 2304 is not a multiple of 512" in fate(tmp_path / "k", **{**whole, "model_dim": "2304"})
    assert fate(tmp_path / "types", **{**whole, "q_dtype_a": "torch.int8"}) == "invalid(T015)"


def test_rows_of_other_libraries_are_kept_by_both_names(tmp_path: Path) -> None:
    plan = planned(tmp_path, {"kernelName1": "flydsl_moe1_x"})
    assert [str(found) for found in plan.fates] == ["external(flydsl+ck)"]
    (unit,) = with_tables(plan)
    assert [(kernel.library, kernel.name) for kernel in unit.tables[0].externals] == [
        ("flydsl+ck", f"flydsl_moe1_x + {DOWN}")
    ]
    assert unit.instances == ()


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({"kernelName1": GATE_UP.replace("gelu", "silu")}, "kernelName1 says activation silu, the row says gelu"),
        ({"doweight_stage1": "0"}, "kernelName1 says routing weight True, the row says False"),
        ({"kernelName2": DOWN.replace("Weight0", "Weight1")}, "kernelName2 says routing weight True"),
        ({"q_type": "QuantType.per_Tensor"}, "kernelName1 says scales rowwise, the row says per_tensor"),
        ({"kernelName1": GATE_UP.replace("F8_F8_B16", "F8_F8_F16")}, "kernelName1 says C fp16, the row says bf16"),
        ({"kernelName2": DOWN.replace("256x32x", "256x64x")}, "kernelName2 takes blocks of 64 rows"),
        ({"block_m": "64"}, "kernelName1 takes blocks of 32 rows, the row says block_m 64"),
        ({"inter_dim": "1504"}, "N = 1504 is not a multiple of 128"),
        ({"model_dim": "2336"}, "K = 2336 is not a multiple of 128"),
        ({"ksplit": "2"}, "k_batch = 2 is above 1"),
        ({"kernelName1": GATE_UP.replace("256x32x64x", "512x32x64x")}, "ck.moe.waves"),
        ({"kernelName1": GATE_UP.replace("_v1", "_v2")}, "ck.moe.pipeline"),
        ({"kernelName1": GATE_UP.replace("MulABScale", "MulABScaleWint4")}, "ck.moe.op"),
        ({"_tag": "old"}, "no signature says _tag = old"),
        ({"act_type": "ActivationType.Swiglu"}, "no signature says activation Swiglu"),
        ({"topk": "-1"}, "no signature says topk is not told"),
        ({"gfx": "gfx950", "cu_num": "256"}, "ck.moe.xdl: gfx950 has no such instruction"),
    ],
)
def test_why_a_pair_is_unavailable(tmp_path: Path, cells: dict[str, str], reason: str) -> None:
    found = fate(tmp_path, **cells)
    assert found.startswith("unavailable(") and reason in found


@pytest.mark.parametrize(("column", "word"), [
    ("act_type", "ActivationType.Situv2"), ("q_type", "QuantType.per_1x64"), ("q_dtype_a", "torch.float6_e3m2fn"),
    ("gate_mode", "GateMode.BLOCKED"),
])  # fmt: skip
def test_a_word_that_is_not_known_is_its_row_s_fate(tmp_path: Path, column: str, word: str) -> None:
    """Whoever made its kernel; the other rows stay."""
    rows = [{column: word}, {column: word, "kernelName1": "flydsl_a", "token": "8"}, {"token": "16", "gate_mode": ""}]
    plan = planned(tmp_path, *rows, header=f"{HEADER},gate_mode")
    unavailable = f"unavailable(unknown word {word})"
    assert [str(found) for found in plan.fates] == [unavailable, unavailable, "selected"]
    assert [(d.code, d.severity) for d in plan.diagnostics] == [("P002", Severity.WARNING)]


def test_words_that_are_not_known_are_all_named(tmp_path: Path) -> None:
    said = fate(tmp_path, act_type="ActivationType.Situv2", q_type="QuantType.per_1x64")
    assert said == "unavailable(unknown word ActivationType.Situv2, QuantType.per_1x64)"


def test_names_with_a_cast_spell_kernels_of_scales_too(tmp_path: Path) -> None:
    """As in tables of 2026: fp8 by token, TypeCast, Quant2."""
    cast = {
        "kernelName1": GATE_UP.replace("MulABScale", "TypeCast"),
        "kernelName2": DOWN.replace("MulABScale", "TypeCast"),
    }
    assert fate(tmp_path, **cast) == "selected"


def test_what_no_signature_says_is_external_all_the_same(tmp_path: Path) -> None:
    plan = planned(tmp_path, {"kernelName1": "flydsl_a", "max_m": "384"}, header=f"{HEADER},max_m")
    assert [str(found) for found in plan.fates] == ["external(flydsl+ck)"]
    assert with_tables(plan) == ()


@pytest.mark.parametrize(("cells", "word"), [
    ({"err1": "50%"}, "selected"), ({"err1": "50.1%"}, "refused_measurement(errRatio = 0.501 > 0.5)"),
    ({"us": "0"}, "refused_measurement(us = 0)"), ({"us": "0.5", "token": "4096"}, "refused_measurement("),
    ({"cu_num": "304"}, "other_target(gfx942:304)"),
])  # fmt: skip
def test_measurements_are_judged_as_their_tuner_does(tmp_path: Path, cells: dict[str, str], word: str) -> None:
    assert fate(tmp_path, **cells).startswith(word)


def test_a_name_that_does_not_parse_is_an_error_with_the_forms(tmp_path: Path) -> None:
    plan = planned(tmp_path, {"kernelName2": "moe_ck2stages_gemm2_nonsense"})
    (error,) = (one for one in plan.diagnostics if one.code == "T012")
    assert "moe_ck2stages_gemm1_<block>x<M>x<N>x<K>_…" in error.render()
    assert "ckgen list names --module fmoe" in error.render()


def test_two_stages_of_one_part_are_no_pair(tmp_path: Path) -> None:
    assert fate(tmp_path, kernelName2=GATE_UP) == "invalid(T012)"


def test_types_that_mean_nothing_are_an_error(tmp_path: Path) -> None:
    plan = planned(tmp_path, {"q_dtype_a": "torch.int8", "kernelName1": "flydsl_x"})
    (error,) = (one for one in plan.diagnostics if one.code == "T015")
    assert "tokens=4 inter=1536 model=2304 experts=8 top_k=2" in error.render()


def test_contradictions_of_one_layer_are_an_error_and_a_later_layer_wins(tmp_path: Path) -> None:
    other = {"kernelName1": GATE_UP.replace("x128_", "x256_")}
    plan = planned(tmp_path, {}, other)
    assert [str(found) for found in plan.fates] == ["invalid(T007)"] * 2
    assert "experts=8" in next(one for one in plan.diagnostics if one.code == "T007").render()
    first, second = tmp_path / "first", tmp_path / "second"
    planned(first, {})
    planned(second, other)
    plan = plan_of(first, second, targets=(Target("gfx942", 80),), ops=MOE)
    assert [found.kind.value for found in plan.fates] == ["overridden", "selected"]


def test_a_part_is_used_for_the_products_of_its_layers(tmp_path: Path) -> None:
    plan = planned(tmp_path, {}, {"token": "8", "us": "40"})
    uses = {instance.signature.moe.part: found["gfx942"] for instance, found in uses_of(plan).items() if found}
    sizes = {part: {(use.shape.m, use.shape.n, use.shape.k) for use in found} for part, found in uses.items()}
    assert sizes[MoePart.LAYER] == sizes[MoePart.GATE_UP] == {(4, 1536, 2304), (8, 1536, 2304)}
    assert sizes[MoePart.DOWN] == {(4, 2304, 1536), (8, 2304, 1536)}


def test_a_registry_document_has_the_pairs(tmp_path: Path) -> None:
    """Instances of the tables come back equal, layers and parts, with the tables' module."""
    plan = shipped()
    file = tmp_path / "registry.json"
    file.write_text(registry_text(plan), encoding="utf-8")
    again = read_registry(file, archs())
    assert again.instances == plan.instances and told(again) == told(plan)
    assert sum(bool(instance.parts) for instance in again.instances) > 50


def test_tokens_are_rounded_as_the_peer_does(tmp_path: Path) -> None:
    """Powers of two; from 32,768 on two sizes only."""
    for tokens in (1, 2, 3, 5, 17, 1000, 32767, 32768, 100_000, 131_071, 131_072, 200_000):
        padded = 131_072 if tokens >= 131_072 else 32_768 if tokens >= 32_768 else 2 ** math.ceil(math.log2(tokens))
        assert aiter_kernel_m("fmoe", tokens, 256, 256) == aiter_split_k_m("fmoe", tokens, 256, 256) == (padded,)
    planned(tmp_path, {"token": "8", "us": "40"}, {"token": "16", "us": "41"})
    plan = plan_of(tmp_path, targets=(GFX942_80,), ops=MOE, m_policy=MPolicy.AITER)
    unit = next(unit for unit in plan.units if unit.name == LAYER)
    query = MoeQuery(plan, GFX942_80, unit.signature, Shape(0, 5, 1536, 2304), routing=Routing(8, 2))
    answer = select(query)
    assert (answer.tier, answer.row and answer.row.shape.m) == (Tier.NEAR, 8)
