"""ck_tile's multi-D, multi-ABD and batched instances as device code: which kernels, their texts, what has none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ckgen.build.device_code import device_code, variants_of
from ckgen.emit.device import render_device_unit
from ckgen.families.gemm.config import CkTileConfig, Epilogue, Scheduler, TilePipeline
from ckgen.families.gemm.device import ck_tile
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.registry import make_instance
from ckgen.model.config import Tile

CONFIG = CkTileConfig(
    Tile(64, 64, 64), (2, 2, 1), Tile(32, 32, 16), TilePipeline.COMPV3, Scheduler.INTRAWAVE,
    pad_m=True, pad_n=True, pad_k=True,
)  # fmt: skip


def instance(signature: str, **changes: Any) -> Instance:
    config = replace(CONFIG, **changes)
    parsed = parse_canonical(signature)
    return make_instance(parsed, config, archs=("gfx942", "gfx950"))


def text_of(one: Instance) -> str:
    return render_device_unit(device_code(one).device_unit(variants_of(one, ())))


@pytest.mark.parametrize(("signature", "bias"), [("gemm_fp16_rcr_bias", "true"), ("gemm_fp16_rcr_batched", "false")])
def test_the_units_config_says_whether_there_is_a_bias(signature: str, bias: str) -> None:
    assert f"  static constexpr bool bias = {bias};\n" in text_of(instance(signature))


def test_the_units_config_says_what_is_fused() -> None:
    text = text_of(instance("gemm_fp16_rcr_a_add_b_mul_epi_mul_silu_add"))
    assert '#include "backends/ck_tile/multi_abd.hpp"' in text
    steps = "ckgen::EpilogueOp::mul, ckgen::EpilogueOp::silu, ckgen::EpilogueOp::add"
    assert f"  static constexpr ckgen::Epilogue epilogue{{{{{steps}}}}};" in text
    assert "  static constexpr ckgen::OperandOp a_op = ckgen::OperandOp::add;" in text
    assert "  static constexpr ckgen::OperandOp b_op = ckgen::OperandOp::mul;" in text
    assert "epilogue{{}}" in text_of(instance("gemm_fp16_rcr_batched"))


def test_a_plain_gemms_unit_says_nothing_of_it() -> None:
    text = text_of(instance("gemm_fp16_rcr"))
    assert "OperandOp" not in text and "ckgen::Epilogue" not in text and "multi_abd" not in text


@pytest.mark.parametrize(
    ("signature", "splits"),
    [
        ("gemm_fp16_rcr_batched", True),
        ("gemm_fp16_rcr_epi_add", False),
        ("gemm_fp16_rcr_a_add", False),
        ("gemm_fp16_rcr_bias", False),
    ],
)
def test_only_whole_sums_of_one_tensor_each_are_split(signature: str, splits: bool) -> None:
    names = {variant.name for variant in variants_of(instance(signature), ())}
    loops = ("cold_even", "cold_odd", "hot_full")
    assert names == {f"{loop}_{store}" for loop in loops for store in (("set", "add") if splits else ("set",))}


@pytest.mark.parametrize(
    ("signature", "changes", "reason"),
    [
        ("gemm_fp16_rcr_epi_relu", {"pipeline": TilePipeline.COMPV6}, "compv6 applies no function"),
        ("gemm_fp16_rcr_batched", {"epilogue": Epilogue.DEFAULT}, "epilogue must be cshuffle"),
        ("gemm_fp16_rcr_a_add", {"persistent": True}, "persistent must be false"),
    ],
)
def test_what_has_no_code_says_why(signature: str, changes: dict[str, Any], reason: str) -> None:
    one = instance(signature, **changes)
    assert reason in (device_code(one).unavailable("gfx942") or "")
    assert device_code(instance(signature.replace("_bias", ""))).unavailable("gfx942") is None


def test_a_dense_kernel_is_not_taken_for_one_of_these() -> None:
    for signature in ("gemm_fp16_rcr_batched", "gemm_fp16_rcr_epi_add", "gemm_bf16_rcr_b_mul"):
        assert "other kernels have" in (ck_tile.unavailable(instance(signature), "gfx942") or "")


def test_lds_holds_accumulators_before_an_epilogue() -> None:
    """64 x 64 of C go through LDS at once, as much as the staging of K = 32: 8 KiB of fp16, 16 KiB of fp32."""
    for signature, size in (("gemm_fp16_rcr_batched", 8192), ("gemm_fp16_rcr_epi_relu", 16384)):
        one = instance(signature, tile=Tile(64, 64, 32))
        variant = variants_of(one, ())[0]
        assert device_code(one).expected("gfx942", variant).lds_bytes == size
