"""What the machine code of a classic ck kernel must look like: its matrix instructions, and how often they stand there.

Source: the block pipelines of the CK tree (include/ck/tensor_operation/gpu/block) for the copies of a K step, the
invokers for the waves, the archs' own tables for the instructions.
"""

from __future__ import annotations

from ckgen.families.common.device.variant import Tail
from ckgen.families.gemm.config import CkConfig, Scheduler
from ckgen.families.gemm.device.ck import xdl_per_wave
from ckgen.families.gemm.device.ck_variants import CkVariant, stages
from ckgen.families.gemm.device.recorded import recorded_overflow
from ckgen.families.gemm.enums import Quant
from ckgen.families.gemm.instance import Instance
from ckgen.model.dtype import DType
from ckgen.model.expectation import Expectation
from ckgen.specs import load_arch

_FEW_REGISTERS = 256
_MX_PRODUCT = 128 * 128 * 64 * 2


def expected(instance: Instance, arch: str, variant: CkVariant) -> Expectation:
    """The demands on one kernel of the instance's code object for an arch."""
    overflow = recorded_overflow(instance, arch, variant.name)
    return Expectation(
        steps=steps(instance, arch),
        copies=copies(instance, variant),
        lds_bytes=load_arch(arch).lds_bytes,
        scratch_bytes=overflow.scratch_bytes,
        spills=overflow.spills,
        waves_per_simd=waves_per_simd(instance),
    )


def steps(instance: Instance, arch: str) -> tuple[tuple[str, int], ...]:
    """Every instruction of the arch that computes the XDL tile in the signature's types, with its number per K step."""
    signature, config = instance.signature, _config(instance)
    types = (signature.a, signature.b, signature.acc)
    tiles = xdl_per_wave(config)
    found: dict[str, int] = {}
    for row in load_arch(arch).matrix_instructions:
        fits = (row.a, row.b, row.acc) == types and (row.tile.m, row.tile.n) == config.xdl and row.blocks == 1
        if fits and row.scaled == (signature.quant is Quant.MX) and config.macro_tile.k % row.tile.k == 0:
            found[row.mnemonic] = tiles[0] * tiles[1] * config.macro_tile.k // row.tile.k
    return tuple(found.items())


def copies(instance: Instance, variant: CkVariant) -> int:
    """How often a K step's body stands in the kernel: the turns of one round of the main loop, then the tail's."""
    config = _config(instance)
    match instance.module, config.pipeline:
        case ("a8w8" | "batched_a8w8" | "batched_bf16", 1 | 3):
            return 2 if variant.hot else 1
        case ("a8w8" | "batched_a8w8" | "batched_bf16", 2):
            return stages(instance) + (_COUNTED.get(variant.tail) or stages(instance))
        case ("a8w8" | "batched_a8w8" | "batched_bf16", _) | ("a8w8_bpreshuffle", 2):
            return 5 if variant.tail is Tail.ODD else 4
        case ("a8w8_blockscale", 1):
            return (1 if variant.hot else 0) + (1 if variant.tail is Tail.ODD else 2)
        case ("a8w8_blockscale", _):
            return 2
    return (2 if variant.hot else 0) + (1 if variant.tail is Tail.ODD else 2)


_COUNTED = {
    Tail.ONE: 1,
    Tail.TWO: 2,
    Tail.THREE: 3,
    Tail.FOUR: 4,
    Tail.FIVE: 5,
    Tail.SIX: 6,
    Tail.SEVEN: 7,
}


def waves_per_simd(instance: Instance) -> int:
    """The occupancy that the launch bounds ask for, as the op's invoker computes it."""
    config = _config(instance)
    tile, intrawave = config.tile, config.scheduler is Scheduler.INTRAWAVE
    share = tile.m * tile.n // config.block
    match instance.module:
        case "a8w8_blockscale_bpreshuffle":
            return 2
        case "a8w8_blockscale":
            return 1 if intrawave and share > 64 else 2
        case "a8w8_bpreshuffle":
            return 1 if _estimated_registers(instance) >= _FEW_REGISTERS else 2
        case "a4w4_blockscale":
            return 2 if not intrawave or (config.pipeline == 3 and tile.m * tile.n * tile.k <= _MX_PRODUCT) else 1
    return 2 if not intrawave or (config.pipeline == 3 and share <= 128) else 1


def _estimated_registers(instance: Instance) -> int:
    """VGPRs by the invoker's estimate: A once and once per wave along N, B twice, the accumulators."""
    config, size = _config(instance), instance.signature.a.bits // 8
    tile = config.tile
    waves = tile.n // (config.xdl[1] * xdl_per_wave(config)[1])
    of_a = tile.m * tile.k * size // config.block // 4 * (1 + waves)
    of_b = tile.n * tile.k * size // config.block // 4 * 2
    of_c = tile.m * tile.n * _accumulator_bytes(instance) // config.block // 4
    return of_a + of_b + of_c


def _accumulator_bytes(instance: Instance) -> int:
    assert instance.signature.acc in (DType.FP32, DType.INT32)
    return instance.signature.acc.bits // 8


def _config(instance: Instance) -> CkConfig:
    config = instance.config
    assert isinstance(config, CkConfig), f"{instance.name} is no classic ck instance"
    return config
