"""ck_tile's flatmm as device code: GEMMs over a preshuffled B, with a scale per row and column or none.

Which kernels an instance has, its units' names and constants, and what the machine code must be. Source of the loop
rule: BaseFlatmmPipelineAGmemBGmemCRegV1 (include/ck_tile/ops/flatmm/pipeline); the host side asks that class, and
tests hold both equal.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ckgen.families.common.device.kind import DeviceKind
from ckgen.families.common.device.unit import Use
from ckgen.families.common.device.variant import cpp_bool
from ckgen.families.gemm.ck_tile_geometry import epilogue_bytes
from ckgen.families.gemm.device.ck_tile_absent import unavailable
from ckgen.families.gemm.device.listed_units import ListedUnits
from ckgen.families.gemm.device.recorded import recorded_overflow
from ckgen.families.gemm.device.tile_parts import matrix_steps, tile_config
from ckgen.families.gemm.enums import Quant
from ckgen.families.gemm.instance import Instance
from ckgen.model.expectation import Expectation
from ckgen.specs.archs import load_arch

_MAIN_LOOP_STEPS = 2
_TAIL_STEPS = {True: 1, False: 2}
"""K steps after the main loop, by whether their number is odd."""


@dataclass(frozen=True, slots=True, order=True)
class FlatmmVariant:
    """One device kernel: whether a split's K steps are odd in number, and whether C is added to."""

    odd: bool
    add: bool

    @property
    def name(self) -> str:
        """Such as `odd_set`."""
        return f"{'odd' if self.odd else 'even'}_{'add' if self.add else 'set'}"


def variant_of(instance: Instance, use: Use) -> FlatmmVariant:
    """The kernel that a supported problem reaches."""
    splits = max(use.k_batch, 1)
    steps = -(-use.shape.k // (splits * tile_config(instance).tile.k))
    return FlatmmVariant(odd=steps % 2 == 1, add=splits > 1)


def reachable(instance: Instance, uses: Iterable[Use]) -> tuple[FlatmmVariant, ...]:
    """What the uses reach, sorted; M and N do not choose a kernel."""
    return tuple(sorted({variant_of(instance, use) for use in uses}))


def all_variants(instance: Instance) -> tuple[FlatmmVariant, ...]:
    """Every kernel that a supported problem can reach, sorted."""
    adds = (False, True) if instance.constraints.max_k_batch > 1 else (False,)
    return tuple(FlatmmVariant(odd, add) for odd in (False, True) for add in adds)


def lds_of(instance: Instance) -> int:
    """Bytes of LDS: A is staged in two buffers, of which the C-shuffle reuses the first."""
    config, signature = tile_config(instance), instance.signature
    staging = config.tile.m * config.tile.k * signature.a.bits // 8
    return max(staging, epilogue_bytes(signature, config)) + staging


def expected(instance: Instance, arch: str, variant: FlatmmVariant) -> Expectation:
    """What the kernel's machine code must be."""
    config = tile_config(instance)
    overflow = recorded_overflow(instance, arch, variant.name)
    return Expectation(
        steps=matrix_steps(instance, load_arch(arch), preshuffle=True),
        copies=_MAIN_LOOP_STEPS + _TAIL_STEPS[variant.odd],
        lds_bytes=lds_of(instance),
        scratch_bytes=overflow.scratch_bytes,
        spills=overflow.spills,
        waves_per_simd=config.block_per_cu,
    )


def constants(instance: Instance) -> dict[str, Any]:
    """The fields of FlatmmConfig in dispatcher_cpp/backends/ck_tile/flatmm.hpp, in its order."""
    config, signature = tile_config(instance), instance.signature
    flags = ("pad_m", "pad_n", "pad_k", "transpose_c", "structured_sparsity", "double_smem")
    numbers = ("partitioner_group_num", "partitioner_m01", "num_wave_groups", "block_per_cu")
    return {
        "operand": signature.a.value,
        "c": signature.c.value,
        "scaled": cpp_bool(signature.quant is Quant.ROWWISE),
        "tile": [config.tile.m, config.tile.n, config.tile.k],
        "warps": list(config.warps),
        "warp_tile": [config.warp_tile.m, config.warp_tile.n, config.warp_tile.k],
        "flags": [(name, cpp_bool(getattr(config, name))) for name in flags],
        "numbers": [(name, getattr(config, name)) for name in numbers],
    }


UNITS = ListedUnits(
    "ck_tile_flatmm", constants, all_variants, lambda one: {"odd": cpp_bool(one.odd), "add": cpp_bool(one.add)}
)
"""Of these instances."""

KIND: DeviceKind[Instance, FlatmmVariant] = DeviceKind(
    variants=(FlatmmVariant,),
    unavailable=unavailable,
    reachable=reachable,
    all_variants=all_variants,
    device_unit=UNITS.device_unit,
    host_unit=UNITS.host_unit,
    expected=expected,
)
"""These instances as device code."""
