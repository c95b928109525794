"""Python's walk and C++'s over the same library: instance, k_batch, tier, external winner and reason must be equal."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest
from plan_support import REAL_TABLES, REAL_TARGETS, plan_of

from ckgen.model.selection import Tier
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.plan.model import GenerationPlan, UnitPlan
from ckgen.plan.policy import MPolicy
from ckgen.plan.select import Query, select
from ckgen.runtime import Dispatcher, Options, RuntimeLibrary
from ckgen.runtime.abi import NO_INDEX
from ckgen.specs.archs import load_archs
from runtime_build import load_generated

pytestmark = [pytest.mark.cpp, pytest.mark.slow]

TARGETS = (*REAL_TARGETS, Target("gfx942", 228), Target("gfx950", 128), Target("gfx90a", 104))
BUILT = tuple(sorted({*TARGETS, Target("x86_64_v4", 2), Target("x86_64_v3", 1)}))
RANDOM_SHAPES = 100_000


class Parity:
    """One plan, and the same plan as a loaded library."""

    def __init__(self, plan: GenerationPlan, name: str, folder: Path) -> None:
        self.plan = plan
        self.library: RuntimeLibrary = load_generated(plan, name, folder)
        self.dispatcher: Dispatcher = self.library.dispatcher([name], Options())
        self.names = [info.name for info in self.dispatcher.instances()]
        self.archs = load_archs()

    def compare(self, unit: UnitPlan, target: Target, shapes: Sequence[Shape]) -> int:
        """Asserts equality for every shape; the number compared."""
        device = self.library.simulated(str(target))
        number = self.library.signature(unit.name)
        records = self.dispatcher.select_many(number, [(s.batch, s.m, s.n, s.k) for s in shapes], device)
        for shape, record in zip(shapes, records, strict=True):
            found = select(Query(self.plan, self.archs, target, unit.signature, shape))
            there = int(record["instance"])
            mine = (
                found.instance.name if found.instance else None,
                found.k_batch if found.instance else 1,
                found.tier,
                found.external.name if found.external else None,
                found.reason,
            )
            theirs = (
                self.names[there] if there != NO_INDEX else None,
                int(record["k_batch"]) if there != NO_INDEX else 1,
                tuple(Tier)[record["tier"]],
                self.dispatcher._external(int(record["external"]))[1] if record["external"] != NO_INDEX else None,
                self.dispatcher.reason(record) if there == NO_INDEX else "",
            )
            assert mine == theirs, (unit.name, str(target), shape)
        return len(shapes)


@pytest.fixture(scope="module", params=[MPolicy.LADDER, MPolicy.AITER], ids=str)
def parity(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Parity:
    plan = plan_of(REAL_TABLES, targets=BUILT, m_policy=request.param)
    name = f"parity_{request.param.value}"
    return Parity(plan, name, tmp_path_factory.mktemp(name))


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
        known = [(n, k, b) for table in unit.tables for n, k, b in table.groups]
        for target in BUILT:
            compared += parity.compare(unit, target, list(_shapes(unit, known, each)))
    assert compared >= RANDOM_SHAPES


def _shapes(unit: UnitPlan, known: Sequence[tuple[int, int, int]], count: int) -> Iterator[Shape]:
    """Tuned, between, beyond, untuned and illegal sizes."""
    for index in range(count):
        n, k, batch = random.choice(known) if known and index % 3 else _untuned(unit)
        m = random.choice([random.randint(1, 300), random.randint(1, 40_000), 1 << random.randint(0, 17)])
        if index % 11 == 0:
            m, n, k = random.choice([(0, n, k), (m, n + 1, k), (m, n, k + 1), (m, -1, k), (1 << 32, n, k), (m, n, 1 << 40)])
        if index % 13 == 0:
            batch = random.choice([-1, 2, 1 << 33])
        yield Shape(batch, m, n, k)


def _untuned(unit: UnitPlan) -> tuple[int, int, int]:
    grains: Iterable[int] = (1, 2, 8, 16, 32, 128, 256)
    n, k = (random.randint(1, 40) * random.choice(list(grains)) for _ in range(2))
    return n, k, random.randint(1, 4) if unit.signature.batched else 0
