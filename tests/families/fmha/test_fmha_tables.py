"""Measured attention: what becomes of each row, what a plan makes of them, and which one answers a problem."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckgen.emit.render import render
from ckgen.families.fmha.enums import FmhaEntry, FmhaTraits
from ckgen.families.fmha.measured import FmhaRung, FmhaTable, fmha_key
from ckgen.families.fmha.query import FmhaQuery
from ckgen.families.fmha.signature import parse_canonical
from ckgen.model.diagnostic import Location, Severity
from ckgen.model.fmha_row import FmhaRow
from ckgen.model.fmha_shape import FmhaShape
from ckgen.model.selection import Tier
from ckgen.model.target import Target
from ckgen.plan.model import GenerationPlan
from ckgen.plan.profile_file import profile_file
from ckgen.plan.registry_document import registry_text
from ckgen.plan.registry_read import read_registry
from ckgen.plan.select import Selection, select
from ckgen.plan.trail import trail
from ckgen.specs.archs import load_archs
from plan_support import plan_of, told

GFX942 = Target("gfx942", 304)
HEADER = "gfx,cu_num,batch,heads_q,heads_k,seqlen_q,seqlen_k,hdim_q,hdim_v,mask,page_size,splitK,us,kernelName"
DECODE = "fmha_bf16_blocktable_hip_decode_16x128_128x128"
TILE = "fmha_bf16_masked_ck_tile_qr_async_pad1011_128x128x32x128x32x128_4x1x1_32x32x16"
RARE = "fmha_bf16_masked_ck_tile_qr_pad1111_128x128x32x128x32x128_4x1x1_32x32x16"


def rows(folder: Path, *lines: str, name: str = "attention.csv") -> Path:
    (folder / name).write_text("\n".join((HEADER, *lines, "")))
    return folder / name


def paged(seqlen_k: int = 4096, *, target: str = "gfx942,304", us: str = "21.5", splits: str = "7") -> str:
    return f"{target},8,32,8,1,{seqlen_k},128,128,none,16,{splits},{us},{DECODE}"


def causal(kernel: str = TILE, *, length: int = 4096, us: str = "2000", mask: str = "b:-1:0") -> str:
    return f"gfx942,304,1,32,8,{length},{length},128,128,{mask},,,{us},{kernel}"


def planned(*tables: Path, **options: object) -> GenerationPlan:
    return plan_of(*tables, targets=(GFX942,), ops=frozenset({"fmha"}), **options)


def asked(plan: GenerationPlan, signature: str, **sizes: int) -> FmhaQuery:
    usual = FmhaShape(heads_q=32, heads_k=8, hdim_q=128, hdim_v=128)
    return FmhaQuery(plan, GFX942, parse_canonical(signature), replace(usual, **sizes))


def chosen(plan: GenerationPlan, signature: str, **sizes: int) -> Selection:
    return select(asked(plan, signature, **sizes))


def test_a_measured_row_comes_before_what_costs_least(tmp_path: Path) -> None:
    plan = planned(rows(tmp_path, paged(), paged(512, splits="")))
    assert not plan.diagnostics and plan.selected == {GFX942: 2}
    of_decode = {"batch": 8, "seqlen_q": 1, "page_size": 16}
    exact = chosen(plan, "fmha_bf16_blocktable", seqlen_k=4096, **of_decode)
    assert (exact.tier, exact.k_batch) == (Tier.EXACT, 7) and exact.instance is not None
    assert exact.instance.name == DECODE
    near = chosen(plan, "fmha_bf16_blocktable", seqlen_k=2048, **of_decode)
    assert (near.tier, near.k_batch) == (Tier.NEAR, 7)
    cheapest = chosen(planned(), "fmha_bf16_blocktable", seqlen_k=512, **of_decode)
    unsaid = chosen(plan, "fmha_bf16_blocktable", seqlen_k=512, **of_decode)
    assert (unsaid.tier, unsaid.k_batch) == (Tier.EXACT, cheapest.k_batch) and cheapest.tier is Tier.DEFAULT
    beyond = chosen(plan, "fmha_bf16_blocktable", seqlen_k=2047, **of_decode)
    assert beyond.tier is Tier.DEFAULT


def test_the_trail_says_where_a_row_stands(tmp_path: Path) -> None:
    plan = planned(rows(tmp_path, causal()))
    query = asked(plan, "fmha_bf16_masked", seqlen_q=4096, seqlen_k=4096)
    text = trail(query, lambda row: f"attention.csv:{row.location.line}").text()
    assert f"  exact      ✔ seqlen_k=4096 → {TILE}   k_batch 1\n" in text
    assert "               attention.csv:2  2000 us measured at seqlen_k=4096\n" in text
    other = asked(plan, "fmha_bf16_masked", batch=3, seqlen_q=4096, seqlen_k=4096)
    text = trail(other, lambda row: "").text()
    assert "exact        no row for these sizes" in text and "near         no row for lengths near these" in text
    assert "far          not asked of attention" in text and "other_cu     not asked of attention" in text


def test_a_row_brings_its_kernel_which_is_no_default(tmp_path: Path) -> None:
    plan = planned(rows(tmp_path, causal(RARE)), profiles=(profile_file(Path("fp8")),))
    assert [fate.kind.value for fate in plan.fates] == ["left_out"] and plan.fates[0].reason == "not in fp8"
    plan = planned(rows(tmp_path, causal(RARE)), kernels=frozenset({"qr_pad1111_128x128x32x128x32x128*"}))
    unit = plan.unit(parse_canonical("fmha_bf16_masked"))
    assert unit is not None and RARE in [instance.name for instance in unit.instances]
    assert chosen(plan, "fmha_bf16_masked", seqlen_q=4096, seqlen_k=4096).tier is Tier.EXACT
    (text,) = (text for path, text in render(plan, "k").items() if path == "fmha_bf16_masked/unit.cpp")
    assert "fmha_table(ckgen::Arch::gfx942, 304, 16, 2, gfx942_304_rungs)" in text
    number = RARE.removeprefix("fmha_bf16_masked_")
    mask = "mask(ckgen::FmhaCorner::bottom_right, -1, 0, 0)"
    problem = f"batch(1).heads(32, 8).hdims(128, 128).{mask}"
    assert f"    fmha_rung(4096, 4096, {number}, k_batch(0)).{problem},\n" in text
    file = tmp_path / "registry.json"
    file.write_text(registry_text(plan))
    again = read_registry(file, load_archs())
    assert told(again) == told(plan) and render(again, "k") == render(plan, "k")


@pytest.mark.parametrize(
    ("line", "fate", "reason"),
    [
        (paged(), "selected", ""),
        (paged(target="gfx942,80"), "other_target", "gfx942:80"),
        (paged(us="0"), "refused_measurement", "us = 0"),
        (paged(us="nan"), "refused_measurement", "us = nan"),
        (causal(us="20"), "refused_measurement", "times the peak rate"),
        (paged(splits="65535"), "unavailable", "(rule fmha.instance.splits)"),
        (paged().replace(",32,8,", ",32,5,"), "unavailable", "(rule fmha.shape.head-groups)"),
        (paged().replace(",16,7,", ",4096,7,"), "unavailable", "(rule fmha.shape.page-size)"),
        (causal(TILE.replace("128x128x32x128", "128x100x32x128")), "unavailable", "ck_tile.fmha"),
    ],
)
def test_fates(tmp_path: Path, line: str, fate: str, reason: str) -> None:
    plan = planned(rows(tmp_path, line))
    (found,) = plan.fates
    assert found.kind.value == fate and reason in found.reason
    said = {"unavailable": ["P002"], "refused_measurement": ["P003"]}.get(fate, [])
    assert [one.code for one in plan.diagnostics] == said
    (report,) = plan.reports
    assert (report.rows, Counter(report.fates)) == (1, {found.kind: 1})


@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        (causal("fmha_bf16_nonsense"), "T012", "kernel name does not parse: 'fmha_bf16_nonsense'"),
        (causal(mask="none"), "T015", "the kernel has a mask, the row none"),
        (paged().replace("none", "b:-1:0"), "T015", "the row has a mask, the kernel none"),
        (paged().replace(",16,7,", ",,7,"), "T015", "page_size goes with blocktable and pagelist"),
        (
            causal("fmha_bf16_append_hip_append_16", mask="none"),
            "T015",
            "forward and backward, not of append",
        ),
    ],
)
def test_rows_that_mean_nothing(tmp_path: Path, line: str, code: str, says: str) -> None:
    plan = planned(rows(tmp_path, line))
    (problem,) = plan.diagnostics
    assert problem.code == code and says in problem.message
    assert problem.location == Location(str(tmp_path / "attention.csv"), 2)
    assert [(fate.kind.value, fate.reason) for fate in plan.fates] == [("invalid", code)]


BACKWARD = "fmha_bf16_bwd_masked_host_64x192_t0"
V3 = Target("x86_64_v3", 2)


def directed(kernel: str, direction: str | None) -> str:
    column = "" if direction is None else ",direction"
    cell = "" if direction is None else f",{direction}"
    return f"{HEADER}{column}\nx86_64_v3,2,1,8,2,256,256,64,64,b:-1:0,,1,900,{kernel}{cell}\n"


def test_a_row_of_backward_says_its_direction_and_answers_exactly(tmp_path: Path) -> None:
    table = tmp_path / "bwd.csv"
    table.write_text(directed(BACKWARD, "bwd"))
    plan = plan_of(table, targets=(V3,), ops=frozenset({"fmha"}))
    assert not plan.diagnostics and plan.selected == {V3: 1}
    shape = FmhaShape(heads_q=8, heads_k=2, seqlen_q=256, seqlen_k=256, hdim_q=64, hdim_v=64)
    found = select(FmhaQuery(plan, V3, parse_canonical("fmha_bf16_bwd_masked"), shape))
    assert found.tier is Tier.EXACT and found.instance is not None and found.instance.name == BACKWARD
    assert select(FmhaQuery(plan, V3, parse_canonical("fmha_bf16_masked"), shape)).tier is Tier.DEFAULT
    (text,) = (text for path, text in render(plan, "k").items() if path == "fmha_bf16_bwd_masked/unit.cpp")
    assert "fmha_rung(256, 256, " in text


def test_what_a_tune_writes_of_backward_answers_exactly(tmp_path: Path) -> None:
    """A line as `ckgen tune fmha` writes it: the signature says the direction."""
    table = tmp_path / "tuned.csv"
    measured = "kernelName,splitK,us,spread,runs,tried,device,driver,tool,date"
    head = f"gfx,cu_num,signature,B,M,N,K,experts,top_k,sizes,{measured}"
    sizes = "batch=1 heads_q=8 heads_k=2 seqlen_q=256 seqlen_k=256 hdim_q=64 hdim_v=64 mask=b:-1;0"
    rest = f"{sizes},{BACKWARD.replace('64x128', '128x64')},1,900,1%,9,2,,,,"
    table.write_text(f"{head}\nx86_64_v3,2,fmha_bf16_bwd_masked,0,0,0,0,0,0,{rest}\n")
    plan = plan_of(table, targets=(V3,), ops=frozenset({"fmha"}))
    assert not plan.diagnostics and plan.selected == {V3: 1}
    shape = FmhaShape(heads_q=8, heads_k=2, seqlen_q=256, seqlen_k=256, hdim_q=64, hdim_v=64)
    found = select(FmhaQuery(plan, V3, parse_canonical("fmha_bf16_bwd_masked"), shape))
    assert found.tier is Tier.EXACT and found.instance is not None
    assert found.instance.name == BACKWARD.replace("64x128", "128x64")


@pytest.mark.parametrize(
    ("kernel", "direction", "says"),
    [
        (BACKWARD, None, "the kernel is of direction bwd, the row of fwd"),
        (BACKWARD, "", "the kernel is of direction bwd, the row of fwd"),
        (BACKWARD.replace("_bwd", ""), "bwd", "the kernel is of direction fwd, the row of bwd"),
        (BACKWARD, "back", "direction 'back' is not a known value"),
    ],
)
def test_a_direction_is_that_of_the_kernel(tmp_path: Path, kernel: str, direction: str | None, says: str) -> None:
    table = tmp_path / "bwd.csv"
    table.write_text(directed(kernel, direction))
    (problem,) = plan_of(table, targets=(V3,), ops=frozenset({"fmha"})).diagnostics
    assert problem.code == ("T006" if direction == "back" else "T015") and says in problem.message


def test_rows_of_one_key(tmp_path: Path) -> None:
    plan = planned(rows(tmp_path, paged(), paged(us="30")))
    assert [fate.kind.value for fate in plan.fates] == ["selected", "duplicate_identical"]
    plan = planned(rows(tmp_path, paged(), paged(splits="9")))
    assert [problem.code for problem in plan.diagnostics] == ["T007"]
    assert {fate.kind.value for fate in plan.fates} == {"invalid"}
    later = rows(tmp_path, paged(splits="9"), name="later.csv")
    plan = planned(rows(tmp_path, paged()), later)
    assert [fate.kind.value for fate in plan.fates] == ["overridden", "selected"]
    assert [(one.code, one.severity) for one in plan.diagnostics] == [("P001", Severity.NOTE)]
    (strict,) = planned(tmp_path / "attention.csv", later, strict_layers=True).diagnostics
    assert (strict.code, strict.severity, strict.location) == ("P001", Severity.ERROR, plan.diagnostics[0].location)
    found = chosen(plan, "fmha_bf16_blocktable", batch=8, seqlen_q=1, seqlen_k=4096, page_size=16)
    assert (found.tier, found.k_batch) == (Tier.EXACT, 9)


def test_a_row_that_is_not_believed_gives_way(tmp_path: Path) -> None:
    later = rows(tmp_path, paged(us="0", splits="9"), name="later.csv")
    plan = planned(rows(tmp_path, paged()), later)
    assert [fate.kind.value for fate in plan.fates] == ["selected", "refused_measurement"]


LENGTHS = st.integers(1, 300)
PAIRS = st.lists(st.tuples(LENGTHS, LENGTHS), min_size=1, max_size=30, unique=True)


@given(PAIRS, LENGTHS, LENGTHS)
def test_the_row_is_the_first_near_one(pairs: list[tuple[int, int]], seqlen_q: int, seqlen_k: int) -> None:
    traits = FmhaTraits()
    context = FmhaShape(heads_q=8, heads_k=8, hdim_q=64, hdim_v=64)
    rungs = []
    for q, k in sorted(pairs):
        shape = replace(context, seqlen_q=q, seqlen_k=k)
        row = FmhaRow(Location("t", 1), 0, GFX942, FmhaEntry.FORWARD, shape, False, "k", None, None)
        rungs.append(FmhaRung(fmha_key(traits, shape), 0, None, row))
    found = FmhaTable(GFX942, tuple(rungs)).find(traits, replace(context, seqlen_q=seqlen_q, seqlen_k=seqlen_k))
    near = [
        (q, k)
        for q, k in sorted(pairs)
        if seqlen_q <= q <= max(seqlen_q + 16, 2 * seqlen_q) and seqlen_k <= k <= max(seqlen_k + 16, 2 * seqlen_k)
    ]
    assert (found.key[-2:] if found is not None else None) == (near[0] if near else None)
    if (seqlen_q, seqlen_k) in pairs:
        assert found is not None and found.key[-2:] == (seqlen_q, seqlen_k)
        assert bisect_left(sorted(pairs), (seqlen_q, seqlen_k)) == rungs.index(found)
