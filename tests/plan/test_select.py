from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckgen.families.common.policy import MPolicy
from ckgen.families.gemm.asm_kernels import asm_kernels
from ckgen.model.selection import Tier, Wishes
from ckgen.model.target import Target
from ckgen.plan.model import GenerationPlan
from ckgen.plan.options import PlanOptions
from ckgen.plan.select import Selection, select, walk
from plan_support import (
    GFX942,
    GFX942_80,
    GFX950,
    LARGE,
    MIDDLE,
    REAL_TARGETS,
    SMALL_M,
    plan_of,
    query,
    real_plan,
    row,
    without_rules,
    write_table,
)

BLOCK_SCALE = "a8w8_blockscale"


def ask(
    plan: GenerationPlan, m: int, n: int = 512, k: int = 1024, target: Target = GFX942, **more: object
) -> Selection:
    return select(query(plan, target, BLOCK_SCALE, m, n, k, **more))  # type: ignore[arg-type]


@pytest.fixture
def ladder(tmp_path: Path) -> GenerationPlan:
    """Measured at 16, 64 and 4096, each with a kernel of its own; another shape at 304 and at 80 CUs."""
    rows = [row(16, SMALL_M), row(64, MIDDLE), row(4096), row(64, MIDDLE, N=768, cu_num=80)]
    return plan_of(write_table(tmp_path / "a8w8_blockscale.csv", rows), targets=(GFX942_80, GFX942))


@pytest.mark.parametrize(
    ("m", "tier", "kernel"),
    [
        (16, Tier.EXACT, SMALL_M),
        (1, Tier.NEAR, SMALL_M),
        (15, Tier.NEAR, SMALL_M),
        (64, Tier.EXACT, MIDDLE),
        (63, Tier.NEAR, MIDDLE),
        (32, Tier.NEAR, MIDDLE),
        (2048, Tier.NEAR, LARGE),
        (4095, Tier.NEAR, LARGE),
        (4096, Tier.EXACT, LARGE),
    ],
)
def test_m_rounds_up_within_the_gap(ladder: GenerationPlan, m: int, tier: Tier, kernel: str) -> None:
    found = ask(ladder, m)
    assert (found.tier, found.instance and found.instance.table_kernel) == (tier, kernel)


@pytest.mark.parametrize("m", [17, 31, 65, 2047, 4097, 100_000])
def test_beyond_the_gap_a_confident_heuristic_comes_first(ladder: GenerationPlan, m: int) -> None:
    assert ask(ladder, m).tier is Tier.HEURISTIC


def test_far_takes_the_nearer_side_in_ratio(tmp_path: Path) -> None:
    rows = [row(16, SMALL_M, gfx="gfx950", cu_num=256), row(1024, LARGE, gfx="gfx950", cu_num=256)]
    plan = without_rules(plan_of(write_table(tmp_path / "a8w8_blockscale.csv", rows), targets=(GFX950,)))
    answers = {m: ask(plan, m, target=GFX950) for m in (127, 128, 129, 511, 512, 5000)}
    assert {m: (a.tier, a.row and a.row.shape.m) for m, a in answers.items()} == {
        127: (Tier.FAR, 16),
        128: (Tier.FAR, 1024),
        129: (Tier.FAR, 1024),
        511: (Tier.FAR, 1024),
        512: (Tier.NEAR, 1024),
        5000: (Tier.FAR, 1024),
    }


def test_another_cu_count_lends_its_tile(tmp_path: Path) -> None:
    rows = [row(64, MIDDLE, gfx="gfx950", cu_num=128, N=768)]
    table = write_table(tmp_path / "a8w8_blockscale.csv", rows)
    plan = without_rules(plan_of(table, targets=(Target("gfx950", 128), GFX950)))
    found = ask(plan, 60, 768, target=GFX950)
    assert found.tier is Tier.OTHER_CU and found.row is not None and found.row.target == Target("gfx950", 128)
    assert ask(plan, 60, 4096, target=GFX950).tier is Tier.DEFAULT


def others_tried(plan: GenerationPlan, cu_num: int, m: int = 64, k: int = 1024) -> list[tuple[int, int, int]]:
    """CU count, M and K splits of each rung of another count, in the order in which the walk tries them."""
    tried = walk(query(plan, Target("gfx950", cu_num), BLOCK_SCALE, m, 512, k))
    rungs = [(found.row, found.k_batch) for found in tried if found.tier is Tier.OTHER_CU]
    return [(source.target.cu_num, source.shape.m, k_batch) for source, k_batch in rungs if source is not None]


