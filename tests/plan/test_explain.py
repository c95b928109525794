"""Trails of selections, as people read them: every tier's answer, or why it has none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from ckgen.families.common.policy import MPolicy
from ckgen.families.fmha.constraints import FmhaConstraints
from ckgen.families.fmha.explain import sizes_text
from ckgen.families.fmha.query import FmhaQuery
from ckgen.families.fmha.signature import parse_canonical as parse_fmha
from ckgen.families.gemm.query import GemmQuery
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.grouped_gemm.query import NO_SHAPE, GroupedGemmQuery
from ckgen.families.moe.query import MoeQuery
from ckgen.model.fmha_shape import FmhaCorner, FmhaShape
from ckgen.model.groups import Groups, GroupSize, Routing
from ckgen.model.selection import NO_WISHES, Tier, Wishes
from ckgen.model.strategy import Strategy
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape, TunedRow
from ckgen.plan.model import GenerationPlan
from ckgen.plan.trail import Status, trail
from plan_support import LARGE, MIDDLE, SMALL_M, plan_of, query, row, write_table

ARCHS = ("gfx942:304", "gfx942:80", "gfx942:64", "gfx950:256", "gfx1201:64", "x86_64_v4:8")
TARGETS = tuple(Target(name, int(count)) for name, count in (text.split(":") for text in ARCHS))
ASM = "_ZN5aiter3fooE"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [row(m, SMALL_M if m < 48 else MIDDLE) for m in (1, 2, 4, 8, 16, 32, 48, 64, 128)]
    rows += [row(4096, LARGE, splitK=2), row(5000, ASM, libtype="asm"), row(96, ASM, libtype="asm", us=7.5)]
    rows += [row(64, LARGE, cu_num=80), row(256, LARGE, cu_num=80), row(64, SMALL_M, cu_num=80, N=256)]
    return write_table(tmp_path_factory.mktemp("tables") / "a8w8_blockscale.csv", rows)


def place(measured: object) -> str:
    assert isinstance(measured, TunedRow)
    return str(measured.location)


def said(queries: Iterable[GemmQuery]) -> str:
    return "".join(f"{trail(one, place).text()}\n\n" for one in queries)


def test_what_follows_an_answer_is_not_tried_though_an_earlier_tier_was_refused(tmp_path: Path) -> None:
    plan = plan_of(write_table(tmp_path / "a8w8_blockscale.csv", [row(64, LARGE, splitK=2, K=4096)]), targets=TARGETS)
    asked = query(plan, TARGETS[0], "a8w8_blockscale", 64, 512, 4096, wishes=Wishes(deterministic=True))
    states = {step.tier: step.status for step in trail(asked, place).steps}
    assert (states[Tier.EXACT], states[Tier.HEURISTIC]) == (Status.REJECTED, Status.TAKEN)
    assert {states[tier] for tier in (Tier.FAR, Tier.OTHER_CU, Tier.DEFAULT)} == {Status.NOT_TRIED}


@pytest.mark.parametrize("policy", list(MPolicy))
def test_trails_of_gemms(policy: MPolicy, table: Path, golden: Callable[[str, str], None]) -> None:
    plan = plan_of(table, targets=TARGETS, m_policy=policy)

    def asked(m: int, n: int = 512, k: int = 1024, at: int = 0, wishes: Wishes = NO_WISHES) -> GemmQuery:
        return query(plan, TARGETS[at], "a8w8_blockscale", m, n, k, wishes=wishes)

    queries = [asked(m) for m in (1, 3, 40, 64, 90, 96, 200, 4096, 4500, 5000, 9000)]
    queries += [asked(64, at=at) for at in range(1, len(TARGETS))]
    queries += [asked(64, 640), asked(64, 256), asked(64, 512, 1032), asked(0), asked(64, 256, at=2)]
    queries += [asked(4096, wishes=Wishes(True)), asked(64, wishes=Wishes(False, Strategy.TREE))]
    queries.append(query(plan, TARGETS[4], "gemm_bf16_rcr_epi_silu_mul", 64, 512, 1024))
    golden(f"plan/explain_{policy.value}.txt", said(queries))


def test_a_trail_as_data(table: Path) -> None:
    plan = plan_of(table, targets=TARGETS)
    steps = [one.to_json() for one in trail(query(plan, TARGETS[0], "a8w8_blockscale", 64, 512, 1024), place).steps]
    assert [(one["tier"], one["status"]) for one in steps] == [
        ("forced", "absent"), ("override", "absent"), ("exact", "taken"), ("near", "not_tried"),
        ("heuristic", "not_tried"), ("predicted", "not_tried"), ("far", "not_tried"), ("other_cu", "not_tried"),
            ("default", "not_tried"),
    ]  # fmt: skip
    taken = steps[2]
    assert taken["k_batch"] == 1 and taken["source"] == "a8w8_blockscale.csv:9" and taken["rule"] is None
    assert str(taken["instance"]).startswith("gemm_fp8_fnuz_bf16_rcr_blockscale_ck_")
    assert taken["text"] == f"M=64 → {taken['instance']}   k_batch 1"
    assert steps[0] == {
        "tier": "forced", "status": "absent", "instance": None, "k_batch": None, "source": None, "rule": None,
        "text": "–",
    }  # fmt: skip
    refused = trail(query(plan, TARGETS[0], "a8w8_blockscale", 64, 512, 1025), place)
    assert {one.status.value for one in refused.steps} == {"not_tried"} and len(refused.steps) == 9


@cache
def stream_k() -> GenerationPlan:
    ops = frozenset({"gemm", "stream_k", "grouped_gemm", "moe"})
    names = ("gemm_fp16_rcr", "grouped_gemm_bf16_rcr", "moe_fp8_ocp_bf16_rcr_mx_layer_gated_epi_silu")
    return plan_of(targets=TARGETS, ops=ops, signatures=names)


def test_trails_of_other_operations(golden: Callable[[str, str], None]) -> None:
    plan = stream_k()
    queries: list[GemmQuery] = [
        GemmQuery(plan, TARGETS[at], parse_canonical("gemm_fp16_rcr"), Shape(0, m, 512, 8192), Wishes(strategy=wish))
        for at, m, wish in ((0, 64, Strategy.LINEAR), (3, 128, Strategy.TREE), (5, 7, Strategy.ANY))
    ]
    groups = [Groups.of([GroupSize(64, 128, 256), GroupSize(0, 128, 256)]), Groups.on_device(8, 64, 128, 256)]
    grouped = parse_canonical("grouped_gemm_bf16_rcr")
    queries += [GroupedGemmQuery(plan, TARGETS[0], grouped, NO_SHAPE, groups=one) for one in groups]
    layer = parse_canonical("moe_fp8_ocp_bf16_rcr_mx_layer_gated_epi_silu")
    queries += [
        MoeQuery(plan, TARGETS[3], layer, Shape(0, 16, 1024, 2048), routing=Routing(8, 2), block_m=block_m)
        for block_m in (0, 32)
    ]
    golden("plan/explain_other_operations.txt", said(queries))
    assert queries[-1].sizes_text() == "M=16 N=1024 K=2048 experts=8 top_k=2 block_m=32"


FMHA_HEADER = "gfx,cu_num,batch,heads_q,heads_k,seqlen_q,seqlen_k,hdim_q,hdim_v,mask,page_size,splitK,us,kernelName"
CAUSAL = "fmha_bf16_masked_ck_tile_qr_async_pad1011_128x128x32x128x32x128_4x1x1_32x32x16"
DECODE = "fmha_bf16_blocktable_hip_decode_16x128_128x128"
SIZES = FmhaShape(batch=4, heads_q=32, heads_k=8, seqlen_q=4096, seqlen_k=4096, hdim_q=128, hdim_v=128)


@pytest.fixture(scope="module")
def attention(tmp_path_factory: pytest.TempPathFactory) -> GenerationPlan:
    lines = [
        f"gfx942,304,4,32,8,4096,4096,128,128,b:-1:0,,,2000,{CAUSAL}",
        f"gfx942,304,4,32,8,1024,1024,128,128,b:-1:0,,,,{CAUSAL}",
        f"gfx942,304,8,32,8,1,4096,128,128,none,16,7,21.5,{DECODE}",
    ]
    tables = write_table(tmp_path_factory.mktemp("tables") / "attention.csv", lines, FMHA_HEADER)
    names = ("fmha_bf16", "fmha_bf16_masked", "fmha_bf16_blocktable", "fmha_bf16_append*", "fmha_bf16_varlen_alibi")
    return plan_of(tables, targets=TARGETS, ops=frozenset({"fmha"}), signatures=names)


def test_trails_of_attention(attention: GenerationPlan, golden: Callable[[str, str], None]) -> None:
    paged = {"batch": 8, "seqlen_q": 1, "page_size": 16, "pages": 4096}
    asked: list[tuple[str, int, dict[str, int]]] = [
        ("bf16", 0, {}), ("bf16", 1, {}), ("bf16", 4, {}), ("bf16", 5, {"hdim_q": 100}), ("bf16", 0, {"hdim_q": 300}),
        ("bf16", 0, {"heads_k": 7}), ("bf16", 0, {"seqlen_k": 1000}), ("bf16_masked", 0, {}),
        ("bf16_masked", 0, {"seqlen_q": 1000, "seqlen_k": 1000}), ("bf16_masked", 1, {}),
        ("bf16_masked", 0, {"seqlen_q": 256, "seqlen_k": 65536, "batch": 1}), ("bf16_masked", 3, {}),
        ("bf16_blocktable", 0, paged), ("bf16_blocktable", 0, paged | {"seqlen_k": 512}),
        ("bf16_blocktable", 0, paged | {"page_size": 8}), ("bf16_blocktable", 3, paged),
        ("bf16_append", 0, {"seqlen_new": 4, "seqlen_q": 0}), ("bf16_append_rope_half", 5, {"seqlen_new": 4}),
        ("bf16_varlen_alibi", 0, {"gaps_q": 1, "total_q": 9000}), ("fp16", 0, {}), ("bf16_append", 5, {"seqlen_q": 0}),
    ]  # fmt: skip
    texts = []
    for words, at, sizes in asked:
        shape = replace(SIZES, **sizes)  # type: ignore[arg-type]
        found = FmhaQuery(attention, TARGETS[at], parse_fmha(f"fmha_{words}"), shape)
        texts.append(trail(found, lambda measured: str(measured.location)).text())
    wishes = Wishes(deterministic=True, strategy=Strategy.ATOMIC)
    found = FmhaQuery(attention, TARGETS[0], parse_fmha("fmha_bf16"), SIZES, wishes)
    texts.append(trail(found, str).text())
    golden("plan/explain_attention.txt", "\n\n".join(texts) + "\n")


def test_sizes_of_attention_are_those_that_the_traits_have_a_use_for() -> None:
    whole = FmhaShape(
        1, 2, 3, 4, 5, 6, 7, FmhaCorner.TOP_LEFT, 127, 1, sink_tokens=4, page_size=16, pages=32, total_q=99,
        split_items=1, split_combines=2, split_rows=3, split_m0=4, split_n0=5, split_merged=True, seqlen_new=8,
        rotary_dim=64, min_seqlen_k=9, finite_kv=True, gaps_q=True,
    )  # fmt: skip
    usual = "batch=1 heads_q=2 heads_k=3 seqlen_q=4 seqlen_k=5 hdim_q=6 hdim_v=7"
    split = " split_items=1 split_combines=2 split_rows=3 split_m0=4 split_n0=5 split_merged=1"

    def text(words: str) -> str:
        return sizes_text(parse_fmha(words).traits, whole).removeprefix(usual).removesuffix(split)

    assert text("fmha_bf16") == ""
    assert text("fmha_bf16_masked") == " mask=t:127,1,4"
    assert text("fmha_bf16_varlen") == " total_q=99 min_seqlen_k=9 gaps_q=1"
    assert text("fmha_bf16_blocktable") == " page_size=16 pages=32 min_seqlen_k=9 finite_kv=1"
    assert text("fmha_bf16_append_rope_half") == " seqlen_new=8 rotary_dim=64"
    plain = sizes_text(parse_fmha("fmha_bf16_varlen_masked_blocktable").traits, FmhaShape())
    assert plain == (
        "batch=1 heads_q=1 heads_k=1 seqlen_q=0 seqlen_k=0 hdim_q=0 hdim_v=0 mask=b:-1,0 page_size=0 pages=0"
    )


@pytest.mark.parametrize(
    ("k_batch", "asked", "said"),
    [
        (0, {}, "supports: ok"),
        (0, {"m_multiple": 2, "n_multiple": 4, "k_multiple": 8}, "supports: ok (M % 2 = 0, N % 4 = 0, K % 8 = 0)"),
        (0, {"min_k": 256}, "supports: ok (K / k_batch ≥ 256)"),
        (0, {"split_grain": 64, "k_multiple_per_split": 32}, "supports: ok"),
        (1, {"split_grain": 64}, "supports: ok (splits of whole 64)"),
        (1, {"k_multiple_per_split": 32}, "supports: ok (K % (2 · 32) = 0)"),
        (
            1,
            {"split_grain": 64, "k_multiple_per_split": 32, "min_k": 16},
            "supports: ok (K % (2 · 32) = 0 or parts that one main loop fits, K / k_batch ≥ 16)",
        ),
    ],
)
def test_what_an_instance_asks(k_batch: int, asked: dict[str, int], said: str, tmp_path: Path) -> None:
    """`splitK` of the module is log2 of the splits."""
    lines = [row(64, SMALL_M, splitK=k_batch, K=8192)]
    plan = plan_of(write_table(tmp_path / "a8w8_blockscale.csv", lines), targets=TARGETS[:1])
    neutral = {"m_multiple": 1, "n_multiple": 1, "k_multiple": 1, "k_multiple_per_split": 0, "min_k": 0,
               "split_grain": 0, "max_k_batch": 4}  # fmt: skip
    units = tuple(
        replace(unit, instances=tuple(
            replace(one, constraints=replace(one.constraints, **neutral | asked)) for one in unit.instances
        ))
        for unit in plan.units
    )  # fmt: skip
    changed = replace(plan, units=units)
    steps = trail(query(changed, TARGETS[0], "a8w8_blockscale", 64, 512, 8192), place).steps
    (taken,) = (step for step in steps if step.status.value == "taken")
    assert taken.detail[-1] == said


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, ""),
        ({"pad_q": False, "m0": 2}, ", seqlen_q % 2 = 0"),
        ({"pad_k": False, "n0": 2}, ", seqlen_k % 2 = 0"),
        ({"page_multiple": 2}, ", page_size % 2 = 0"),
        ({"rotary_multiple": 4}, ", rotary_dim % 4 = 0"),
        ({"max_rows": 4096}, ", seqlen_q ≤ 4096"),
        ({"max_group": 4}, ", heads_q ≤ 4 heads_k"),
        ({"max_page": 64}, ", page_size ≤ 64"),
        ({"needs_keys": True}, ", keys ≥ 1"),
        ({"needs_finite": True}, ", finite pages"),
        ({"causal_only": True}, ", causal"),
        ({"topleft_only": True}, ", causal from the first key"),
        ({"takes_gaps_q": False}, ", no gaps in Q"),
        ({"topleft_slopes": False}, ", slopes to the last key"),
        ({"unordered_dq": True, "n0": 64}, ", deterministic: seqlen_k ≤ 128"),
        ({"max_keys": 4096}, ", seqlen_k ≤ 4096"),
        ({"cache_limit": 2**40}, f", cache ≤ {2**40} elements"),
        ({"last_resort": True}, ", where no other does"),
    ],
)
def test_what_an_instance_of_attention_asks(attention: GenerationPlan, asked: dict[str, int], said: str) -> None:
    constraints = replace(PLAIN, **asked)  # type: ignore[arg-type]
    units = tuple(
        replace(
            unit,
            instances=tuple(replace(one, constraints=constraints) for one in unit.instances[:1]),
            tables=(),
            defaults={"gfx942": (0,)},
        )
        for unit in attention.units
    )
    shape, plan = replace(SIZES, finite_kv=True), replace(attention, units=units)
    found = FmhaQuery(plan, TARGETS[0], parse_fmha("fmha_bf16_masked"), shape)
    (taken,) = (step for step in trail(found, str).steps if step.status.value == "taken")
    assert taken.detail[-1] == f"supports: ok (hdim_q ≤ 128, hdim_q % 8 = 0, hdim_v = 128{said})"


PLAIN = FmhaConstraints(128, 128, 32, 128, 32, 128, 128, pad_q=True, pad_k=True, d_multiple=8, dv_multiple=0)
