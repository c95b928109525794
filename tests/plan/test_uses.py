"""Which problems the tables send to each instance."""

from __future__ import annotations

from pathlib import Path

from ckgen.families.common.device.unit import Use
from ckgen.model.tuned_row import Shape
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import make_plan
from ckgen.plan.uses import uses_of
from ckgen.specs.archs import load_archs
from plan_support import GFX942, GFX942_80, HEADER, LARGE, SMALL_M, row


def table(folder: Path, *rows: str) -> Path:
    path = folder / "a8w8_blockscale_tuned_gemm.csv"
    path.write_text("\n".join((HEADER, *rows)) + "\n", encoding="utf-8")
    return path


def uses(path: Path) -> dict[tuple[str, str, str], set[Use]]:
    plan = make_plan(PlanOptions(targets=(GFX942, GFX942_80), tuning=(path,)), load_archs())
    return {
        (instance.table_kernel, str(instance.signature.c), arch): set(found)
        for instance, by_arch in uses_of(plan).items()
        for arch, found in by_arch.items()
    }


def use(m: int, k_batch: int = 1) -> Use:
    return Use(Shape(0, m, 512, 1024), k_batch)


def test_every_measured_size_is_a_use(tmp_path: Path) -> None:
    """Sizes that one rung holds, of both CU counts of the arch, for each output type that the row stands for."""
    path = table(
        tmp_path, row(16), row(32), row(48), row(64), row(128, SMALL_M, splitK=2), row(256, cu_num=80, kernelName=LARGE)
    )
    found = uses(path)
    for out in ("bf16", "fp16"):
        assert found[LARGE, out, "gfx942"] == {use(16), use(32), use(48), use(64), use(256)}
        assert found[SMALL_M, out, "gfx942"] == {use(128, 4)}
    assert len(found) == 4


def test_an_instance_without_rows_has_no_uses(tmp_path: Path) -> None:
    plan = make_plan(PlanOptions(targets=(GFX942,), tuning=(table(tmp_path, row(16)),)), load_archs())
    used = uses_of(plan)
    assert set(used) == set(plan.instances)
    assert {instance.table_kernel for instance, by_arch in used.items() if by_arch} == {LARGE}
