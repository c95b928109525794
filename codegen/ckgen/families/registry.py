"""The operations that `--ops` names; a new one is one module that makes a Family."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from ckgen.families.gemm.family import GemmFamily
from ckgen.families.grouped_gemm.family import GroupedGemmFamily
from ckgen.families.moe.family import MoeFamily
from ckgen.families.stream_k.family import StreamKFamily
from ckgen.model.dtype import Fp8Flavour
from ckgen.model.errors import UsageError
from ckgen.model.module import Module


class Signature(Protocol):
    """What every family's signatures can say of themselves."""

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


FAMILIES: Mapping[str, Family] = {
    family.name: family for family in (GemmFamily(), StreamKFamily(), GroupedGemmFamily(), MoeFamily())
}
"""Every operation that exists, by its `--ops` word."""


def families_of(ops: Iterable[str]) -> tuple[Family, ...]:
    """The families that `--ops` names, each once, in registry order; all where it names none."""
    wanted = set(ops)
    unknown = sorted(wanted - FAMILIES.keys())
    if unknown:
        raise UsageError(f"unknown op: {', '.join(unknown)} (known: {', '.join(FAMILIES)})")
    return tuple(family for name, family in FAMILIES.items() if not wanted or name in wanted)
