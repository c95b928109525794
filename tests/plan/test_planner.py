from __future__ import annotations

from collections import Counter

import pytest

from ckgen.families.gemm.signature import parse_signature
from ckgen.model.dtype import DType, Fp8Flavour
from ckgen.model.selection import Tier
from ckgen.model.tuned_row import Shape
from ckgen.plan.planner import has_errors
from ckgen.plan.select import select
from plan_support import (
    GFX942,
    GFX942_80,
    GFX950,
    LARGE,
    MIDDLE,
    REAL_TABLES,
    REAL_TARGETS,
    SMALL_M,
    fate_words,
    plan_of,
    query,
    real_plan,
    row,
    write_table,
)


def test_the_real_tables_end_as_counted() -> None:
    plan = real_plan()
    assert fate_words(plan) == {
        "selected": 43_166,
        "external": 1_964,
        "other_target": 282,
        "unavailable": 35,
        "refused_measurement": 48,
        "other_op": 1_900,
        "shape_list": 5_912,
        "unknown_table": 384,
    }
    assert sum(fate_words(plan).values()) == sum(report.rows for report in plan.reports) == 53_691
    assert len(plan.reports) == 102 and not has_errors(plan)


def test_every_file_s_fates_sum_to_its_rows() -> None:
    assert all(sum(report.fates.values()) == report.rows for report in real_plan().reports)


def test_the_real_rows_that_beat_the_peak_are_named_with_their_share() -> None:
    beaten = [fate for fate in real_plan().fates if "times the peak rate" in fate.reason]
    assert len(beaten) == 16
    assert all(float(fate.reason.split()[0]) > 1 for fate in beaten)


def test_external_rows_of_the_real_tables_by_library() -> None:
    libraries = Counter(fate.reason for fate in real_plan().fates if fate.kind.value == "external")
    assert libraries == {"asm": 861, "flydsl": 782, "opus": 137, "triton": 98, "torch": 71, "skinny": 15}


def test_the_union_over_targets_is_the_sum_of_single_target_runs() -> None:
    union = real_plan()
    singles = [plan_of(REAL_TABLES, targets=(target,)) for target in REAL_TARGETS]
    assert union.selected == {
        target: single.selected[target] for target, single in zip(REAL_TARGETS, singles, strict=True)
    }
    for unit in union.units:
        archs_of = {instance.name: set(instance.archs) for instance in unit.instances}
        found: dict[str, set[str]] = {}
        for single in singles:
            same = single.unit(unit.signature)
            for instance in same.instances if same else ():
                found.setdefault(instance.name, set()).update(instance.archs)
        assert found == archs_of


def test_rows_of_other_archs_are_counted_where_only_answers_are_asked() -> None:
    whole, asked = (plan_of(REAL_TABLES, targets=(GFX950,), every_row=every_row) for every_row in (True, False))
    assert 0 < len(asked.fates) < len(whole.fates)
    assert (asked.units, asked.reports, asked.selected) == (whole.units, whole.reports, whole.selected)


def test_names_and_ids_are_injective_over_all_units() -> None:
    instances = real_plan().instances
    assert len({i.name for i in instances}) == len({i.id for i in instances}) == len(instances)


def test_what_a_tier_can_return_is_built() -> None:
    for unit in real_plan().units:
        indices = {choice.instance for table in unit.tables for choice in table.choices}
        indices |= {leaf for heuristic in unit.heuristics for leaf in heuristic.leaves}
        indices |= {index for of_arch in unit.defaults.values() for index in of_arch}
        assert indices <= set(range(len(unit.instances)))
        for table in unit.tables:
            assert all(table.target.gfx in unit.instances[choice.instance].archs for choice in table.choices)


def test_each_dtype_of_a_shape_keeps_its_own_winner() -> None:
    """AITER's C++ key lacks the weight dtype: 42 shapes of its a8w8 table have two rows, 24 with different winners."""
    plan = real_plan()
    rows = [line for file in plan.files for line in file.rows if file.module == "a8w8" and line.target == GFX950]
    kernels: dict[Shape, dict[DType | None, str]] = {}
    for line in rows:
        kernels.setdefault(line.shape, {})[line.discriminators.weight_dtype] = line.kernel
    shared = {shape: both for shape, both in kernels.items() if len(both) == 2}
    assert len(shared) == 42
    assert sum(len(set(both.values())) == 2 for both in shared.values()) == 24

    answered = 0
    for shape, both in shared.items():
        for dtype, kernel in both.items():
            found = select(query(plan, GFX950, f"a8w8:{dtype}", shape.m, shape.n, shape.k))
            if found.tier is Tier.EXACT:
                assert found.instance is not None and found.instance.table_kernel == kernel
                answered += 1
    assert answered == 2 * 42 - 8  # 8 int8 rows have an error ratio that is refused


