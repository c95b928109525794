"""Small tables and plans for tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from ckgen import paths
from ckgen.families.common.m_policy import kernel_sizes, split_sizes
from ckgen.families.gemm.query import GemmQuery
from ckgen.families.gemm.signature import GemmSignature, parse_signature
from ckgen.families.tables import rounded_module
from ckgen.model.selection import NO_WISHES, Wishes
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.plan.model import GenerationPlan
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import make_plan
from ckgen.plan.registry_document import plan_of_units
from ckgen.specs.archs import load_archs

GFX942 = Target("gfx942", 304)
GFX942_80 = Target("gfx942", 80)
GFX950 = Target("gfx950", 256)
REAL_TARGETS = (GFX942_80, GFX942, GFX950)
REAL_TABLES = paths.tuning_dir() / "aiter"
OWN_TABLES = paths.tuning_dir() / "ckgen"

HEADER = "gfx,cu_num,M,N,K,libtype,kernelId,splitK,us,kernelName,tflops,bw,errRatio"
SMALL_M = "a8w8_blockscale_1x128x128_256x16x64x256_16x16_16x16_1x1_16x16x1_16x16x1_1x16x1x16_4_1x1_intrawave_v1"
MIDDLE = "a8w8_blockscale_1x128x128_256x64x128x128_16x16_32x32_1x2_8x32x1_8x32x1_1x32x1x8_8_1x1_intrawave_v3"
LARGE = "a8w8_blockscale_1x128x128_256x128x128x128_16x16_32x32_2x2_8x32x1_8x32x1_1x32x1x8_8_1x1_intrawave_v3"


def row(m: int, kernel: str = LARGE, **changes: Any) -> str:
    """One line of an a8w8_blockscale table: N = 512, K = 1024 on gfx942:304 unless said."""
    cells: dict[str, Any] = {
        "gfx": "gfx942", "cu_num": 304, "M": m, "N": 512, "K": 1024, "libtype": "ck", "kernelId": 0, "splitK": 0,
        "us": 10.0, "kernelName": kernel, "tflops": 0, "bw": 0, "errRatio": 0.0,
    }  # fmt: skip
    return ",".join(str(value) for value in (cells | changes).values())


def write_table(path: Path, rows: Iterable[str], header: str = HEADER) -> Path:
    """A CSV of these lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def plan_of(*tables: Path, targets: tuple[Target, ...] | None = (GFX942,), **options: Any) -> GenerationPlan:
    """A plan over these tuning arguments."""
    return make_plan(PlanOptions(targets=targets, tuning=tables, **options), load_archs())


@cache
def real_plan() -> GenerationPlan:
    """The plan over all shipped tables for the three real targets; made once per test process."""
    return plan_of(REAL_TABLES, targets=REAL_TARGETS)


def query(
    plan: GenerationPlan,
    target: Target,
    signature: str | GemmSignature,
    m: int,
    n: int,
    k: int,
    *,
    batch: int = 0,
    wishes: Wishes = NO_WISHES,
) -> GemmQuery:
    """A problem on a device, the signature given as it is or as an alias."""
    if isinstance(signature, str):
        signature = parse_signature(signature, load_archs()[target.gfx].fp8_flavour)
    return GemmQuery(plan, target, signature, Shape(batch, m, n, k), wishes)


def reasons(plan: GenerationPlan) -> list[str]:
    """The fate of each row, as a user reads it."""
    return [str(fate) for fate in plan.fates]


def fate_words(plan: GenerationPlan) -> Mapping[str, int]:
    """How many rows ended how, over all files."""
    counts: dict[str, int] = {}
    for report in plan.reports:
        for kind, count in report.fates.items():
            counts[kind.value] = counts.get(kind.value, 0) + count
    return counts


def aiter_kernel_m(module: str, m: int, n: int, k: int) -> tuple[int, ...]:
    """The sizes whose rows may choose the kernel, as the peer rounds M for a module."""
    return kernel_sizes(rounded_module(module), m, n)


def aiter_split_k_m(module: str, m: int, n: int, k: int) -> tuple[int, ...]:
    """The same for k_batch."""
    return split_sizes(rounded_module(module), m, n)


def without_tables(plan: GenerationPlan) -> GenerationPlan:
    """The plan of the same instances, decision rules and defaults, and no table."""
    return plan_of_units(plan.targets, tuple(replace(unit, tables=()) for unit in plan.units if unit.instances))


def told(plan: GenerationPlan) -> list[tuple[object, ...]]:
    """All that a registry document tells of a plan: of each unit itself, and what its tables measured."""
    return [
        (replace(unit, tables=()), *((table.target, *table.measured()) for table in unit.tables)) for unit in plan.units
    ]


def without_rules(plan: GenerationPlan) -> GenerationPlan:
    """The plan as it is where no decision rule ships, and nothing that predicted times choose by."""
    return replace(plan, units=tuple(replace(unit, heuristics=(), predicted={}) for unit in plan.units))
