"""Grouped GEMM as a family of the registry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.modules import templates
from ckgen.families.gemm.signature import GemmSignature, parse_of_op
from ckgen.model.dtype import Fp8Flavour
from ckgen.model.module import Module


@dataclass(frozen=True, slots=True)
class GroupedGemmFamily:
    """Many GEMMs of one signature, each of its own sizes; no tables speak of them."""

    name: str = "grouped_gemm"

    @property
    def modules(self) -> Mapping[str, Module]:
        """None."""
        return {}

    @property
    def aliases(self) -> tuple[str, ...]:
        """Those of GEMM."""
        return tuple(templates())

    def parse_signature(self, text: str, flavour: Fp8Flavour | None) -> GemmSignature:
        """The signature of a canonical name, or of an alias with or without `grouped:` before it."""
        return parse_of_op(Op.GROUPED_GEMM, text, flavour)
