"""Device code of shipped kernels: the code objects to take, and what every host unit of them says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from ckgen.families.common.device.unit import DeviceUnit, prepare_symbol
from ckgen.families.common.shipped_kernel import ShippedKernel


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