def test_a_table_without_an_out_dtype_answers_for_bf16_and_fp16() -> None:
    plan = real_plan()
    for out in ("bf16", "fp16"):
        unit = plan.unit(parse_signature(f"a8w8_blockscale:{out}", Fp8Flavour.FNUZ))
        table = unit.table(GFX942) if unit else None
        assert table is not None
        assert sum(len(group.rows) for group in table.groups.values()) == 21_904


def test_a_decision_rule_serves_only_the_flavour_of_its_arch() -> None:
    served = {"gfx942": "fp8_fnuz", "gfx950": "fp8_ocp"}
    ruled = [(unit.signature, one.arch) for unit in real_plan().units for one in unit.heuristics]
    floats = [(signature, arch) for signature, arch in ruled if signature.a.value.startswith("fp8")]
    assert {arch for _, arch in floats} == served.keys()
    assert all(served[arch] == signature.a.value == signature.b.value for signature, arch in floats)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 0, 2), (2, 3, 1, 0)])
def test_the_order_of_rows_and_targets_changes_nothing(tmp_path, order) -> None:  # type: ignore[no-untyped-def]
    lines = [row(16, SMALL_M), row(32, MIDDLE), row(64), row(128, LARGE, N=1024)]
    table = write_table(tmp_path / "a8w8_blockscale.csv", [lines[index] for index in order])
    targets = (GFX942_80, GFX942) if order[0] else (GFX942, GFX942_80)
    plan = plan_of(table, targets=tuple(sorted(targets)))
    tables = [
        (unit.name, t.target, t.choices, {key: (g.runnable, g.external) for key, g in t.groups.items()})
        for unit in plan.units
        for t in unit.tables
    ]
    reference = plan_of(write_table(tmp_path / "ref" / "a8w8_blockscale.csv", lines), targets=(GFX942_80, GFX942))
    assert tables == [
        (unit.name, t.target, t.choices, {key: (g.runnable, g.external) for key, g in t.groups.items()})
        for unit in reference.units
        for t in unit.tables
    ]
    assert plan.units[0].instances == reference.units[0].instances


def test_selected_rows_by_module_library_and_target() -> None:
    """As counted in the shipped tables, but for 16 rows of gfx942:80 that beat the peak, and one of asm.

    That one's N ends within a tile, beyond which the code object of that name in the wheel writes.
    """
    plan = real_plan()
    chosen = {fate.location for fate in plan.fates if fate.kind.value == "selected"}
    counts = Counter(
        (line.module, line.library, str(line.target))
        for file in plan.files
        for line in file.rows
        if line.location in chosen
    )
    assert counts == {
        ("a4w4_blockscale", "asm", "gfx950:256"): 1_382 - 1,
        ("a8w8_blockscale", "ck", "gfx942:304"): 21_904,
        ("a8w8_blockscale", "ck", "gfx950:256"): 14_869,
        ("a8w8_blockscale", "cktile", "gfx950:256"): 643,
        ("a8w8_bpreshuffle", "ck", "gfx942:80"): 1_465 - 6,
        ("a8w8_bpreshuffle", "ck", "gfx950:256"): 232,
        ("a8w8_bpreshuffle", "cktile", "gfx942:80"): 63,
        ("a8w8_bpreshuffle", "cktile", "gfx950:256"): 174,
        ("a8w8_blockscale_bpreshuffle", "ck", "gfx942:80"): 353 - 10,
        ("a8w8_blockscale_bpreshuffle", "ck", "gfx950:256"): 1_262,
        ("a8w8_blockscale_bpreshuffle", "cktile", "gfx950:256"): 104,
        ("a8w8", "ck", "gfx942:80"): 26,
        ("a8w8", "ck", "gfx950:256"): 536,
        ("a4w4_blockscale", "ck", "gfx950:256"): 118,
        ("batched_a8w8", "ck", "gfx942:304"): 25,
        ("batched_a8w8", "ck", "gfx942:80"): 1,
        ("batched_bf16", "ck", "gfx942:304"): 26,
    }