def test_other_cu_counts_are_tried_nearest_first_and_of_two_as_near_the_larger(tmp_path: Path) -> None:
    """The same lists are asserted of the C++ walk in dispatcher_cpp/tests/select/test_other_cu.cpp."""
    counts = (64, 96, 128, 160, 192)
    table = write_table(tmp_path / "a8w8_blockscale.csv", [row(64, MIDDLE, gfx="gfx950", cu_num=n) for n in counts])
    plan = plan_of(table, targets=tuple(Target("gfx950", count) for count in counts))
    expected = {
        128: [160, 96, 192, 64],
        144: [160, 128, 192, 96, 64],
        100: [96, 128, 64, 160, 192],
        32: [64, 96, 128, 160, 192],
        64: [96, 128, 160, 192],
        192: [160, 128, 96, 64],
        256: [192, 160, 128, 96, 64],
    }
    assert {own: [count for count, _, _ in others_tried(plan, own)] for own in expected} == expected


def test_a_table_of_another_cu_count_offers_its_near_rung_then_the_far_ones(tmp_path: Path) -> None:
    """The same lists are asserted of the C++ walk in dispatcher_cpp/tests/select/test_other_cu.cpp."""
    rows = [row(m, MIDDLE, gfx="gfx950", cu_num=128) for m in (16, 64, 4096)]
    plan = plan_of(write_table(tmp_path / "a8w8_blockscale.csv", rows), targets=(Target("gfx950", 128),))
    expected = {64: [64, 16], 60: [64, 16], 100: [64, 4096], 511: [64, 4096], 512: [4096, 64], 5000: [4096], 8: [16]}
    assert {m: [found for _, found, _ in others_tried(plan, 256, m)] for m in expected} == expected


def test_the_splits_of_another_cu_count_are_halved_until_the_kernel_takes_them(tmp_path: Path) -> None:
    """From 4, 4, 4 and 8, until each split has whole scale groups of 128, and more than 256 of K."""
    sizes = (1152, 1280, 1536, 2048)
    rows = [row(64, MIDDLE, gfx="gfx950", cu_num=128, K=k) for k in sizes]
    plan = plan_of(write_table(tmp_path / "a8w8_blockscale.csv", rows), targets=(Target("gfx950", 128),))
    assert [others_tried(plan, 256, k=k) for k in sizes] == [[(128, 64, splits)] for splits in (1, 2, 4, 4)]


def test_an_external_row_is_named_and_never_blocks_a_neighbour(tmp_path: Path) -> None:
    asm = {"libtype": "asm", "kernelName": "_ZN5aiter3fooE", "gfx": "gfx950", "cu_num": 256}
    rows = [row(32, **asm), row(64, MIDDLE, gfx="gfx950", cu_num=256), row(8192, **asm)]
    plan = without_rules(plan_of(write_table(tmp_path / "a8w8_blockscale.csv", rows), targets=(GFX950,)))
    exact, between, beyond = (ask(plan, m, target=GFX950) for m in (32, 48, 8192))
    assert exact.external is not None and exact.external.name == "_ZN5aiter3fooE"
    assert (exact.tier, exact.winner and exact.winner.shape.m) == (Tier.NEAR, 32)
    assert between.external is None and between.tier is Tier.NEAR
    assert beyond.external is not None and beyond.tier is Tier.FAR


def test_illegal_problems_get_the_rule_and_its_numbers(ladder: GenerationPlan) -> None:
    found = ask(ladder, 16, 512, 2050)
    assert found.tier is Tier.UNSUPPORTED and found.instance is None
    assert found.reason == "K = 2050 is not a multiple of 128 (rule gemm.blockscale.k-group)"
    assert ask(ladder, 0).reason == "M = 0 is below 1 (rule gemm.shape.m)"


def test_a_deterministic_wish_refuses_atomic_splits_but_two(tmp_path: Path) -> None:
    """Two parts that are added to zero have one sum."""
    table = write_table(tmp_path / "a8w8_blockscale.csv", [row(16, SMALL_M, splitK=1), row(64, SMALL_M, splitK=2)])
    plan = plan_of(table)
    wishes = Wishes(deterministic=True)
    for wish in (Wishes(), wishes):
        assert (ask(plan, 16, wishes=wish).tier, ask(plan, 16, wishes=wish).k_batch) == (Tier.EXACT, 2)
    assert (ask(plan, 64).tier, ask(plan, 64).k_batch) == (Tier.EXACT, 4)
    wishing = ask(plan, 64, wishes=wishes)
    assert wishing.tier is not Tier.EXACT and wishing.k_batch == 1


