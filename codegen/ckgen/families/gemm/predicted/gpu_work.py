"""What a workgroup of a GPU kernel asks of its CU: of each step of K, and of its tile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ckgen.families.gemm.config import CkTileConfig, FmaConfig, strategy_of
from ckgen.families.gemm.cutlass_config import CutlassConfig, CutlassSchedule
from ckgen.families.gemm.enums import Quant
from ckgen.families.gemm.lds_buffers import lds_buffers
from ckgen.families.gemm.partition import blocks_per_cu
from ckgen.families.gemm.predicted.chip import SIMDS, Chip
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.config import Config
from ckgen.model.dtype import DType

Number = Any
"""A float or an integer, or an array of them: sums and products of either give either."""

_WAVES = (1, 4, 1)
"""Of kernels whose names do not tell."""
_OTHER_REGISTERS = 40
"""Addresses, counters and the like."""
_BITS = 8
_REGISTER = 4


@dataclass(frozen=True, slots=True)
class GpuWork:
    """Of one kernel on one chip. Cycles are those of a CU whose SIMDs all take part.

    `matrix`: cycles of matrix instructions (of FMA where it has none) per step of `tile_k`; `loaded`: bytes of A and B
    per step; `lds`: cycles of reading LDS per step; `scale`: cycles of applying block scales per step; `resident`: how
    many workgroups a CU holds; `waves_per_simd`: waves that one workgroup puts on a SIMD; `pipeline`: the main loop, by
    which constants are fitted; `kernel`: `kernel_of`. `a_bytes`, `b_bytes`, `c_bytes`: of an element.

    `cluster`: workgroups that start together; `tile_m` and `tile_n` are what all of them cover. Where they share a
    tile's K, `tile_k` is a step of all. `slots`: how many clusters the chip holds, a workgroup a CU. `stored`: elements
    of C that a workgroup stores.
    """

    tile_m: Number
    tile_n: Number
    tile_k: Number
    cluster: Number
    slots: Number
    stored: Number
    matrix: Number
    loaded: Number
    lds: Number
    scale: Number
    resident: Number
    waves_per_simd: Number
    a_bytes: Number
    b_bytes: Number
    c_bytes: Number
    pipeline: str = ""
    kernel: str = ""


def gpu_work(signature: GemmSignature, config: Config, chip: Chip) -> GpuWork | None:
    """None where the chip's spec does not tell how fast it multiplies these types."""
    tile, waves = config.macro_tile, _waves(config)
    count = waves[0] * waves[1] * waves[2]
    a, b = signature.a.bits / _BITS, signature.b.bits / _BITS
    rate = chip.ops_per_clock(signature.a, signature.b) or _widened(chip, signature)
    plain = chip.ops_per_clock(DType.FP32, DType.FP32)
    if isinstance(config, FmaConfig):
        rate = plain
    if rate is None or plain is None:
        return None
    step_k = tile.k * waves[2]
    staged = (tile.m * a + (0 if signature.preshuffle_b else tile.n * b)) * step_k
    read = count * tile.m / waves[0] * a + (0 if signature.preshuffle_b else count * tile.n / waves[1] * b)
    scaled = signature.quant is Quant.BLOCKSCALE
    over_m, over_n, parts = _cluster(config)
    cluster = over_m * over_n * parts
    return GpuWork(
        tile.m * over_m,
        tile.n * over_n,
        step_k * parts,
        cluster=cluster,
        slots=chip.slots(cluster),
        stored=tile.m * tile.n / parts,
        matrix=2 * tile.m * tile.n * step_k / rate,
        loaded=(tile.m * a + tile.n * b) * step_k,
        lds=read * tile.k / chip.lds_bytes_per_clock,
        scale=2 * tile.m * tile.n * step_k / signature.scale_block.k / plain if scaled else 0.0,
        resident=_resident(signature, config, chip, waves, staged),
        waves_per_simd=config.consumers if isinstance(config, CutlassConfig) else count / SIMDS,
        a_bytes=a,
        b_bytes=b,
        c_bytes=signature.c.bits / _BITS,
        pipeline=pipeline_of(config),
        kernel=kernel_of(config),
    )


def _cluster(config: Config) -> tuple[int, int, int]:
    """Workgroups along M, N and K of C itself that start together."""
    if not isinstance(config, CutlassConfig):
        return 1, 1, 1
    along, across = config.cluster
    return (across, along, config.parts) if config.swap else (along, across, config.parts)


def pipeline_of(config: Config) -> str:
    """The main loop's word, such as `ck v3`, of CUTLASS the schedule's; the backend's alone where it has one."""
    if isinstance(config, CutlassConfig):
        return f"{config.backend} {config.schedule}{' swap' if config.swap else ''}"
    pipeline = getattr(config, "pipeline", None)
    word = f"v{pipeline}" if isinstance(pipeline, int) else str(pipeline or "")
    return f"{config.backend} {word}".strip()


def _waves(config: Config) -> tuple[int, int, int]:
    """Along M, N and K, each of which reads its part of A and B. CUTLASS's are warpgroups: their matrix instructions
    read LDS once for all of them."""
    if isinstance(config, CutlassConfig):
        return 1 if config.schedule is CutlassSchedule.PP else config.consumers, 1, 1
    return config.waves or _WAVES


def kernel_of(config: Config) -> str:
    """The backend and the Config, by which kernels are ranked: the same for every signature of a module."""
    return f"{config.backend} {config.text()}"


def _widened(chip: Chip, signature: GemmSignature) -> float | None:
    """Types that no matrix instruction takes are multiplied as fp16 or fp32."""
    narrow = max(signature.a.bits, signature.b.bits) <= DType.FP16.bits
    return chip.ops_per_clock(*(DType.FP16, DType.FP16) if narrow else (DType.FP32, DType.FP32))


def _resident(signature: GemmSignature, config: Config, chip: Chip, waves: tuple[int, int, int], staged: float) -> int:
    """By LDS and by an estimate of registers; at least one, of stream-K's no more than are launched.

    Registers hold the sums, a step's operands, of ck_tile half of its A, and what comes from memory meanwhile: to LDS,
    or B where it is preshuffled. `block_per_cu` asks the compiler for no more registers than let so many workgroups be
    resident; more are where LDS and registers have room. CUTLASS's take all LDS that there is, for stages, or half.
    """
    if isinstance(config, CutlassConfig):
        return config.resident
    arch = chip.arch
    tile, count, lanes = config.macro_tile, waves[0] * waves[1] * waves[2], arch.wave_size
    held = lanes * _REGISTER
    sums = tile.m * tile.n / (count * lanes)
    of_a = tile.m / waves[0] * tile.k * signature.a.bits / _BITS / held
    of_b = tile.n / waves[1] * tile.k * signature.b.bits / _BITS / held
    if isinstance(config, CkTileConfig):
        of_a /= 2
    coming = of_b if signature.preshuffle_b else staged / count / held
    vgprs = int(sums + of_a + of_b + coming + _OTHER_REGISTERS)
    by_registers = max(arch.waves_with(vgprs), 1) * SIMDS // count
    by_lds = int(arch.lds_bytes // max(staged * lds_buffers(signature, config, arch), 1))
    launched = blocks_per_cu(config) if strategy_of(config).is_stream_k else by_lds
    return max(min(by_registers, by_lds, launched), 1)
