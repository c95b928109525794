"""Predicted clocks in integers, by which tier predicted chooses; dispatcher_cpp/src/gemm/predicted.hpp in C++.

One fact is coarser than in gpu_time.py: memory is as fast as that of the product that constants were fitted on,
whatever the device, since a library is built for archs. No kernel is split, nor any that shares K among workgroups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from ckgen.families.gemm.config import strategy_of
from ckgen.families.gemm.cutlass_config import CutlassConfig
from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.predicted.chip import chip_of
from ckgen.families.gemm.predicted.constants import fitted_that_chooses
from ckgen.families.gemm.predicted.gpu_time import ALONE, EPILOGUE, LDS
from ckgen.families.gemm.predicted.gpu_work import gpu_work
from ckgen.families.gemm.signature import GemmSignature, module_of
from ckgen.model.arch import CPU_LEVELS
from ckgen.model.config import Config
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.specs.archs import load_arch

_TICKS = 256
"""Per clock."""
_PARTS = 1024
"""Of `apart` and `reload`."""
_MEMORY_BITS = 65536
_SLOTS = 1024
_MOST_CLUSTERS = 1 << 50


@dataclass(frozen=True, slots=True)
class KernelWork:
    """What a kernel asks of a CU, in ticks of 1/256 clock, times its factor of rank.

    `cluster` workgroups start together and cover `tile_m` x `tile_n`; 1024 CUs hold `slots` of them, a workgroup each.
    Per step of `tile_k`, of each workgroup: `matrix`, `alone` (over the workgroups that a CU holds together), `cache`,
    `lds`; of each round of residents: `latency`. Per tile `tile` of each round, `store` of each workgroup. Once:
    `launch`. `loaded` are bits of A and B per step, `memory` ticks per 65,536 bits; `apart`, `reload` and `outside`
    parts of 1024.
    """

    tile_m: int
    tile_n: int
    tile_k: int
    cluster: int
    slots: int
    resident: int
    matrix: int
    alone: int
    cache: int
    lds: int
    latency: int
    tile: int
    store: int
    launch: int
    loaded: int
    memory: int
    apart: int
    reload: int
    outside: int
    a_bits: int
    b_bits: int
    c_bits: int


def predicted_ticks(work: KernelWork, shape: Shape, cu_num: int) -> int:
    """Ticks of the problem, unsplit. Clusters beyond 2^50 count as 2^50."""
    batch, m, n, k = max(shape.batch, 1), shape.m, shape.n, shape.k
    over_m, over_n = -(-m // work.tile_m), -(-n // work.tile_n)
    clusters = min(over_m * over_n * batch, _MOST_CLUSTERS)
    slots = max(cu_num * work.slots // _SLOTS, 1)
    steps, waves = -(-k // work.tile_k), -(-clusters // slots)
    rounds, together = -(-waves // work.resident), min(waves, work.resident)
    loops = (
        steps * waves * (work.matrix + work.alone // together),
        steps * waves * work.cache,
        steps * waves * work.lds,
        steps * rounds * work.latency,
    )
    longest = max(loops)
    busy = longest + (sum(loops) - longest) * work.apart // _PARTS + rounds * work.tile + waves * work.store
    once = batch * k * (m * work.a_bits + n * work.b_bits)
    again = max(clusters * work.cluster * steps * work.loaded - once, 0) * work.reload // _PARTS
    outside = (over_m * work.tile_m - m) * over_n * work.a_bits + (over_n * work.tile_n - n) * over_m * work.b_bits
    beyond = batch * k * outside * work.outside // _PARTS
    memory = (once + again + beyond + batch * m * n * work.c_bits) * work.memory // _MEMORY_BITS
    return max(busy, memory) + min(busy, memory) * work.apart // _PARTS + work.launch


def timed(instances: Sequence[Instance]) -> dict[str, tuple[int, ...]]:
    """Per GPU arch, the instances of a signature that predicted times choose among, by number; archs without any, and
    those where they choose no better than the plain cost of defaults, are left out."""
    archs = sorted({arch for one in instances for arch in one.archs if arch not in CPU_LEVELS})
    found = {arch: tuple(at for at, one in enumerate(instances) if _has_work(one, arch)) for arch in archs}
    return {arch: numbers for arch, numbers in found.items() if numbers}


def work_on(instance: Instance, gfx: str) -> KernelWork:
    """Of one of those instances; AssertionError of another."""
    found = _work(instance.signature, instance.config, gfx)
    assert found is not None
    return found


def _has_work(instance: Instance, gfx: str) -> bool:
    return gfx in instance.archs and _work(instance.signature, instance.config, gfx) is not None


@cache
def _work(signature: GemmSignature, config: Config, gfx: str) -> KernelWork | None:
    fitted = fitted_that_chooses(gfx, module_of(signature) or "", str(signature.a))
    if fitted is None or signature.op is not Op.GEMM or _shares_k(config):
        return None
    arch, constants = load_arch(gfx), fitted.constants
    chip = chip_of(arch, Target(gfx, arch.default_cu_num, fitted.sku))
    work = gpu_work(signature, config, chip)
    if work is None:
        return None
    ranked = constants.rank_factor(config, 1)
    own = constants.of(work)
    matrix = ranked * work.matrix * own.matrix
    bits_per_clock = chip.gb_per_s * 1e3 * constants.memory * 8 / chip.mhz / ranked
    return KernelWork(
        tile_m=work.tile_m,
        tile_n=work.tile_n,
        tile_k=work.tile_k,
        cluster=work.cluster,
        slots=-(-work.slots * _SLOTS // chip.cu_num),
        resident=work.resident,
        matrix=_ticks(matrix + ranked * work.scale),
        alone=_ticks(matrix * ALONE / work.waves_per_simd),
        cache=_ticks(ranked * work.loaded / constants.cache),
        lds=_ticks(ranked * work.lds * LDS),
        latency=_ticks(ranked * constants.latency),
        tile=_ticks(ranked * own.tile),
        store=_ticks(ranked * own.store * work.stored / EPILOGUE),
        launch=_ticks(ranked * own.launch * chip.mhz),
        loaded=round(work.loaded * 8),
        memory=round(_MEMORY_BITS / bits_per_clock * _TICKS),
        apart=round(constants.apart * _PARTS),
        reload=round(constants.reload * _PARTS),
        outside=round(constants.outside * _PARTS),
        a_bits=signature.a.bits,
        b_bits=signature.b.bits,
        c_bits=signature.c.bits,
    )


def _shares_k(config: Config) -> bool:
    """Its workgroups share the K of tiles, which waves of whole tiles do not tell."""
    return strategy_of(config).is_stream_k or (isinstance(config, CutlassConfig) and config.stream_k)


def _ticks(clocks: float) -> int:
    return round(clocks * _TICKS)
