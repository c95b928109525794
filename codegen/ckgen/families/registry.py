"""The operations that `--ops` names; a new one is one more Family here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from ckgen.families.common.device.kind import DeviceCode
from ckgen.families.common.device.unit import Identified
from ckgen.families.fmha.family import FmhaFamily
from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.family import FamilyOfGemms, GemmFamily
from ckgen.families.grouped_gemm.family import GroupedGemmFamily
from ckgen.families.moe.family import MoeFamily
from ckgen.model.dtype import Fp8Flavour
from ckgen.model.errors import UsageError
from ckgen.model.module import Module
from ckgen.rules.rule_set import Judge
from ckgen.tables.dialect import Dialect


class Signature(Protocol):
    """What every family's signatures can say of themselves."""

    @property
    def op(self) -> object:
        """The operation, whose text is the `--ops` word of the family."""
        ...

    def canonical(self) -> str:
        """The identifier-safe name."""
        ...

    def describe(self) -> str:
        """The form for people."""
        ...


class Family(Protocol):
    """One operation: its signatures, and the table modules that speak of them."""

    @property
    def name(self) -> str:
        """The word for `--ops`."""
        ...

    @property
    def modules(self) -> Mapping[str, Module]:
        """The table families of this operation, by name."""
        ...

    @property
    def aliases(self) -> tuple[str, ...]:
        """The short names that `parse_signature` takes beside canonical ones."""
        ...

    def parse_signature(self, text: str, flavour: Fp8Flavour | None) -> Signature:
        """The signature of a canonical name or alias; UsageError says what is known."""
        ...

    def device_code(self, instance: Identified) -> DeviceCode:
        """An instance of this operation as device code; its backend must make some."""
        ...

    @property
    def judges(self) -> tuple[Judge, ...]:
        """Who judges the Configs of this operation."""
        ...

    @property
    def dialects(self) -> tuple[Dialect, ...]:
        """The kinds of tables that speak of this operation."""
        ...


FAMILIES: Mapping[str, Family] = {
    family.name: family
    for family in (
        GemmFamily(),
        FamilyOfGemms("stream_k", Op.GEMM),  # GEMMs that differ in their Configs only
        GroupedGemmFamily(),
        MoeFamily(),
        FmhaFamily(),
    )
}
"""Every operation that exists, by its `--ops` word."""


def families_of(ops: Iterable[str]) -> tuple[Family, ...]:
    """The families that `--ops` names, each once, in registry order; all where it names none."""
    wanted = set(ops)
    unknown = sorted(wanted - FAMILIES.keys())
    if unknown:
        raise UsageError(f"unknown op: {', '.join(unknown)} (known: {', '.join(FAMILIES)})")
    return tuple(family for name, family in FAMILIES.items() if not wanted or name in wanted)


def family_of(signature: Signature) -> Family:
    """The family that signatures of this operation are of."""
    return FAMILIES[str(signature.op)]
