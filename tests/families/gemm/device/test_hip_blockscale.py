"""Our kernels with block scales of A and B as device code, without a compiler: texts, demands, and what they refuse."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckgen.build.device_code import device_code
from ckgen.emit.device import render_device_unit
from ckgen.families.gemm.config import CkTileConfig
from ckgen.families.gemm.grammar import identify
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.signature import parse_signature
from ckgen.families.registry import make_instance
from ckgen.model.config import Tile
from ckgen.specs.archs import load_archs

EIGHT_WAVES = "a8w8_blockscale_cktile_192x256x128_4x2x1_16x16x128_intrawave_0x1x0_4_aqrm"
EIGHT_SUMS = "a8w8_blockscale_cktile_64x128x128_2x2x1_16x16x128_intrawave_0x1x0_4"
"""Of 16 x 16 in each wave: the most whose registers leave room for as many waves as are asked for."""
DEEP = "a8w8_blockscale_cktile_16x128x256_1x4x1_16x16x64_intrawave_0x1x0_3"


def named(kernel: str, signature: str = "a8w8_blockscale", arch: str = "gfx950", **changes: object) -> Instance:
    found = identify("a8w8_blockscale", "cktile", kernel)
    assert found is not None and isinstance(found.config, CkTileConfig)
    parsed = parse_signature(signature, load_archs()[arch].fp8_flavour)
    config = replace(found.config, **changes)  # type: ignore[arg-type]
    return make_instance(parsed, config, module="a8w8_blockscale", table_kernel=kernel, archs=(arch,))


def test_units_hold_the_config() -> None:
    instance = named(EIGHT_WAVES, "a8w8_blockscale_bpreshuffle:fp16")
    code = device_code(instance)
    (variant,) = code.all_variants()
    device = render_device_unit(code.device_unit([variant]))
    symbol = code.symbol(variant)
    assert f"({symbol}, 192, 256, 128, 4, 2, 128, 4, true, true)" in device
    host = render_device_unit(code.host_unit({"gfx950": [variant]}))
    assert f'{{"{symbol}", 192, 256, 512, true}}' in host


@pytest.mark.parametrize(
    ("kernel", "steps", "waves", "lds"),
    [
        (EIGHT_WAVES, ("v_mfma_f32_16x16x128_f8f6f4", 24), 2, 448 * 144),
        (EIGHT_SUMS, ("v_mfma_f32_16x16x128_f8f6f4", 8), 4, 192 * 144),
        (DEEP, ("v_mfma_f32_16x16x32_fp8_fp8", 16), 3, 144 * 272),
    ],
)
def test_the_machine_code_must_be(kernel: str, steps: tuple[str, int], waves: int, lds: int) -> None:
    instance = named(kernel)
    code = device_code(instance)
    found = code.expected("gfx950", code.all_variants()[0])
    assert (found.steps, found.copies, found.waves_per_simd, found.lds_bytes) == ((steps,), 1, waves, lds)
    assert found.scratch_bytes == found.spills == 0


@pytest.mark.parametrize(
    ("signature", "arch", "changes", "said"),
    [
        ("a8w8_blockscale", "gfx942", {}, "no matrix instruction for 128"),
        ("a8w8_blockscale:bias", "gfx950", {}, "no bias"),
        ("gemm_fp8_ocp_bf16_rcr_blockscale_scales_both_1x128", "gfx950", {}, "1x128 and 128x128"),
        ("a8w8_blockscale", "gfx950", {"warp_tile": Tile(32, 32, 64)}, "warp tiles of 16x16"),
        ("a8w8_blockscale", "gfx950", {"transpose_c": False}, "transposed"),
        ("a8w8_blockscale", "gfx950", {"persistent": True}, "persistent"),
        ("a8w8_blockscale", "gfx950", {"tile": Tile(24, 256, 128)}, "does not divide"),
        ("a8w8_blockscale", "gfx950", {"tile": Tile(192, 256, 64)}, "does not divide"),
    ],
)
def test_what_the_kernels_are_not(signature: str, arch: str, changes: dict[str, object], said: str) -> None:
    instance = named(EIGHT_WAVES, signature, arch, **changes)
    assert said in (device_code(instance).unavailable(arch) or "")
