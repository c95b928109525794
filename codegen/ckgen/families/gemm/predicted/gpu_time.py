"""The time of a GEMM on a GPU: waves of workgroups over CUs, each with a loop over K, beside what memory delivers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ckgen.families.gemm.predicted.chip import Chip
from ckgen.families.gemm.predicted.gpu_work import GpuWork, Number, kernel_of
from ckgen.model.config import Config

ALONE = 0.35
"""How much longer matrix instructions take where a SIMD has one wave: its own waits are then hidden by none."""
LDS = 0.4
"""The part of LDS reads that is not between matrix instructions."""
EPILOGUE = 64
"""Elements of C per cycle that `epilogue` counts in."""


@dataclass(frozen=True, slots=True)
class Own:
    """Factors of the constants of these names, of one kernel; or these constants with all their factors."""

    launch: float = 1.0
    matrix: float = 1.0
    tile: float = 1.0
    store: float = 1.0


@dataclass(frozen=True, slots=True)
class GpuConstants:
    """What is fitted to measurements, per module and arch.

    `launch`: microseconds of a launch. `matrix`: cycles over those of the peak rate. `cache`: bytes per clock that a CU
    gets from L2. `memory`: the part of the peak bandwidth. `latency`: cycles of a step that residents do not share.
    `tile`: cycles before and after the loop. `store`: cycles per 64 elements of C. `reload`: the part of loads from L2
    that memory delivers again. `apart`: the part of the lesser terms that the greatest does not hide. `split`:
    microseconds that splits of K cost. `outside`: what a byte that tiles have beyond the ends of A and B costs, of one
    from memory; 0 where nothing tells. `pipelines`: a factor of `matrix` for each main loop, 1 where none is given;
    `launches`, `tiles` and `stores` likewise of `launch`, `tile` and `store`. `own`: factors by `kernel_of`, beside
    those of main loops, where kernels' times are known.

    `kernels` and `splits` rank kernels, and are no part of their times: factors of a kernel's time by `kernel_of`, and
    by the number of splits of K, 1 where none is given. predict/choice.py fits them.
    """

    launch: float
    matrix: float
    cache: float
    memory: float
    latency: float
    tile: float
    store: float
    reload: float
    apart: float
    split: float
    outside: float = 0.0
    pipelines: Mapping[str, float] = field(default_factory=dict)
    launches: Mapping[str, float] = field(default_factory=dict)
    tiles: Mapping[str, float] = field(default_factory=dict)
    stores: Mapping[str, float] = field(default_factory=dict)
    own: Mapping[str, Own] = field(default_factory=dict)
    kernels: Mapping[str, float] = field(default_factory=dict)
    splits: Mapping[str, float] = field(default_factory=dict)

    def of(self, work: GpuWork) -> Own:
        """Those of one kernel, with the factors of its main loop and its own."""
        loop, own = work.pipeline, self.own.get(work.kernel, Own())
        return Own(
            launch=self.launch * self.launches.get(loop, 1.0) * own.launch,
            matrix=self.matrix * self.pipelines.get(loop, 1.0) * own.matrix,
            tile=self.tile * self.tiles.get(loop, 1.0) * own.tile,
            store=self.store * self.stores.get(loop, 1.0) * own.store,
        )

    def times(self, factor: float) -> GpuConstants:
        """Those by which everything takes so many times as long, but what is the same of all: blocks' scales and LDS.
        Rounded to four digits."""
        slower = ("launch", "matrix", "latency", "tile", "store", "split")
        numbers: dict[str, Any] = {name: getattr(self, name) * factor for name in slower}
        numbers |= {name: getattr(self, name) / factor for name in ("cache", "memory")}
        rounded: dict[str, Any] = {name: float(f"{number:.4g}") for name, number in numbers.items()}
        return replace(self, **rounded)

    def rank_factor(self, config: Config, k_batch: int) -> float:
        """What the time of a kernel is multiplied by before it is ranked among others."""
        return self.kernels.get(kernel_of(config), 1.0) * self.splits.get(str(k_batch), 1.0)


@dataclass(frozen=True, slots=True)
class Sizes:
    """Of a problem, and its splits of K; each may be an array."""

    m: Number
    n: Number
    k: Number
    batch: Number
    k_batch: Number


@dataclass(frozen=True, slots=True)
class GpuTerms:
    """Microseconds, and what they come from; `fill`: the part of the CUs of all waves that has a workgroup."""

    waves: Number
    fill: Number
    compute: Number
    cache: Number
    lds: Number
    latency: Number
    tiles: Number
    memory: Number
    split: Number
    launch: Number
    us: Number


def gpu_time(
    work: GpuWork, sizes: Sizes, chip: Chip, constants: GpuConstants, larger: Callable[[Any, Any], Any] = max
) -> GpuTerms:
    """The terms of one kernel on one problem; with `larger` numpy.maximum, of arrays of either."""
    over_m, over_n = -(-sizes.m // work.tile_m), -(-sizes.n // work.tile_n)
    clusters = over_m * over_n * sizes.batch * sizes.k_batch
    workgroups = clusters * work.cluster
    part = -(-sizes.k // sizes.k_batch)
    steps = -(-part // work.tile_k)
    waves = -(-clusters // work.slots)
    rounds = -(-waves // work.resident)
    together = waves - larger(waves - work.resident, 0)
    per_us = 1 / chip.mhz
    own = constants.of(work)
    matrix = work.matrix * own.matrix * (1 + ALONE / (together * work.waves_per_simd)) + work.scale
    compute = steps * waves * matrix * per_us
    cache = steps * waves * work.loaded / constants.cache * per_us
    lds = steps * waves * work.lds * LDS * per_us
    latency = steps * rounds * constants.latency * per_us
    tiles = (rounds * own.tile + waves * own.store * work.stored / EPILOGUE) * per_us
    longest = larger(larger(compute, cache), larger(lds, latency))
    loop = longest + constants.apart * (compute + cache + lds + latency - longest)
    outside = (over_m * work.tile_m - sizes.m) * over_n * work.a_bytes
    outside = sizes.batch * sizes.k * (outside + (over_n * work.tile_n - sizes.n) * over_m * work.b_bytes)
    moved = _bytes(work, sizes, workgroups * steps * work.loaded, constants, larger) + constants.outside * outside
    memory = moved / (chip.gb_per_s * 1e3 * constants.memory)
    busy = loop + tiles
    longer = larger(busy, memory)
    split = (sizes.k_batch > 1) * constants.split
    us = own.launch + longer + constants.apart * (busy + memory - longer) + split
    fill = workgroups / (waves * chip.cu_num)
    return GpuTerms(waves, fill, compute, cache, lds, latency, tiles, memory, split, own.launch, us)


def _bytes(
    work: GpuWork, sizes: Sizes, loaded: Number, constants: GpuConstants, larger: Callable[[Any, Any], Any]
) -> Number:
    """A, B and C once, and of what is loaded again a part."""
    once = sizes.batch * sizes.k * (sizes.m * work.a_bytes + sizes.n * work.b_bytes)
    return once + constants.reload * larger(loaded - once, 0) + sizes.batch * sizes.m * sizes.n * work.c_bytes
