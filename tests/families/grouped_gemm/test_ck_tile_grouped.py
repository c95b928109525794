"""Which kernels a grouped instance of ck_tile has, what its machine code must be, and why some have none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ckgen.build.device_code import device_code
from ckgen.build.planned import plan_host, plan_kernel
from ckgen.families.common.device.unit import Use, groups_symbol, prepare_symbol
from ckgen.families.gemm.config import CkTileConfig, Epilogue, Scheduler, TilePipeline
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.grouped_gemm.device import ck_tile_grouped as grouped
from ckgen.families.registry import make_instance
from ckgen.model.config import Tile
from ckgen.model.tuned_row import Shape

DENSE = CkTileConfig(
    Tile(64, 64, 64), (2, 2, 1), Tile(32, 32, 16), TilePipeline.COMPV3, Scheduler.INTRAWAVE, pad_m=True, pad_n=True,
    pad_k=True,
)  # fmt: skip
SCALED = CkTileConfig(
    Tile(16, 64, 256), (1, 4, 1), Tile(16, 16, 32), TilePipeline.COMPV3, Scheduler.INTRAWAVE, pad_n=True, pad_k=True
)
BLOCKS = replace(SCALED, tile=Tile(16, 128, 128), pad_k=False)
FLATMM = CkTileConfig(Tile(32, 64, 128), (1, 4, 1), Tile(16, 16, 64), TilePipeline.FLATMM)
BOTH = CkTileConfig(
    Tile(64, 128, 128), (1, 4, 1), Tile(16, 16, 32), TilePipeline.ABQUANT, Scheduler.INTRAWAVE, transpose_c=True
)
WHOLE, SPLIT = Use(Shape(0, 64, 64, 128), 1), Use(Shape(0, 64, 64, 128), 2)

KINDS = [
    ("grouped_gemm_fp16_rcr", DENSE, 5),
    ("grouped_gemm_bf16_rcr_epi_add_relu", DENSE, 5),
    ("grouped_gemm_fp8_fnuz_bf16_rcr_rowwise", SCALED, 5),
    ("grouped_gemm_fp8_fnuz_bf16_rcr_blockscale_scales_b_128x128", BLOCKS, 2),
    ("grouped_gemm_fp8_fnuz_bf16_rcr_rowwise_preshuffle", FLATMM, 7),
    ("grouped_gemm_fp8_fnuz_bf16_rcr_blockscale", BOTH, 1),
    ("grouped_gemm_fp8_fnuz_bf16_rcr_blockscale_preshuffle", BOTH, 1),
]


def built(signature: str, config: CkTileConfig, **changes: Any) -> Instance:
    return make_instance(
        parse_canonical(signature), replace(config, **changes),
        archs=("gfx942",),
    )  # fmt: skip


@pytest.mark.parametrize(("signature", "config", "copies"), KINDS)
def test_every_kind_has_its_kernels_and_those_that_make_the_table(
    signature: str, config: CkTileConfig, copies: int
) -> None:
    instance = built(signature, config)
    planned = plan_kernel(instance, "gfx942", [WHOLE])
    assert not planned.unavailable
    roles = {symbol.rpartition("_")[2]: expected for symbol, expected in planned.expected}
    assert list(roles) == ["set", "upload", "describe"]
    assert roles["set"].copies == copies and len(roles["set"].steps) == 1
    assert all(one.scratch_bytes == one.spills == 0 for one in roles.values())
    assert roles["upload"].steps == roles["describe"].steps == ()
    host = plan_host(instance, {"gfx942": [WHOLE]})
    assert host.symbols == (prepare_symbol(instance.id), groups_symbol(instance.id))
    assert all(symbol in host.text for symbol in host.symbols)
    assert "using Kind = ckgen::" in planned.text and "using Kind = ckgen::" in host.text


def test_splits_of_k_take_the_kernel_that_adds() -> None:
    instance = built("grouped_gemm_fp16_rcr", DENSE)
    names = [[one.name for one in grouped.reachable(instance, uses)] for uses in ([WHOLE], [SPLIT], [SPLIT, WHOLE])]
    table = ["upload", "describe"]
    assert names == [["set", *table], ["add", *table], ["add", "set", *table]]
    assert [one.name for one in grouped.all_variants(instance)] == ["add", "set", *table]
    assert not grouped.splits_unavailable(instance, "gfx942")
    for name, config in (("rowwise", SCALED), ("blockscale", BOTH)):
        scaled = built(f"grouped_gemm_fp8_fnuz_bf16_rcr_{name}", config)
        assert [one.name for one in grouped.all_variants(scaled)] == ["set", *table]
        assert grouped.splits_unavailable(scaled, "gfx942")


def test_the_persistent_form_is_told_to_both_sides() -> None:
    for persistent, resident in ((False, 0), (True, 1)):
        instance = built("grouped_gemm_fp16_rcr", DENSE, persistent=persistent)
        device = plan_kernel(instance, "gfx942", [WHOLE]).text
        assert f"_set, Kind, {str(persistent).lower()}, false, 1)" in device
        assert f".resident = {resident}," in plan_host(instance, {"gfx942": [WHOLE]}).text


@pytest.mark.parametrize(
    ("signature", "config", "changes", "reason"),
    [
        ("grouped_gemm_fp16_rcr", DENSE, {"pipeline": TilePipeline.COMPV6}, "any number of K tiles"),
        ("grouped_gemm_fp16_rcr", DENSE, {"epilogue": Epilogue.DEFAULT}, "epilogue must be cshuffle"),
        ("grouped_gemm_fp16_fp32_rcr_bias", DENSE, {}, "add no fp32 bias"),
        ("grouped_gemm_int8_bf16_rcr_rowwise", SCALED, {}, "ck_tile.absent.scaled_int8"),
        ("grouped_gemm_fp8_fnuz_bf16_rcr_blockscale", BLOCKS, {}, "ck_tile.absent.ab_scale"),
        ("grouped_gemm_fp8_fnuz_bf16_rcr_blockscale", BOTH, {"transpose_c": False}, "compute C transposed"),
        ("grouped_gemm_fp8_fnuz_bf16_rcr_per_tensor_preshuffle", FLATMM, {}, "ck_tile.absent.flatmm_per_tensor"),
        ("grouped_gemm_bf16_rcr_preshuffle", FLATMM, {"warp_tile": Tile(16, 16, 16)}, "ck_tile.absent.flatmm_chunks"),
    ],
)
def test_what_cannot_be_made_has_a_reason(
    signature: str, config: CkTileConfig, changes: dict[str, Any], reason: str
) -> None:
    instance = built(signature, config, **changes)
    said = device_code(instance).unavailable("gfx942")
    assert said is not None and reason in said
