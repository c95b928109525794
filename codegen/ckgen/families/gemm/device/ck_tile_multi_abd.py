"""ck_tile's GEMMs with a batch, a bias, D tensors or operands of two tensors as device code.

Main loops, variants and demands are the dense kind's: only what the units say besides, and what cannot be made, differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ckgen.families.common.device.kind import DeviceKind
from ckgen.families.common.device.unit import DeviceUnit, prepare_symbol, symbol_of
from ckgen.families.common.device.variant import cpp_bool
from ckgen.families.gemm.ck_tile_geometry import COMBINING
from ckgen.families.gemm.config import Epilogue
from ckgen.families.gemm.device import ck_tile as dense
from ckgen.families.gemm.device.tile_parts import tile_config
from ckgen.families.gemm.instance import Instance


def unavailable(instance: Instance, arch: str) -> str | None:
    """Why the CK tree cannot make the instance's code for the arch; None if it can."""
    config = tile_config(instance)
    if config.pipeline not in COMBINING:
        return f"{config.pipeline} applies no function to what it loads"
    if config.epilogue is not Epilogue.CSHUFFLE:
        return "an epilogue's ops are applied behind the C-shuffle: epilogue must be cshuffle"
    if config.persistent:
        return "a batch and an epilogue take a fixed grid: persistent must be false"
    return dense.lacking(instance, arch)


def device_unit(instance: Instance, variants: Sequence[dense.TileVariant]) -> DeviceUnit:
    """The unit of these kernels, in the order given."""
    symbols = tuple(symbol_of(instance, variant) for variant in variants)
    values = dense.device_values(instance, variants) | {"fused": fused(instance)}
    return DeviceUnit("device/ck_tile_multi_abd_device.hip.j2", values, symbols)


def host_unit(instance: Instance, variants: Mapping[str, Sequence[dense.TileVariant]]) -> DeviceUnit:
    """The host unit; `variants` are those of each arch's code object."""
    values = dense.host_values(instance, variants) | {"fused": fused(instance)}
    return DeviceUnit("device/ck_tile_multi_abd_host.cpp.j2", values, (prepare_symbol(instance.id),))


def fused(instance: Instance) -> Mapping[str, object]:
    """The fields of the unit's Config that a dense one has not."""
    signature = instance.signature
    epilogue = [op.value for op in signature.epilogue]
    operands = {"a_op": signature.a_op.value, "b_op": signature.b_op.value}
    return {"bias": cpp_bool(signature.bias), "epilogue": epilogue, **operands}


KIND: DeviceKind[Instance, dense.TileVariant] = DeviceKind(
    variants=(dense.TileVariant,),
    unavailable=unavailable,
    reachable=dense.reachable,
    all_variants=dense.all_variants,
    device_unit=device_unit,
    host_unit=host_unit,
    expected=dense.expected,
)
"""These instances as device code."""
