"""Units of ck_tile's kernels that list an instance's variants, each with its symbol."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ckgen.families.common.device.unit import DeviceUnit, Variant, prepare_symbol, symbol_of
from ckgen.families.gemm.instance import Instance

V = TypeVar("V", bound=Variant)


@dataclass(frozen=True, slots=True)
class ListedUnits(Generic[V]):
    """The units of one kind. template: their names in templates/device, without what tells them apart. constants: the
    fields of their Config. told: what they say of a variant beside its symbol."""

    template: str
    constants: Callable[[Instance], Mapping[str, Any]]
    all_variants: Callable[[Instance], Sequence[V]]
    told: Callable[[V], Mapping[str, str]]

    def device_unit(self, instance: Instance, variants: Sequence[V]) -> DeviceUnit:
        """The unit of these kernels, in the order given."""
        rows = [self._row(instance, one) for one in variants]
        return DeviceUnit(
            f"device/{self.template}_device.hip.j2",
            self._values(instance, rows),
            tuple(symbol_of(instance, one) for one in variants),
        )

    def host_unit(self, instance: Instance, variants: Mapping[str, Sequence[V]]) -> DeviceUnit:
        """The host unit where each arch's code object holds its variants; it names all that there are."""
        rows = [
            {**self._row(instance, one), "archs": sorted(arch for arch, has in variants.items() if one in has)}
            for one in self.all_variants(instance)
        ]
        prepare = prepare_symbol(instance.id)
        values = {**self._values(instance, rows), "prepare": prepare}
        return DeviceUnit(f"device/{self.template}_host.cpp.j2", values, (prepare,))

    def _values(self, instance: Instance, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        return {"instance": instance.name, "config": self.constants(instance), "variants": rows}

    def _row(self, instance: Instance, variant: V) -> dict[str, Any]:
        return {"symbol": symbol_of(instance, variant), **self.told(variant)}
