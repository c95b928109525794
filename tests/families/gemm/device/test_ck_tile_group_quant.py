"""ck_tile's GEMMs with scales for groups of one side as device code: one kernel each, its text, its demands."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckgen.build.device_code import device_code, variants_of
from ckgen.build.planned import plan_host, plan_kernel
from ckgen.families.common.device.unit import Use
from ckgen.families.gemm.config import CkTileConfig, Scheduler, TilePipeline
from ckgen.families.gemm.device import ck_tile_group_quant as group_quant
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.problem_rules import supports
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.registry import make_instance
from ckgen.model.config import Tile
from ckgen.model.tuned_row import Shape

CONFIG = CkTileConfig(
    Tile(64, 128, 128), (2, 2, 1), Tile(32, 32, 16), TilePipeline.COMPV3, Scheduler.INTRAWAVE, pad_n=True
)


def instance(name: str) -> Instance:
    signature = parse_canonical(name)
    config = replace(CONFIG, transpose_c=signature.scale_block.of_a)
    return make_instance(signature, config, archs=("gfx942",))


@pytest.mark.parametrize(("name", "says"), [
    ("gemm_fp8_fnuz_bf16_rcr_blockscale_scales_a_128x64",
     [".b = ckgen::DType::fp8_fnuz", ".of_a = true", ".transpose_c = true", ".group_n = 128", ".group_k = 64"]),
    ("gemm_fp8_fnuz_int4_fp16_rcr_blockscale_scales_b_1x32",
     [".b = ckgen::DType::int4", ".of_a = false", ".transpose_c = false", ".group_n = 1", ".group_k = 32"]),
])  # fmt: skip
def test_one_kernel_takes_every_problem(name: str, says: list[str]) -> None:
    made = instance(name)
    uses = [Use(Shape(0, 64, 128, k), 1) for k in (128, 256, 4096)]
    assert variants_of(made, uses) == variants_of(made, ()) == group_quant.all_variants(made)
    planned = plan_kernel(made, "gfx942", uses)
    assert planned.unavailable == "" and not [word for word in says if f"{word}," not in planned.text]
    assert [symbol for symbol, _ in planned.expected] == [f"ckgen_{made.id:016x}_any_set"]
    host = plan_host(made, {"gfx942": ()}).text
    assert "GroupVariant::any" in host and "archs_of(Arch::gfx942)" in host


def test_int4_takes_as_much_lds_as_what_it_becomes() -> None:
    demands = [
        device_code(made).expected("gfx942", variants_of(made, ())[0])
        for made in map(instance, (
            "gemm_fp8_fnuz_int4_bf16_rcr_blockscale_scales_b_1x128",
            "gemm_fp8_fnuz_bf16_rcr_blockscale_scales_b_1x128",
        ))
    ]  # fmt: skip
    assert demands[0] == demands[1]
    assert demands[0].lds_bytes == (64 + 128) * 128 and demands[0].copies == 2 and demands[0].scratch_bytes == 0


def test_scales_of_both_sides_are_not_in_the_tree() -> None:
    made = instance("gemm_fp8_fnuz_bf16_rcr_blockscale_scales_both_128x64")
    assert "ck_tile.absent.ab_scale" in (device_code(made).unavailable("gfx942") or "")
    one = instance("gemm_fp8_fnuz_bf16_rcr_blockscale_scales_b_128x64")
    assert device_code(one).unavailable("gfx942") is None


@pytest.mark.parametrize(("k", "k_batch", "rule"), [
    (256, 1, None), (192, 1, "gemm.instance.k-multiple"), (256, 2, "gemm.instance.max-k-batch"),
])  # fmt: skip
def test_k_is_whole_tiles_and_not_split(k: int, k_batch: int, rule: str | None) -> None:
    made = instance("gemm_fp8_fnuz_bf16_rcr_blockscale_scales_b_128x64")
    found = supports(made.constraints, Shape(0, 70, 144, k), k_batch)
    assert (found.rule if found else None) == rule
