"""Device kernels of an instance: what a variant is, and the views that unit templates are filled from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ckgen.model.tuned_row import Shape


class Identified(Protocol):
    """An instance of any operation."""

    @property
    def id(self) -> int:
        """What tells it from every other."""
        ...


class Variant(Protocol):
    """One device kernel of an instance; frozen, hashable, ordered by its fields."""

    @property
    def name(self) -> str:
        """Identifier-safe and unique within the instance, such as `default_hot_full_set`."""
        ...


@dataclass(frozen=True, slots=True, order=True)
class Use:
    """A problem as far as it chooses a variant: its sizes in elements, and its number of K splits (at least 1)."""

    shape: Shape
    k_batch: int


@dataclass(frozen=True, slots=True)
class DeviceUnit:
    """A device unit to render: its template, the template's values, and the symbols that the code object will have.

    The values are plain numbers and words: the template's text depends on nothing else. `stages`: of a shipped kernel,
    HIP whose kernels run around it, compiled into a code object behind the shipped one.
    """

    template: str
    values: Mapping[str, Any]
    symbols: tuple[str, ...]
    stages: DeviceUnit | None = None


def symbol_of(instance: Identified, variant: Variant) -> str:
    """The kernel's `extern "C"` name in every code object that has it."""
    return kernel_symbol(instance.id, variant)


def kernel_symbol(instance_id: int, variant: Variant) -> str:
    """The same for an instance of any family."""
    return f"ckgen_{instance_id:016x}_{variant.name}"


def prepare_symbol(instance_id: int) -> str:
    """The `extern "C"` name of the function that an instance's host unit defines."""
    return f"ckgen_prepare_{instance_id:016x}"


def workspace_symbol(instance_id: int) -> str:
    """The `extern "C"` name of the DeviceWorkspaceFn that the host unit of a kernel with a workspace defines."""
    return f"ckgen_workspace_{instance_id:016x}"


def groups_symbol(instance_id: int) -> str:
    """The `extern "C"` name of the GroupTableCode that a grouped instance's host unit defines."""
    return f"ckgen_groups_{instance_id:016x}"


def moe_symbol(instance_id: int) -> str:
    """The `extern "C"` name of the MoeStages that the host unit of a part of an MoE layer may define."""
    return f"ckgen_moe_{instance_id:016x}"


def fmha_symbol(instance_id: int) -> str:
    """The `extern "C"` name of the FmhaStages that the host unit of an attention instance with splits of KV defines."""
    return f"ckgen_fmha_{instance_id:016x}"


COMPANIONS: tuple[tuple[str, Callable[[int], str]], ...] = (
    ("GroupTableCode", groups_symbol),
    ("MoeStages", moe_symbol),
    ("FmhaStages", fmha_symbol),
)
"""Types of what a host unit may define, in the order of DeviceCode's members in ckgen/device_code.hpp, by symbol."""
