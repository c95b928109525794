"""Attention kernels that AMD ships as device code: what to take, the host unit, what the machine code must be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ckgen.families.common.device.kind import DeviceKind
from ckgen.families.common.device.shipped import (
    ShippedVariant,
    any_steps,
    config_of,
    demands,
    not_shipped,
    shipped_kind,
)
from ckgen.families.common.device.unit import DeviceUnit, prepare_symbol
from ckgen.families.common.device.variant import cpp_bool
from ckgen.families.fmha.asm_kernels import FORWARD, AsmFmhaKernel, asm_fmha_kernel_of
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.model.dtype import DType
from ckgen.model.expectation import Expectation
from ckgen.specs import load_arch


def unavailable(instance: FmhaInstance, arch: str) -> str | None:
    """Why there is no code object for an arch, or it computes something else; None where all is well."""
    kernel = kernel_of(instance)
    if (absent := not_shipped(kernel, arch)) is not None:
        return absent
    return None if instance.signature in kernel.signatures else f"{kernel.config.name} computes other attention"


def splits_unavailable(instance: FmhaInstance, arch: str) -> str | None:
    """Why KV cannot be split."""
    return "the shipped kernel takes all keys of a row in one workgroup"


def host_unit(instance: FmhaInstance, variants: Mapping[str, Sequence[ShippedVariant]]) -> DeviceUnit:
    """The host unit for the archs of `variants`."""
    kernel, prepare = kernel_of(instance), prepare_symbol(instance.id)
    traits, block = instance.signature.traits, str(kernel.objects[0].block)
    if kernel.config.kind == FORWARD:
        of, flags = "FmhaForwardKernel", (traits.varlen, traits.masked, traits.lse)
        members = [str(kernel.q_tile), block, *map(cpp_bool, flags)]
    else:
        of = "PagedKernel"
        members = [block, f"ckgen::DType::{instance.signature.a}"]
    values = {
        "instance": instance.name,
        "prepare": prepare,
        "kind": kernel.config.kind,
        "symbol": kernel.symbol,
        "kernel": of,
        "members": ", ".join(members),
    }
    return DeviceUnit("device/asm_fmha_host.cpp.j2", values, (prepare,))


def expected(instance: FmhaInstance, arch: str, variant: ShippedVariant) -> Expectation:
    """Matrix instructions of Q's type in any number; LDS as the arch has it, no scratch, no spills."""
    spec, of_q = load_arch(arch), instance.signature.a
    return demands(spec, any_steps(spec, (of_q, of_q, DType.FP32)))


def kernel_of(instance: FmhaInstance) -> AsmFmhaKernel:
    """The kernel that an instance of a shipped one names."""
    return asm_fmha_kernel_of(config_of(instance))


KIND: DeviceKind[FmhaInstance, ShippedVariant] = replace(
    shipped_kind(kernel_of, unavailable, host_unit, expected), splits_unavailable=splits_unavailable
)
"""These instances as device code."""
