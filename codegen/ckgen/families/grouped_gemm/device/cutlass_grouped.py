"""CUTLASS's kernels over groups as device code: one for all groups, and those that make its table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ckgen.families.common.cpp import boolean
from ckgen.families.common.device.kind import DeviceKind
from ckgen.families.common.device.unit import DeviceUnit, groups_symbol, prepare_symbol, symbol_of, workspace_symbol
from ckgen.families.gemm.device import cutlass
from ckgen.families.gemm.device.cutlass import CutlassVariant, cutlass_config
from ckgen.families.gemm.instance import Instance
from ckgen.model.expectation import Expectation
from ckgen.specs.archs import load_arch

_RESERVED = 1024
"""Bytes of shared memory that CUDA keeps of every workgroup."""
_GEMM, _UPLOAD, _DESCRIBE = (CutlassVariant(name) for name in ("gemm", "upload", "describe"))


def all_variants(instance: Instance) -> tuple[CutlassVariant, ...]:
    """The kernel over groups, and those that write its table from arguments or from arrays on the device."""
    return (_GEMM, _UPLOAD, _DESCRIBE)


def expected(instance: Instance, arch: str, variant: CutlassVariant) -> Expectation:
    """As of a GEMM; the others hold nothing of their own in shared memory."""
    if variant == _GEMM:
        return cutlass.expected(instance, arch, variant)
    return Expectation(steps=(), copies=0, lds_bytes=_RESERVED, scratch_bytes=0, spills=0, waves_per_simd=1)


def device_unit(instance: Instance, variants: Sequence[CutlassVariant]) -> DeviceUnit:
    """The unit of the kernels."""
    symbols = tuple(symbol_of(instance, variant) for variant in variants)
    return DeviceUnit("device/cutlass_grouped_device.cu.j2", _values(instance), symbols)


def host_unit(instance: Instance, variants: Mapping[str, Sequence[CutlassVariant]]) -> DeviceUnit:
    """The host unit, the same for each arch."""
    defined = {
        "prepare": prepare_symbol(instance.id),
        "workspace": workspace_symbol(instance.id),
        "groups": groups_symbol(instance.id),
    }
    values = {**_values(instance), **defined, "shared": min(load_arch(arch).lds_bytes for arch in variants)}
    return DeviceUnit("device/cutlass_grouped_host.cpp.j2", values, tuple(defined.values()))


def _values(instance: Instance) -> dict[str, Any]:
    config, signature = cutlass_config(instance), instance.signature
    words = [*cutlass.first_words(instance), boolean(config.swap)]
    if signature.bias or signature.epilogue:
        words.append(cutlass.following(instance))
    return {
        "instance": instance.name,
        "config": ", ".join(words),
        "extended": config.has_extended_width,
        "symbols": {variant.name: symbol_of(instance, variant) for variant in all_variants(instance)},
    }


KIND: DeviceKind[Instance, CutlassVariant] = DeviceKind(
    variants=(CutlassVariant,),
    unavailable=cutlass.unavailable,
    all_variants=all_variants,
    device_unit=device_unit,
    host_unit=host_unit,
    expected=expected,
    splits_unavailable=cutlass.splits_unavailable,
)
"""These instances as device code."""
