"""Stream-K as a family of the registry: the kernels are GEMMs that differ in their Configs only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.modules import templates
from ckgen.families.gemm.signature import GemmSignature, parse_of_op
from ckgen.model.dtype import Fp8Flavour
from ckgen.model.module import Module


@dataclass(frozen=True, slots=True)
class StreamKFamily:
    """The stream-K kernels of plain GEMM signatures; no tables speak of them."""

    name: str = "stream_k"

    @property
    def modules(self) -> Mapping[str, Module]:
        """None."""
        return {}

    @property
    def aliases(self) -> tuple[str, ...]:
        """Those of GEMM."""
        return tuple(templates())

    def parse_signature(self, text: str, flavour: Fp8Flavour | None) -> GemmSignature:
        """The GEMM signature of a canonical name or alias; UsageError says what is known."""
        return parse_of_op(Op.GEMM, text, flavour)
