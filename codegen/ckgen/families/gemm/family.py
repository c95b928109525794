"""GEMM and what is made of GEMMs as families of the registry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ckgen.families.common.device.kind import DeviceCode
from ckgen.families.common.device.unit import Identified
from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.modules import modules, templates
from ckgen.families.gemm.signature import GemmSignature, parse_of_op
from ckgen.model.dtype import Fp8Flavour
from ckgen.model.module import Module
from ckgen.rules.rule_set import Judge
from ckgen.tables.dialect import Dialect


@dataclass(frozen=True, slots=True)
class FamilyOfGemms:
    """A word of `--ops` whose signatures are those of `op`; an alias may stand with or without the op's own word."""

    name: str
    op: Op

    @property
    def modules(self) -> Mapping[str, Module]:
        """None: GEMM's alone are told by their files' names."""
        return {}

    @property
    def aliases(self) -> tuple[str, ...]:
        """Modules, then dense types."""
        return tuple(templates())

    def parse_signature(self, text: str, flavour: Fp8Flavour | None) -> GemmSignature:
        """The signature of a canonical name or alias; UsageError says what is known."""
        return parse_of_op(self.op, text, flavour)

    def device_code(self, instance: Identified) -> DeviceCode:
        """An instance of this operation as device code."""
        from ckgen.families.gemm.device.kinds import device_code
        from ckgen.families.gemm.instance import Instance

        assert isinstance(instance, Instance)
        return device_code(instance)

    @property
    def judges(self) -> tuple[Judge, ...]:
        """Who judges its Configs."""
        from ckgen.families.gemm.rules import JUDGES

        return JUDGES

    @property
    def dialects(self) -> tuple[Dialect, ...]:
        """None: GEMM's tables are its own."""
        return ()


@dataclass(frozen=True, slots=True)
class GemmFamily(FamilyOfGemms):
    """Dense, quantised and batched GEMMs."""

    name: str = "gemm"
    op: Op = Op.GEMM

    @property
    def modules(self) -> Mapping[str, Module]:
        """The table families of GEMM, by name."""
        return {name: entry.module for name, entry in modules().items()}

    @property
    def dialects(self) -> tuple[Dialect, ...]:
        """The kinds of its tables."""
        from ckgen.families.gemm.dialect import DIALECTS

        return DIALECTS
