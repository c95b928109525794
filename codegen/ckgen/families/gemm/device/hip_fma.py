"""ckgen's own kernels of fused multiply-adds as device code: one kernel per instance, for any arch that clang knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ckgen.families.common.cpp import boolean, dtype
from ckgen.families.common.device.kind import DeviceKind
from ckgen.families.common.device.unit import DeviceUnit, prepare_symbol, symbol_of
from ckgen.families.gemm.fma_config import FmaConfig
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.expectation import Expectation

_MOST_SPILLS = 16
"""Masks and sizes that scalar registers do not hold at once, in lanes of vector registers: none goes to memory."""


@dataclass(frozen=True, slots=True, order=True)
class FmaVariant:
    """The one device kernel."""

    name: str = "fma"


def unavailable(instance: Instance, arch: str) -> str | None:
    """Nothing keeps it from any arch."""
    return None


def splits_unavailable(instance: Instance, arch: str) -> str | None:
    """Why not with K splits."""
    return "the kernels of fused multiply-adds sum all of K in one workgroup"


def all_variants(instance: Instance) -> tuple[FmaVariant, ...]:
    """The kernel."""
    return (FmaVariant(),)


def expected(instance: Instance, arch: str, variant: FmaVariant) -> Expectation:
    """No matrix instruction, no scratch; few registers are spilled, into others."""
    lds = fma_config(instance).lds_bytes
    return Expectation(steps=(), copies=0, lds_bytes=lds, scratch_bytes=0, spills=_MOST_SPILLS, waves_per_simd=1)


def device_unit(instance: Instance, variants: Sequence[FmaVariant]) -> DeviceUnit:
    """The unit of the kernel."""
    (symbol,) = (symbol_of(instance, variant) for variant in variants)
    tile = fma_config(instance).tile
    values = {"instance": instance.name, "symbol": symbol, "traits": traits(instance.signature), "tile": tile}
    return DeviceUnit("device/hip_fma_device.hip.j2", values, (symbol,))


def host_unit(instance: Instance, variants: Mapping[str, Sequence[FmaVariant]]) -> DeviceUnit:
    """The host unit, the same for each arch."""
    (variant,) = all_variants(instance)
    prepare = prepare_symbol(instance.id)
    values = {
        "instance": instance.name,
        "symbol": symbol_of(instance, variant),
        "tile": fma_config(instance).tile,
        "prepare": prepare,
    }
    return DeviceUnit("device/hip_fma_host.cpp.j2", values, (prepare,))


def traits(signature: GemmSignature) -> list[str]:
    """The fields of a ckgen::GemmTraits, in its order."""
    block = signature.scale_block
    ops = ", ".join(f"ckgen::EpilogueOp::{op}" for op in signature.epilogue)
    return [
        *(dtype(one) for one in (signature.a, signature.b, signature.c, signature.acc)),
        f"ckgen::Layout::{signature.layout}",
        f"ckgen::Quant::{signature.quant}",
        boolean(signature.preshuffle_b),
        boolean(signature.bias),
        f"{{{{{ops}}}}}",
        f"ckgen::OperandOp::{signature.a_op}",
        f"ckgen::OperandOp::{signature.b_op}",
        f"{{ckgen::ScaleSides::{block.sides}, {block.n}, {block.k}}}",
    ]


def fma_config(instance: Instance) -> FmaConfig:
    """The Config of such an instance."""
    config = instance.config
    assert isinstance(config, FmaConfig), f"{instance.name} is no kernel of fused multiply-adds"
    return config


KIND: DeviceKind[Instance, FmaVariant] = DeviceKind(
    variants=(FmaVariant,),
    unavailable=unavailable,
    all_variants=all_variants,
    device_unit=device_unit,
    host_unit=host_unit,
    expected=expected,
    splits_unavailable=splits_unavailable,
)
"""These instances as device code."""
