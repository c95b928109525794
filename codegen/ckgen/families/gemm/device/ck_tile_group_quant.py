"""ck_tile's QuantGemm with fp32 scales for groups of A alone or of B alone, as device code.

One kernel takes every problem. Its units' names and constants, and what its machine code must be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ckgen.families.common.device.kind import DeviceKind
from ckgen.families.common.device.variant import cpp_bool
from ckgen.families.gemm.device.ck_tile_absent import unavailable
from ckgen.families.gemm.device.listed_units import ListedUnits
from ckgen.families.gemm.device.tile_parts import demands, tile_config
from ckgen.families.gemm.instance import Instance
from ckgen.model.expectation import Expectation
from ckgen.specs.archs import load_arch

_COPIES = 2
"""K steps in the kernel's text: the main loop's body and the last step."""


@dataclass(frozen=True, slots=True)
class GroupVariant:
    """The device kernel."""

    @property
    def name(self) -> str:
        """C is always set, for the kernel takes no K splits."""
        return "any_set"


def all_variants(instance: Instance) -> tuple[GroupVariant, ...]:
    """Every kernel that a supported problem can reach."""
    return (GroupVariant(),)


def expected(instance: Instance, arch: str, variant: GroupVariant) -> Expectation:
    """What the kernel's machine code must be."""
    return demands(instance, load_arch(arch), _COPIES)


def constants(instance: Instance) -> dict[str, Any]:
    """The fields of GroupQuantConfig in dispatcher_cpp/backends/ck_tile/group_quant.hpp, in its order."""
    config, signature = tile_config(instance), instance.signature
    flags = ("transpose_c", "pad_m", "pad_n", "pad_k")
    numbers = ("partitioner_group_num", "partitioner_m01", "block_per_cu")
    block = signature.scale_block
    return {
        "a": signature.a.value,
        "b": signature.b.value,
        "c": signature.c.value,
        "tile": [config.tile.m, config.tile.n, config.tile.k],
        "warps": list(config.warps),
        "warp_tile": [config.warp_tile.m, config.warp_tile.n, config.warp_tile.k],
        "flags": [("of_a", cpp_bool(block.of_a)), *((name, cpp_bool(getattr(config, name))) for name in flags)],
        "numbers": [("group_n", block.n), ("group_k", block.k), *((name, getattr(config, name)) for name in numbers)],
    }


UNITS = ListedUnits("ck_tile_group_quant", constants, all_variants, lambda one: {})
"""Of these instances."""

KIND: DeviceKind[Instance, GroupVariant] = DeviceKind(
    variants=(GroupVariant,),
    unavailable=unavailable,
    all_variants=all_variants,
    device_unit=UNITS.device_unit,
    host_unit=UNITS.host_unit,
    expected=expected,
)
"""These instances as device code."""
