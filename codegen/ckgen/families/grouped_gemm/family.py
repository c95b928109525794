"""Grouped GEMM as a family of the registry."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.families.common.device.kind import DeviceCode
from ckgen.families.common.device.unit import Identified
from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.family import FamilyOfGemms


@dataclass(frozen=True, slots=True)
class GroupedGemmFamily(FamilyOfGemms):
    """Many products, each of its own sizes, in one launch."""

    name: str = "grouped_gemm"
    op: Op = Op.GROUPED_GEMM

    def device_code(self, instance: Identified) -> DeviceCode:
        """An instance as device code: all are of one kind."""
        from ckgen.families.gemm.instance import Instance
        from ckgen.families.grouped_gemm.device.ck_tile_grouped import KIND

        assert isinstance(instance, Instance)
        return KIND.of(instance)
