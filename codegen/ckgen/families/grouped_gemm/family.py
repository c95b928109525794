"""Grouped GEMM as a family of the registry."""

from __future__ import annotations

from collections.abc import Mapping

from ckgen.families.common.asked import Asked
from ckgen.families.common.decision_rule import DecisionRule, Leaf
from ckgen.families.common.device.kind import DeviceCode
from ckgen.families.common.query import PlanView
from ckgen.families.common.rows import Identified
from ckgen.families.common.set_document import SetReader
from ckgen.families.common.told_row import ToldRow
from ckgen.families.gemm.config import CutlassConfig, FmaConfig
from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.family import FamilyOfGemms
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.instance_rows import InstanceRows, told_fields
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.grouped_gemm.asked import asked_groups, told_groups
from ckgen.families.grouped_gemm.call import GroupedCall
from ckgen.families.grouped_gemm.deepgemm import MODULE, config_of, is_deepgemm
from ckgen.families.grouped_gemm.kernel_set import GroupedSetReader
from ckgen.families.grouped_gemm.query import NO_SHAPE, GroupedGemmQuery
from ckgen.model.arch import ArchSpec
from ckgen.model.diagnostic import Diagnostic
from ckgen.model.errors import UsageError
from ckgen.model.groups import Groups
from ckgen.model.instance_row import GroupedInstanceRow
from ckgen.model.selection import Wishes
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape


class GroupedFamily(FamilyOfGemms):
    """Many products, each of its own sizes."""

    call = GroupedCall()

    def asked_problem(self, signature: GemmSignature, asked: Asked) -> Groups:
        """Groups of sizes, or as many as a device knows."""
        return asked_groups(self.name, asked)

    def query(
        self, plan: PlanView, target: Target, signature: GemmSignature, problem: Groups | Shape, wishes: Wishes
    ) -> GroupedGemmQuery:
        """Groups on a device; the sizes of one GEMM: without any, which is illegal."""
        if isinstance(problem, Shape):
            return GroupedGemmQuery(plan, target, signature, problem, wishes)
        return GroupedGemmQuery(plan, target, signature, NO_SHAPE, wishes, problem)

    def told_row(self, told: ToldRow, signature: GemmSignature) -> GroupedInstanceRow:
        """The largest M, N and K; `sizes` may say the groups that were measured, which must be of these."""
        if min(told.m, told.n, told.k) < 1 or told.batch:
            raise UsageError(f"{signature} needs the largest M, N and K of its groups, and no B")
        if told.sizes:
            largest = told_groups(self.name, told.sizes).largest
            if (largest.m, largest.n, largest.k) != (told.m, told.n, told.k):
                raise UsageError(
                    f"the largest sizes of the groups are {largest}, the row says {told.m}x{told.n}x{told.k}"
                )
        fields = told_fields(told, signature, Shape(0, told.m, told.n, told.k))
        return GroupedInstanceRow(**fields, groups=told.sizes)

    def row_meanings(self, archs: Mapping[str, ArchSpec]) -> InstanceRows:
        """What rows of tables of ckgen's own mean."""
        return self.instance_rows(archs)

    def set_reader(self, errors: list[Diagnostic]) -> SetReader:
        """Reads documents that may name kernels of `deepgemm`."""
        return GroupedSetReader(errors, self.name, self.kind)

    def ruled_module(self, signature: GemmSignature, module: str) -> str:
        """`deepgemm` for what it computes."""
        return MODULE if is_deepgemm(signature) else module

    def leaf(self, rule: DecisionRule, leaf: Leaf, signature: GemmSignature) -> Identified | None:
        """By `deepgemm`'s own names."""
        if rule.module != MODULE:
            return super().leaf(rule, leaf, signature)
        config = config_of(leaf.kernel, signature.a)
        return Identified(config, config.backend) if config is not None else None

    def device_code(self, instance: Instance) -> DeviceCode:
        """An instance as device code."""
        from ckgen.families.grouped_gemm.device import ck_tile_grouped, cutlass_grouped, hip_fma_grouped

        match instance.config:
            case FmaConfig():
                return hip_fma_grouped.KIND.of(instance)
            case CutlassConfig():
                return cutlass_grouped.KIND.of(instance)
        return ck_tile_grouped.KIND.of(instance)


FAMILY = GroupedFamily("grouped_gemm", Op.GROUPED_GEMM)
