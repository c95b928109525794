"""What classic ck cannot do, and that everything else of the tables can be built."""

from __future__ import annotations

from dataclasses import replace

from ck_device_support import ck_uses, instance_of

from ckgen.families.gemm.device.ck_absent import absent, absent_for_splits, unavailable

A4W4 = "a4w4_blockscale_256x64x128x128_16x16_16x16_8x32x1_8x32x1_1x32x1x8_8_2x2_intrawave_v3"
BLOCKSCALE = "a8w8_blockscale_1x128x128_256x128x128x128_16x16_32x32_2x2_8x32x1_8x32x1_1x32x1x8_8_1x1_intrawave_v3"
A8W8 = "a8w8_rowwise_256x16x64x512_16x16_1x1_32x8x1_32x8x1_1x16x1x16_4x4x1_1x1_intrawave_v3"


def test_fp4_is_for_gfx950() -> None:
    instance = instance_of("a4w4_blockscale", A4W4, "gfx950")
    assert unavailable(instance, "gfx950") is None
    found = unavailable(instance, "gfx942")
    assert found is not None
    assert found.endswith("(rule ck.absent.mx_arch)")


def test_fp4_has_one_pipeline() -> None:
    instance = instance_of("a4w4_blockscale", A4W4.replace("_v3", "_v1"), "gfx950")
    found = absent(instance, "gfx950")
    assert found is not None
    assert found.id == "ck.absent.mx_pipeline"
    assert found.text.startswith(found.reason)
    assert found.absent[0] in found.text


def test_bias_is_not_built() -> None:
    instance = instance_of("a8w8:int8", A8W8)
    biased = replace(instance, signature=replace(instance.signature, bias=True))
    assert unavailable(instance, "gfx942") is None
    assert "without a bias" in (unavailable(biased, "gfx942") or "")


def test_block_scale_is_not_split() -> None:
    instance = instance_of("a8w8_blockscale", BLOCKSCALE)
    assert unavailable(instance, "gfx942") is None
    found = absent_for_splits(instance, "gfx942")
    assert found is not None
    assert "AtomicAdd" in found.text
    assert "ab_scale.hpp" in found.newer
    assert absent_for_splits(instance_of("a8w8:int8", A8W8), "gfx942") is None


def test_the_tables_ask_for_nothing_absent() -> None:
    for instance, arch, _ in ck_uses():
        assert unavailable(instance, arch) is None, (instance.name, arch)
