"""Device code of shipped kernels: the code objects to take, what every host unit of them says, and what is asked of
their machine code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from ckgen.families.common.asm_config import AsmConfig
from ckgen.families.common.device.kind import DeviceKind
from ckgen.families.common.device.unit import DeviceUnit, prepare_symbol
from ckgen.families.common.shipped_kernel import ShippedKernel
from ckgen.model.arch import ArchSpec
from ckgen.model.dtype import DType
from ckgen.model.expectation import Expectation


class Named(Protocol):
    """An instance of any operation."""

    @property
    def name(self) -> str:
        """Its one name."""
        ...

    @property
    def id(self) -> int:
        """What tells it from every other."""
        ...

    @property
    def config(self) -> object:
        """How it computes."""
        ...


I = TypeVar("I", bound=Named)  # noqa: E741


@dataclass(frozen=True, slots=True, order=True)
class ShippedVariant:
    """A code object holds one kernel."""

    name: str = "shipped"


def not_shipped(kernel: ShippedKernel, arch: str) -> str | None:
    """Why a kernel has no code object for an arch; None where it has one."""
    return None if kernel.on(arch) else f"{kernel.config.name} is shipped for {', '.join(kernel.archs)} only"


def objects_to_take(instance: str, kernel: ShippedKernel) -> DeviceUnit:
    """The list of a kernel's code objects for an instance of that name: arch, file in the wheel, sha256."""
    objects = [{"arch": one.arch, "path": one.path, "sha256": one.sha256} for one in kernel.objects]
    return DeviceUnit("device/asm_objects.txt.j2", {"instance": instance, "objects": objects}, (kernel.symbol,))


def config_of(instance: Named) -> AsmConfig:
    """The Config of an instance that is a shipped kernel."""
    config = instance.config
    assert isinstance(config, AsmConfig), f"{instance.name} is no shipped kernel"
    return config


def host_values(instance: Named, kernel: ShippedKernel) -> dict[str, Any]:
    """What every host unit of a shipped kernel says."""
    return {
        "instance": instance.name,
        "prepare": prepare_symbol(instance.id),
        "kind": kernel.config.kind,
        "symbol": kernel.symbol,
        "tile": [kernel.config.tile.m, kernel.config.tile.n],
        "block": kernel.objects[0].block,
    }


def any_steps(arch: ArchSpec, types: tuple[DType, DType, DType]) -> tuple[tuple[str, int], ...]:
    """The arch's dense matrix instructions of these types of A, B and sums, in any number."""
    return tuple(
        (row.mnemonic, 1)
        for row in arch.matrix_instructions
        if (row.a, row.b, row.acc) == types and not row.scaled and row.blocks == 1
    )


def demands(arch: ArchSpec, steps: tuple[tuple[str, int], ...]) -> Expectation:
    """These matrix instructions; LDS as the arch has it, no scratch, no spills."""
    return Expectation(steps=steps, copies=0, lds_bytes=arch.lds_bytes, scratch_bytes=0, spills=0, waves_per_simd=1)


def shipped_kind(
    kernel_of: Callable[[I], ShippedKernel],
    unavailable: Callable[[I, str], str | None],
    host_unit: Callable[[I, Mapping[str, Sequence[ShippedVariant]]], DeviceUnit],
    expected: Callable[[I, str, ShippedVariant], Expectation],
) -> DeviceKind[I, ShippedVariant]:
    """Instances that are shipped kernels, as device code: one variant each, under the name that its code objects give
    it."""
    return DeviceKind(
        variants=(ShippedVariant,),
        unavailable=unavailable,
        all_variants=lambda instance: (ShippedVariant(),),
        device_unit=lambda instance, variants: objects_to_take(instance.name, kernel_of(instance)),
        host_unit=host_unit,
        expected=expected,
        symbol=lambda instance, variant: kernel_of(instance).symbol,
    )
