"""ck_tile's kernels that append to a cache as device code: units, constants, what their machine code must be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ckgen.families.common.device.kind import DeviceKind
from ckgen.families.common.device.unit import DeviceUnit, kernel_symbol, prepare_symbol
from ckgen.families.common.device.variant import cpp_bool
from ckgen.families.fmha.append_config import CkTileAppendConfig
from ckgen.families.fmha.device.cpp_traits import cpp_traits
from ckgen.families.fmha.device.recorded import allowed_overflow
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.tree import why_no_tiles
from ckgen.model.expectation import Expectation


@dataclass(frozen=True, slots=True, order=True)
class AppendVariant:
    """The one device kernel."""

    name: str = "append"


_APPEND = AppendVariant()


def unavailable(instance: FmhaInstance, arch: str) -> str | None:
    """Why the CK tree cannot make a legal instance for the arch; None if it can."""
    return why_no_tiles(arch)


def splits_unavailable(instance: FmhaInstance, arch: str) -> str | None:
    """There are no sums to split."""
    return "a kernel that appends sums nothing up"


def all_variants(instance: FmhaInstance) -> tuple[AppendVariant, ...]:
    """The kernel."""
    return (_APPEND,)


def symbol(instance: FmhaInstance, variant: AppendVariant) -> str:
    """The kernel's name in every code object that has it."""
    return kernel_symbol(instance.id, variant)


def expected(instance: FmhaInstance, arch: str, variant: AppendVariant) -> Expectation:
    """No matrix instruction and no LDS; registers overflow as recorded."""
    overflow = allowed_overflow(instance.name, arch)
    return Expectation(
        steps=(), copies=0, lds_bytes=0, scratch_bytes=overflow.scratch_bytes, spills=overflow.spills, waves_per_simd=1
    )


def device_unit(instance: FmhaInstance, variants: Sequence[AppendVariant]) -> DeviceUnit:
    """The unit of the kernel."""
    (name,) = (symbol(instance, variant) for variant in variants)
    return DeviceUnit("device/ck_tile_fmha_append_device.hip.j2", {**_values(instance), "symbol": name}, (name,))


def host_unit(instance: FmhaInstance, variants: Mapping[str, Sequence[AppendVariant]]) -> DeviceUnit:
    """The host unit; `variants` are those of each arch's code object."""
    prepare = prepare_symbol(instance.id)
    values = {
        **_values(instance),
        "symbol": symbol(instance, _APPEND),
        "archs": sorted(arch for arch, held in variants.items() if _APPEND in held),
        "prepare": prepare,
    }
    return DeviceUnit("device/ck_tile_fmha_append_host.cpp.j2", values, (prepare,))


def _values(instance: FmhaInstance) -> dict[str, Any]:
    config, signature = instance.config, instance.signature
    assert isinstance(config, CkTileAppendConfig), f"{instance.name} is no kernel of ck_tile that appends"
    flags = ("pad_q", "pad_hdim_q", "pad_hdim_v")
    return {
        "instance": instance.name,
        "dtype": signature.a.value,
        "traits": cpp_traits(signature.traits),
        "numbers": [
            *((name, getattr(config, name)) for name in ("m0", "n0", "hdim")),
            *((name, cpp_bool(getattr(config, name))) for name in flags),
        ],
    }


KIND: DeviceKind[FmhaInstance, AppendVariant] = DeviceKind(
    variants=(AppendVariant,),
    unavailable=unavailable,
    all_variants=all_variants,
    device_unit=device_unit,
    host_unit=host_unit,
    expected=expected,
    splits_unavailable=splits_unavailable,
    symbol=symbol,
)
"""These instances as device code."""
