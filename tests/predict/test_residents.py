"""How many workgroups a CU is said to hold, against what registers and LDS of compiled kernels leave room for."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ckgen import paths
from ckgen.families.gemm.config import CkTileConfig, TilePipeline
from ckgen.families.gemm.grammar import identify
from ckgen.families.gemm.modules import modules
from ckgen.families.gemm.predicted.chip import SIMDS, Chip, chip_of
from ckgen.families.gemm.predicted.gpu_work import gpu_work
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.config import Config, Tile
from ckgen.model.dtype import DType
from ckgen.model.strategy import Strategy
from ckgen.model.target import Target
from ckgen.specs.archs import load_arch

COMPILED = paths.root() / "docs" / "amd" / "baseline.json"
BF16 = GemmSignature.of(DType.BF16, DType.BF16)
SMALL = CkTileConfig(Tile(64, 64, 32), (2, 2, 1), Tile(32, 32, 16), TilePipeline.COMPV3)


def chip(gfx: str) -> Chip:
    arch = load_arch(gfx)
    return chip_of(arch, Target(gfx, arch.default_cu_num))


def resident(signature: GemmSignature, config: Config, gfx: str = "gfx942") -> int:
    work = gpu_work(signature, config, chip(gfx))
    assert work is not None
    return int(work.resident)


def compiled() -> Iterator[tuple[str, str, int, int]]:
    """Of kernels of AMD's tables: module, main loop, the workgroups that fit by what was compiled, and by the model."""
    for kernel in json.loads(COMPILED.read_text(encoding="utf-8"))["kernels"]:
        module, gfx = modules().get(kernel["module"]), kernel["arch"]
        found = identify(kernel["module"], kernel["library"], kernel["name"])
        if module is None or found is None or "vgpr" not in kernel:
            continue
        template = module.template
        signature = GemmSignature.of(
            DType(kernel["dtype"]), template.out, quant=template.quant, layout=template.layout,
            preshuffle_b=template.preshuffle_b, batched=template.batched,
        )  # fmt: skip
        work = gpu_work(signature, found.config, chip(gfx))
        assert work is not None
        waves, arch = int(work.waves_per_simd * SIMDS), load_arch(gfx)
        fit = min(arch.waves_with(kernel["vgpr"]) * SIMDS // waves, arch.lds_bytes // max(kernel["lds"], 1))
        yield kernel["module"], work.pipeline, max(fit, 1), int(work.resident)


def test_a_compute_unit_holds_about_as_many_workgroups_as_compiled_kernels_leave_room_for() -> None:
    found = list(compiled())
    same = sum(fit == said for _, _, fit, said in found)
    near = sum(abs(fit - said) <= 1 for _, _, fit, said in found)
    assert len(found) > 300 and same / len(found) > 0.7 and near / len(found) > 0.9


def test_a_preshuffled_loop_that_fills_one_buffer_while_it_reads_another_leaves_room_for_half_as_many() -> None:
    """Of 128 x 128 x 128 bytes v3 stages 2 x 16 KiB, which two workgroups of an MI300X fill; half of that K lets three
    in, whose registers then decide."""
    found = {
        name: identify("a8w8_bpreshuffle", "ck", f"a8w8_bpreshuffle_{name}")
        for name in (
            "256x128x128x128_16x16_16x16_8x32x1_8x32x1_1x32x1x8_8x8x1_2x1_intrawave_v3",
            "256x128x128x64_16x16_16x16_4x64x1_4x64x1_1x32x1x8_8x8x1_2x1_intrawave_v3",
        )
    }
    signature = GemmSignature.of(DType.FP8_FNUZ, DType.BF16, preshuffle_b=True)
    assert [resident(signature, one.config) for one in found.values() if one is not None] == [2, 3]


def test_what_a_kernel_asks_of_its_compiler_bounds_no_kernel_but_one_that_launches_as_many() -> None:
    asked = CkTileConfig(SMALL.tile, SMALL.warps, SMALL.warp_tile, SMALL.pipeline, block_per_cu=2)
    shared = CkTileConfig(
        SMALL.tile, SMALL.warps, SMALL.warp_tile, SMALL.pipeline, block_per_cu=2, strategy=Strategy.LINEAR
    )
    assert resident(BF16, asked) == resident(BF16, SMALL) > 2 == resident(BF16, shared)
