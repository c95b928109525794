"""The time of a GEMM on a CPU: packing of A and B, the micro kernel's cycles, and what sums cost between blocks of K.

Few rows (`FEW_ROWS`) are not packed: one kernel reads B once, whatever the Config.
Source of the loops: dispatcher_cpp/backends/host, geometry.cpp, driver.cpp and small_m.hpp.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields

from ckgen.families.gemm.config import HostConfig
from ckgen.families.gemm.enums import Layout, OperandOp, Quant
from ckgen.families.gemm.predicted.chip import Chip
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.config import Config
from ckgen.model.dtype import DType
from ckgen.model.tuned_row import Shape

FEW_ROWS = 16
_FEW_BEFORE_TILES = 4
"""Where kernels of AMX's tiles take over."""
_WORD_BITS = 32
_LOADS = 2
"""Vector loads per clock."""
_LATENCY = 5
"""Clocks from one FMA to the next on the same sum: of an EPYC's four, and one since as many sums as just hide them are
never issued without a gap."""
_LINE = 64
_TILE = 16
"""Rows, columns and words of K of a tile of AMX, whose product takes as many clocks."""


@dataclass(frozen=True, slots=True)
class CpuConstants:
    """Microseconds of a call, then clocks per unit of `CpuCounts`, field by field.

    The values of a CPU that nobody calibrated are round ones of fp32 on a core of an AMD EPYC, family 26, whose clock
    was taken as 4 GHz.
    """

    call: float = 2.0
    fma: float = 0.9
    pack_a: float = 28.0
    pack_b: float = 25.0
    pack_fused: float = 20.0
    sums: float = 25.0
    few_fma: float = 2.0
    few_lines: float = 2.0
    tiles: float = 1.5
    tall_tiles: float = 1.5


@dataclass(frozen=True, slots=True)
class CpuCounts:
    """What the busiest core does: clocks of FMA at its best; vectors packed of A, of B, and of B beside the products;
    vectors of sums that leave registers; of few rows clocks of FMA and cache lines of B; clocks of products of AMX's
    tiles, of kernels with one row of tiles and with two. `call` is 1."""

    call: float
    fma: float
    pack_a: float
    pack_b: float
    pack_fused: float
    sums: float
    few_fma: float
    few_lines: float
    tiles: float = 0
    tall_tiles: float = 0


@dataclass(frozen=True, slots=True)
class CpuTerms:
    """Microseconds of each count, and of all."""

    parts: dict[str, float]
    us: float


def cpu_time(counts: CpuCounts, chip: Chip, constants: CpuConstants) -> CpuTerms:
    """The sum of all counts at their constants."""
    names = [one.name for one in fields(CpuCounts)]
    per_unit = zip(names, astuple(counts), astuple(constants), strict=True)
    parts = {name: count * price / (1 if name == "call" else chip.mhz) for name, count, price in per_unit}
    return CpuTerms(parts, sum(parts.values()))


def cpu_counts(signature: GemmSignature, config: Config, shape: Shape, chip: Chip) -> CpuCounts | None:
    """None for what is no host kernel. Stream-K is taken to share evenly; joining its parts is not counted."""
    if not isinstance(config, HostConfig) or chip.arch.cpu is None:
        return None
    lanes = chip.arch.cpu.vector_bits // _WORD_BITS
    plain = chip.ops_per_clock(DType.FP32, DType.FP32) or 2.0 * lanes
    units = max(plain / (2 * lanes), 1.0)
    threads = min(config.threads or chip.cu_num, chip.cu_num)
    batch, words = max(shape.batch, 1), -(-shape.k // _packed_together(signature, chip))
    has_tiles = _has_tiles(signature, config, chip)
    if (
        shape.m <= (_FEW_BEFORE_TILES if has_tiles else FEW_ROWS)
        and not signature.preshuffle_b
        and signature.layout is Layout.RCR
    ):
        share = batch * shape.n / threads
        lines = share * shape.k * signature.b.bits / 8 / _LINE
        return CpuCounts(1, 0, 0, 0, 0, 0, shape.m * share * words / lanes / units, lines)
    mr, nr = config.mr, config.nr
    panels_m, panels_n = -(-shape.m // mr), -(-shape.n // nr)
    if has_tiles and panels_m * _TILE >= shape.m:  # shorter tiles do
        mr = _TILE
    block_m, block_n = min(panels_m, -(-config.mc // mr)), min(panels_n, -(-config.nc // nr))
    fused = panels_m <= block_m
    if fused:
        block_n = max(min(block_n, panels_n // (2 * threads)), 1)
    items = -(-panels_m // block_m) * -(-panels_n // block_n)
    even = batch / threads
    share = even if config.strategy.is_stream_k else -(-items // threads) / items * batch
    tiles = panels_m * panels_n * share
    sums = mr * nr / lanes
    clocks = max(sums / units, (nr / lanes + mr) / _LOADS, _LATENCY)
    of_a = panels_m * mr * words / lanes * batch / threads
    of_b = panels_n * nr * words / lanes
    of_tiles = 0.0
    if has_tiles:  # which read A where it lies
        bits = signature.a.bits
        of_tiles = tiles * (mr // _TILE) * (nr // _TILE) * -(-shape.k * bits // (_WORD_BITS * _TILE)) * _TILE
        clocks = of_a = 0.0
    return CpuCounts(
        call=1,
        fma=tiles * words * clocks,
        pack_a=of_a,
        pack_b=0 if fused else of_b * batch / threads,
        pack_fused=of_b * share if fused else 0,
        sums=tiles * -(-shape.k // config.kc) * sums,
        few_fma=0,
        few_lines=0,
        tiles=of_tiles if mr == _TILE else 0,
        tall_tiles=of_tiles if mr > _TILE else 0,
    )


def _has_tiles(signature: GemmSignature, config: HostConfig, chip: Chip) -> bool:
    """Whether AMX's tiles multiply operands of that type."""
    has = {DType.BF16: "amx_bf16", DType.INT8: "amx_int8"}.get(signature.a)
    return config.has_tiles and chip.arch.cpu is not None and has in chip.arch.cpu.capabilities


def _packed_together(signature: GemmSignature, chip: Chip) -> int:
    """Elements of a word of packed operands: two 8-bit integers as 16 bits, two bf16 where the level has them."""
    if signature.a is DType.INT8:
        return 2
    grouped = signature.quant in (Quant.BLOCKSCALE, Quant.MX)
    combined = (signature.a_op, signature.b_op) != (OperandOp.NONE, OperandOp.NONE)
    exact = max(signature.a.bits, signature.b.bits) <= DType.BF16.bits and DType.FP16 not in (signature.a, signature.b)
    can = chip.arch.cpu is not None and "avx512_bf16" in chip.arch.cpu.capabilities
    return 2 if exact and can and not grouped and not combined else 1
