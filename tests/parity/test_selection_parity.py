"""Python's walk and C++'s over the same library: instance, k_batch, tier, external winner and reason must be equal."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence

import pytest
from parity_support import BUILT, Parity

from ckgen.families.common.unit import UnitPlan
from ckgen.families.gemm.query import GemmQuery
from ckgen.model.selection import Wishes
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.plan.select import select

pytestmark = [pytest.mark.cpp, pytest.mark.slow]

RANDOM_SHAPES = 50_000


def test_every_instance_is_there_under_its_name_and_id(parity: Parity) -> None:
    infos = {info.name: info for info in parity.dispatcher.instances()}
    planned = {instance.name: instance for instance in parity.plan.instances}
    assert infos.keys() == planned.keys()
    for name, instance in planned.items():
        info = infos[name]
        assert (info.id, info.signature) == (instance.id, instance.signature.canonical())
        assert (info.backend, info.table_kernel) == (instance.backend.value, instance.table_kernel)
        assert info.tile == (instance.config.macro_tile.m, instance.config.macro_tile.n, instance.config.macro_tile.k)
        assert info.max_k_batch == instance.constraints.max_k_batch and info.has_twin and not info.has_device


def test_every_row_of_the_real_tables(parity: Parity) -> None:
    compared = 0
    for unit in parity.plan.units:
        if unit.signature.c.value == "fp16" and unit.signature.a.value != "fp16":
            continue  # the same rows as bf16; its tables are compared by the random shapes
        for table in unit.tables:
            shapes = [Shape(b, m, n, k) for (n, k, b), group in table.groups.items() for m in group.rows]
            compared += parity.compare(unit, table.target, shapes)
    assert compared >= 41_785 + 3_000


def test_random_shapes_on_all_targets(parity: Parity) -> None:
    random.seed(7)
    units = parity.plan.units
    each = RANDOM_SHAPES // (len(units) * len(BUILT)) + 1
    compared = 0
    for unit in units:
        known = _known(unit)
        for target in BUILT:
            compared += parity.compare(unit, target, list(_shapes(unit, known, each)))
    assert compared >= RANDOM_SHAPES


def test_selections_in_one_order_of_additions(parity: Parity) -> None:
    """Every target and unit; of each ladder that was drawn all M are in one order, with as many splits."""
    random.seed(8)
    wishes = Wishes(batch_invariant=True)
    compared = answered = 0
    for unit in parity.plan.units:
        known = _known(unit)
        for target in random.sample(BUILT, 2):
            compared += parity.compare(unit, target, list(_shapes(unit, known, 8)), wishes)
            n, k, batch, _ = random.choice(known) if known else _untuned(unit)
            shapes = [Shape(batch, m, n, k) for m in (1, 2, 17, 33, 128, 257, 1024)]
            compared += parity.compare(unit, target, shapes, wishes)
            found = [select(GemmQuery(parity.plan, target, unit.signature, shape, wishes)) for shape in shapes]
            orders = {one.instance.order_in(one.k_batch) for one in found if one.instance is not None}
            assert len(orders) <= 1, (unit.name, str(target), shapes[0])
            answered += len(orders)
    assert compared > 1_000 and answered > 60


def test_few_rows_of_mxfp8(parity: Parity) -> None:
    """Every M to 17 and about what tables alone choose; shapes with and without rows, on CU counts of both kinds."""
    (unit,) = (one for one in parity.plan.units if one.name == "gemm_fp8_ocp_bf16_rcr_mx")
    sizes = ((6144, 2304), (2048, 6144), (6144, 9216), (512, 40), (96, 40), (48, 40), (4096, 2**19), (4096, 2**19 + 1))
    shapes = [Shape(0, m, n, k) for k, n in sizes for m in (*range(1, 18), 31, 32, 33, 48, 63, 64, 65, 128)]
    for target in (Target("gfx950", 256), Target("gfx950", 128)):
        parity.compare(unit, target, shapes)


_Ladder = tuple[int, int, int, Sequence[int]]
"""N, K, the batch, and every M that was measured."""


def _known(unit: UnitPlan) -> list[_Ladder]:
    return [(n, k, b, sorted(group.rows)) for table in unit.tables for (n, k, b), group in table.groups.items()]


def _shapes(unit: UnitPlan, known: Sequence[_Ladder], count: int) -> Iterator[Shape]:
    """Tuned, between, beyond, untuned and illegal sizes; half of those of a ladder where its answer may change."""
    for index in range(count):
        n, k, batch, measured = random.choice(known) if known and index % 3 else _untuned(unit)
        m = random.choice([random.randint(1, 300), random.randint(1, 40_000), 1 << random.randint(0, 17)])
        if measured and random.random() < 0.5:
            m = _edge(measured)
        if index % 11 == 0:
            m, n, k = random.choice(
                [(0, n, k), (m, n + 1, k), (m, n, k + 1), (m, -1, k), (1 << 32, n, k), (m, n, 1 << 40)]
            )
        if index % 13 == 0:
            batch = random.choice([-1, 2, 1 << 33])
        yield Shape(batch, m, n, k)


def _edge(measured: Sequence[int]) -> int:
    """A measured size, the least near it, halfway in ratio to the one before, or beside one of these."""
    at = random.randrange(len(measured))
    m, before = measured[at], measured[at - 1] if at else 1
    return max(random.choice([m, m - 16, m // 2, math.isqrt(m * before)]) + random.choice([-1, 0, 1]), 1)


def _untuned(unit: UnitPlan) -> _Ladder:
    grains: Iterable[int] = (1, 2, 8, 16, 32, 128, 256)
    n, k = (random.randint(1, 40) * random.choice(list(grains)) for _ in range(2))
    return n, k, random.randint(1, 4) if unit.signature.batched else 0, ()
