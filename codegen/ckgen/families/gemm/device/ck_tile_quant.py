"""ck_tile's QuantGemm as device code: GEMMs with fp32 scales of A and B over a B as it lies in memory.

A scale per row of A and column of C (RowColQuant), or one for each operand (TensorQuant). Which kernels an instance
has, its units' names and constants, and what the machine code must be. Source of the loop rule:
BaseGemmPipelineAgBgCrCompV3 (include/ck_tile/ops/gemm/pipeline); the host side asks that class, and tests hold both
equal.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ckgen.families.common.device.kind import DeviceKind
from ckgen.families.common.device.unit import Use
from ckgen.families.common.device.variant import cpp_bool
from ckgen.families.gemm.config import CkTileConfig, TilePipeline
from ckgen.families.gemm.device.ck_tile_absent import unavailable
from ckgen.families.gemm.device.listed_units import ListedUnits
from ckgen.families.gemm.device.tile_parts import demands, tile_config
from ckgen.families.gemm.enums import Quant
from ckgen.families.gemm.instance import Instance
from ckgen.model.expectation import Expectation
from ckgen.specs.archs import load_arch


class Loop(Enum):
    """How many K steps a problem has, as far as the main loop asks; by name as QuantLoop in quant.hpp."""

    ONE = "one"
    TWO = "two"
    MANY = "many"


_COPIES = {Loop.ONE: 1, Loop.TWO: 2, Loop.MANY: 2}
"""K steps in the kernel's text: of many, the main loop's body and the last step."""


@dataclass(frozen=True, slots=True)
class QuantVariant:
    """One device kernel."""

    loop: Loop

    @property
    def name(self) -> str:
        """Such as `many_set`: C is always set, for the kernel takes no K splits."""
        return f"{self.loop.value}_set"


def is_quant(instance: Instance) -> bool:
    """Whether the instance is one of this module's."""
    config, quant = instance.config, instance.signature.quant
    scaled = quant in (Quant.ROWWISE, Quant.PER_TENSOR)
    return isinstance(config, CkTileConfig) and config.pipeline is TilePipeline.COMPV3 and scaled


def variant_of(instance: Instance, use: Use) -> QuantVariant:
    """The kernel that a supported problem reaches."""
    steps = -(-use.shape.k // tile_config(instance).tile.k)
    return QuantVariant(Loop.ONE if steps == 1 else Loop.TWO if steps == _COPIES[Loop.TWO] else Loop.MANY)


def reachable(instance: Instance, uses: Iterable[Use]) -> tuple[QuantVariant, ...]:
    """What the uses reach, in the order of `all_variants`; M and N do not choose a kernel."""
    found = {variant_of(instance, use) for use in uses}
    return tuple(variant for variant in all_variants(instance) if variant in found)


def all_variants(instance: Instance) -> tuple[QuantVariant, ...]:
    """Every kernel that a supported problem can reach."""
    return tuple(QuantVariant(loop) for loop in Loop)


def expected(instance: Instance, arch: str, variant: QuantVariant) -> Expectation:
    """What the kernel's machine code must be."""
    return demands(instance, load_arch(arch), _COPIES[variant.loop])


def constants(instance: Instance) -> dict[str, Any]:
    """The fields of QuantConfig in dispatcher_cpp/backends/ck_tile/quant.hpp, in its order."""
    config, signature = tile_config(instance), instance.signature
    return {
        "operand": signature.a.value,
        "c": signature.c.value,
        "tile": [config.tile.m, config.tile.n, config.tile.k],
        "warps": list(config.warps),
        "warp_tile": [config.warp_tile.m, config.warp_tile.n, config.warp_tile.k],
        "flags": [
            ("per_tensor", cpp_bool(signature.quant is Quant.PER_TENSOR)),
            *((name, cpp_bool(getattr(config, name))) for name in ("pad_m", "pad_n", "pad_k")),
        ],
        "numbers": [
            (name, getattr(config, name)) for name in ("partitioner_group_num", "partitioner_m01", "block_per_cu")
        ],
    }


UNITS = ListedUnits("ck_tile_quant", constants, all_variants, lambda one: {"loop": one.loop.value})
"""Of these instances."""

KIND: DeviceKind[Instance, QuantVariant] = DeviceKind(
    variants=(QuantVariant,),
    unavailable=unavailable,
    reachable=reachable,
    all_variants=all_variants,
    device_unit=UNITS.device_unit,
    host_unit=UNITS.host_unit,
    expected=expected,
)
"""These instances as device code."""
