"""Attention as a family of the registry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ckgen.families.common.device.kind import DeviceCode
from ckgen.families.common.device.unit import Identified
from ckgen.families.fmha.signature import OP, FmhaSignature, parse_signature
from ckgen.model.dtype import Fp8Flavour
from ckgen.model.module import Module
from ckgen.rules.rule_set import Judge
from ckgen.tables.dialect import Dialect


@dataclass(frozen=True, slots=True)
class FmhaFamily:
    """Forward attention; a signature's name may stand without `fmha_`."""

    name: str = OP

    @property
    def modules(self) -> Mapping[str, Module]:
        """None: no tables speak of attention."""
        return {}

    @property
    def aliases(self) -> tuple[str, ...]:
        """What most signatures begin with."""
        return ("bf16", "fp16", "fp32", "fp8_bf16")

    def parse_signature(self, text: str, flavour: Fp8Flavour | None) -> FmhaSignature:
        """The signature of a canonical name, or of what follows `fmha_` in one."""
        return parse_signature(text, flavour)

    def device_code(self, instance: Identified) -> DeviceCode:
        """An instance of attention as device code."""
        from ckgen.families.fmha.device.kinds import device_code
        from ckgen.families.fmha.instance import FmhaInstance

        assert isinstance(instance, FmhaInstance)
        return device_code(instance)

    @property
    def judges(self) -> tuple[Judge, ...]:
        """Who judges its Configs."""
        from ckgen.families.fmha.rules import JUDGES

        return JUDGES

    @property
    def dialects(self) -> tuple[Dialect, ...]:
        """The kinds of its tables."""
        from ckgen.families.fmha.dialect import DIALECTS

        return DIALECTS
