"""ck_tile's stream-K GEMMs as device code: one kernel per instance, its units' names and constants, its demands.

The main loops are the dense pipelines'; each form of them is in the kernel once, as parts of a tile may have any number
of K tiles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ckgen.families.common.device.kind import DeviceKind
from ckgen.families.common.device.unit import DeviceUnit, prepare_symbol, symbol_of
from ckgen.families.gemm.ck_tile_geometry import lds_bytes
from ckgen.families.gemm.device import ck_tile as dense
from ckgen.families.gemm.device.tile_parts import matrix_steps, tile_config
from ckgen.families.gemm.instance import Instance
from ckgen.model.expectation import Expectation
from ckgen.model.strategy import Strategy
from ckgen.specs.archs import load_arch

_SIMDS = 4


@dataclass(frozen=True, slots=True, order=True)
class StreamKVariant:
    """The one device kernel, named after how the parts of a tile meet."""

    name: str


def unavailable(instance: Instance, arch: str) -> str | None:
    """Why the CK tree cannot make a legal instance for the arch: what dense kernels lack; None if it can."""
    return dense.unavailable(instance, arch)


def all_variants(instance: Instance) -> tuple[StreamKVariant, ...]:
    """The kernel."""
    return (StreamKVariant(_strategy(instance).value),)


def waves_per_simd(instance: Instance) -> int:
    """Waves of the instance's resident workgroups on each SIMD."""
    config = tile_config(instance)
    waves = config.warps[0] * config.warps[1] * config.warps[2]
    return -(-config.block_per_cu * waves // _SIMDS)


def expected(instance: Instance, arch: str, variant: StreamKVariant) -> Expectation:
    """What the kernel's machine code must be: the dense kernels' K steps together, and registers for all that are
    resident."""
    config, signature, spec = tile_config(instance), instance.signature, load_arch(arch)
    return Expectation(
        steps=matrix_steps(instance, spec),
        copies=sum(dense.copies(instance, loop) for loop in dense.main_loops(instance)),
        lds_bytes=min(lds_bytes(signature, config, spec.wave_size), spec.lds_bytes),
        scratch_bytes=0,
        spills=0,
        waves_per_simd=waves_per_simd(instance),
        resident=True,
    )


def device_unit(instance: Instance, variants: Sequence[StreamKVariant]) -> DeviceUnit:
    """The unit of the kernel."""
    (symbol,) = (symbol_of(instance, variant) for variant in variants)
    values = {
        "instance": instance.name,
        "config": dense.constants(instance),
        "strategy": _strategy(instance).value,
        "symbol": symbol,
    }
    return DeviceUnit("device/ck_tile_stream_k_device.hip.j2", values, (symbol,))


def host_unit(instance: Instance, variants: Mapping[str, Sequence[StreamKVariant]]) -> DeviceUnit:
    """The host unit; `variants` are those of each arch's code object."""
    (variant,) = all_variants(instance)
    prepare = prepare_symbol(instance.id)
    values = {
        "instance": instance.name,
        "config": dense.constants(instance),
        "strategy": _strategy(instance).value,
        "symbol": symbol_of(instance, variant),
        "archs": sorted(arch for arch, held in variants.items() if variant in held),
        "prepare": prepare,
    }
    return DeviceUnit("device/ck_tile_stream_k_host.cpp.j2", values, (prepare,))


def _strategy(instance: Instance) -> Strategy:
    return tile_config(instance).strategy


KIND: DeviceKind[Instance, StreamKVariant] = DeviceKind(
    variants=(StreamKVariant,),
    unavailable=unavailable,
    all_variants=all_variants,
    device_unit=device_unit,
    host_unit=host_unit,
    expected=expected,
)
"""These instances as device code."""
