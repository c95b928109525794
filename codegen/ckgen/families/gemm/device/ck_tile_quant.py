"""ck_tile's QuantGemm as device code: GEMMs with fp32 scales of A and B over a B as it lies in memory.

A scale per row of A and column of C (RowColQuant), or one for each operand (TensorQuant). Which kernels an instance
has, its units' names and constants, and what the machine code must be. Source of the loop rule:
BaseGemmPipelineAgBgCrCompV3 (include/ck_tile/ops/gemm/pipeline); the host side asks that class, and tests hold both
equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ckgen.families.common.device.kind import DeviceKind
from ckgen.families.common.device.unit import DeviceUnit, Use, prepare_symbol, symbol_of
from ckgen.families.common.device.variant import cpp_bool
from ckgen.families.gemm.ck_tile_geometry import lds_bytes
from ckgen.families.gemm.config import CkTileConfig, TilePipeline
from ckgen.families.gemm.device.ck_tile_absent import unavailable
from ckgen.families.gemm.device.tile_parts import matrix_steps, tile_config
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


def device_unit(instance: Instance, variants: Sequence[QuantVariant]) -> DeviceUnit:
    """The unit of these kernels, in the order given."""
    symbols = tuple(symbol_of(instance, variant) for variant in variants)
    rows = [{"symbol": symbol, "loop": one.loop.value} for symbol, one in zip(symbols, variants, strict=True)]
    values = {"instance": instance.name, "config": constants(instance), "variants": rows}
    return DeviceUnit("device/ck_tile_quant_device.hip.j2", values, symbols)


def host_unit(instance: Instance, variants: Mapping[str, Sequence[QuantVariant]]) -> DeviceUnit:
    """The host unit where each arch's code object holds its variants; it names all that there are."""
    rows = [
        {
            "symbol": symbol_of(instance, one),
            "loop": one.loop.value,
            "archs": sorted(arch for arch, has in variants.items() if one in has),
        }
        for one in all_variants(instance)
    ]
    prepare = prepare_symbol(instance.id)
    values = {"instance": instance.name, "config": constants(instance), "variants": rows, "prepare": prepare}
    return DeviceUnit("device/ck_tile_quant_host.cpp.j2", values, (prepare,))


def expected(instance: Instance, arch: str, variant: QuantVariant) -> Expectation:
    """What the kernel's machine code must be."""
    config, signature = tile_config(instance), instance.signature
    return Expectation(
        steps=matrix_steps(instance, load_arch(arch)),
        copies=_COPIES[variant.loop],
        lds_bytes=lds_bytes(signature, config),
        scratch_bytes=0,
        spills=0,
        waves_per_simd=config.block_per_cu,
    )


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


KIND: DeviceKind[Instance, QuantVariant] = DeviceKind(
    variants=(QuantVariant,),
    unavailable=unavailable,
    reachable=reachable,
    all_variants=all_variants,
    device_unit=device_unit,
    host_unit=host_unit,
    expected=expected,
)
"""These instances as device code."""
