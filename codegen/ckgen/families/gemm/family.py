"""GEMM as a family of the registry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.modules import modules, templates
from ckgen.families.gemm.signature import GemmSignature, parse_of_op
from ckgen.model.dtype import Fp8Flavour
from ckgen.model.module import Module


@dataclass(frozen=True, slots=True)
class GemmFamily:
    """Dense, quantised and batched GEMMs."""

    name: str = "gemm"

    @property
    def modules(self) -> Mapping[str, Module]:
        """The table families of GEMM, by name."""
        return {name: entry.module for name, entry in modules().items()}

    @property
    def aliases(self) -> tuple[str, ...]:
        """Modules, then dense types."""
        return tuple(templates())

    def parse_signature(self, text: str, flavour: Fp8Flavour | None) -> GemmSignature:
        """The signature of a canonical name or alias; UsageError says what is known."""
        return parse_of_op(Op.GEMM, text, flavour)
