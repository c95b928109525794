"""Predicted clocks of instances, in Python and in C++: equal for every work that ships, whatever the sizes."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path

import pytest

from ckgen import paths
from ckgen.families.gemm.predicted.constants import shipped
from ckgen.families.gemm.predicted.ticks import KernelWork, predicted_ticks, work_on
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import make_plan
from ckgen.specs.archs import load_archs

pytestmark = pytest.mark.cpp

ROOT = Path(__file__).resolve().parents[2]
LARGEST = 2**31 - 1
PROGRAM = r"""
#include <cstdio>

#include "src/gemm/predicted.hpp"

using namespace ckgen;

// Lines of a work's numbers, B, M, N, K and the CUs; a line of the two halves of each cost.
int main() {
  KernelWork w{};
  std::uint32_t* const fields[] = {&w.tile_m, &w.tile_n, &w.tile_k,  &w.cluster, &w.slots,  &w.resident, &w.matrix,
                                   &w.alone,  &w.cache,  &w.lds,     &w.latency, &w.tile,   &w.store,    &w.launch,
                                   &w.loaded, &w.memory, &w.apart,   &w.reload,  &w.outside, &w.a_bits,  &w.b_bits,
                                   &w.c_bits};
  for (;;) {
    for (std::uint32_t* field : fields) {
      if (std::scanf("%u", field) != 1) return 0;
    }
    long long batch, m, n, k;
    unsigned cus;
    if (std::scanf("%lld %lld %lld %lld %u", &batch, &m, &n, &k, &cus) != 5) return 1;
    const detail::Wide cost = detail::predicted_ticks(w, detail::Sizes{m, n, k, batch}, cus);
    std::printf("%llu %llu\n", static_cast<unsigned long long>(cost >> 64), static_cast<unsigned long long>(cost));
  }
}
"""


def works() -> list[KernelWork]:
    """Of all instances of the shipped tables' units that predicted clocks choose among."""
    archs = load_archs()
    targets = tuple(Target(gfx, archs[gfx].default_cu_num) for gfx in sorted({one.arch for one in shipped()}))
    plan = make_plan(PlanOptions(targets=targets, tuning=paths.shipped_tables(), every_count=True), archs)
    return [
        work_on(unit.instances[at], gfx)
        for unit in plan.units_of(GemmSignature)
        for gfx, numbers in unit.predicted.items()
        for at in numbers
    ]


def problems() -> Iterator[tuple[Shape, int]]:
    draw = random.Random(5)
    for batch, m, n, k in ((0, 1, 1, 1), (LARGEST, LARGEST, LARGEST, LARGEST), (1, LARGEST, 1, LARGEST)):
        yield Shape(batch, m, n, k), 304
    for _ in range(100):
        sizes = (draw.randint(1, 1 << draw.randint(1, 31)) - 1 or 1 for _ in range(3))
        yield Shape(draw.choice((0, 1, 2, 77)), *sizes), draw.choice((0, 1, 38, 80, 256, 304))


def test_both_languages_count_alike(tmp_path: Path) -> None:
    (tmp_path / "cost.cpp").write_text(PROGRAM)
    subprocess.run(
        ["g++", "-std=c++20", "-O1", "-Wall", "-Wextra", "-Wconversion", "-Werror", f"-I{ROOT / 'dispatcher_cpp'}",
         f"-I{ROOT / 'dispatcher_cpp/include'}", "cost.cpp", "-o", "cost"],
        cwd=tmp_path, check=True,
    )  # fmt: skip
    asked = [(work, shape, cus) for work in dict.fromkeys(works()) for shape, cus in problems()]
    assert len(asked) > 10_000
    lines = "".join(
        " ".join(map(str, (*astuple(work), shape.batch, shape.m, shape.n, shape.k, cus))) + "\n"
        for work, shape, cus in asked
    )
    told = subprocess.run(["./cost"], cwd=tmp_path, input=lines, capture_output=True, text=True, check=True).stdout
    halves = (tuple(map(int, line.split())) for line in told.splitlines())
    assert [(high << 64) + low for high, low in halves] == [predicted_ticks(*one) for one in asked]