def test_the_trail_names_each_rejected_candidate(tmp_path: Path) -> None:
    plan = plan_of(write_table(tmp_path / "a8w8_blockscale.csv", [row(16, SMALL_M, splitK=2)]))
    tried = list(walk(query(plan, GFX942, BLOCK_SCALE, 16, 512, 1024, wishes=Wishes(deterministic=True))))
    assert tried[0].tier is Tier.EXACT and tried[0].finding is not None
    assert tried[0].finding.rule == "gemm.instance.atomic-split"


def test_every_selected_real_row_answers_for_its_own_shape() -> None:
    plan = real_plan()
    for unit in plan.units:
        for table in unit.tables:
            for (n, k, batch), group in table.groups.items():
                for rung in (*group.runnable.rungs, *group.external.rungs):
                    for m in {rung.first, rung.last}:
                        asked = query(plan, table.target, unit.signature, m, n, k, batch=batch)
                        found, source = select(asked), group.rows[m]
                        if source.library in ("ck", "cktile") or source.kernel in asm_kernels():
                            assert found.tier is Tier.EXACT and found.row is source, (source.location, found)
                        else:
                            assert found.winner is source and found.external is not None


REACHED = 2**31
"""Elements of an operand that every kernel's 32-bit offsets reach; beyond, the peer's kernels read elsewhere."""


def test_every_m_that_aiter_answers_from_our_kernels_is_answered_no_later_than_far() -> None:
    plan = real_plan()
    late = {Tier.OTHER_CU, Tier.DEFAULT, Tier.UNSUPPORTED}
    sizes = [*range(1, 70), *range(70, 1100, 61), *range(1100, 40_000, 1777), 100_000]
    for unit in plan.units:
        if unit.module not in ("a8w8_bpreshuffle", "a8w8_blockscale_bpreshuffle", "a8w8", "a4w4_blockscale"):
            continue
        for table in unit.tables:
            for (n, k, batch), group in list(table.groups.items())[::3]:
                for m in sizes:
                    peer = next((group.rows[p] for p in aiter_sizes(unit.module, m, n) if p in group.rows), None)
                    if peer is None:
                        continue
                    found = select(query(plan, table.target, unit.signature, m, n, k, batch=batch))
                    if peer.library in ("ck", "cktile") and max(m, n) * k < REACHED:
                        assert found.tier not in late, (unit.name, m, n, k, found)


def aiter_sizes(module: str, m: int, n: int) -> list[int]:
    """Transcribed from the peer's documented rounding, independently of modules.json."""

    def gl0() -> int:
        step = 16 if m <= 256 else 32 if m <= 1024 else 64 if m <= 4096 else 128
        return (m + step - 1) // step * step

    def power() -> int:
        size = 1
        while size < m:
            size *= 2
        return size

    if module in ("a8w8", "batched_a8w8", "batched_bf16"):
        if 2 <= m <= 16:
            return [m, 16]
        return [m, power()] if m <= 16_384 else [m, 20_480] if m <= 20_480 else [m]
    return [m, gl0(), 8192 if m > 8192 and n > 4096 else power()]


@given(st.data())
def test_the_aiter_policy_takes_the_row_that_aiter_takes(data: st.DataObject) -> None:
    plan = aiter_plan()
    unit = data.draw(st.sampled_from([unit for unit in plan.units if unit.tables]))
    table = data.draw(st.sampled_from(unit.tables))
    n, k, batch = data.draw(st.sampled_from(sorted(table.groups)))
    m = data.draw(st.integers(1, 100_000) | st.integers(1, 600))
    group = table.groups[n, k, batch]
    expected = next((group.rows[size] for size in aiter_sizes(unit.module, m, n) if size in group.rows), None)
    found = select(query(plan, table.target, unit.signature, m, n, k, batch=batch))
    if expected is not None:
        assert found.winner is expected
        if expected.library in ("ck", "cktile") and found.tier in (Tier.EXACT, Tier.NEAR):
            assert found.row is expected


_AITER_PLANS: list[GenerationPlan] = []


def aiter_plan() -> GenerationPlan:
    if not _AITER_PLANS:
        from ckgen.plan.planner import make_plan
        from ckgen.specs.archs import load_archs
        from plan_support import REAL_TABLES

        options = PlanOptions(targets=REAL_TARGETS, tuning=(REAL_TABLES,), m_policy=MPolicy.AITER)
        _AITER_PLANS.append(make_plan(options, load_archs()))
    return _AITER_PLANS[0]
