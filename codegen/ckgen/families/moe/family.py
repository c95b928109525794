"""Layers of experts as a family of the registry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ckgen.families.common.asked import Asked
from ckgen.families.common.decision_rule import DecisionRule, Leaf
from ckgen.families.common.device.kind import DeviceCode
from ckgen.families.common.device.unit import Use
from ckgen.families.common.either_rows import EitherRows
from ckgen.families.common.m_policy import Rounded, Rounding
from ckgen.families.common.order import Order
from ckgen.families.common.query import PlanView
from ckgen.families.common.rows import Identified
from ckgen.families.common.set_document import SetReader
from ckgen.families.common.told_row import ToldRow
from ckgen.families.gemm.config import GemmConfig
from ckgen.families.gemm.enums import MoePart, Op
from ckgen.families.gemm.family import FamilyOfGemms
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.instance_rows import is_instance_row, told_fields
from ckgen.families.gemm.problem_rules import Constraints
from ckgen.families.gemm.row_key import RowKey
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.moe.asked import RoutedSizes, asked_sizes
from ckgen.families.moe.call import MoeCall
from ckgen.families.moe.ck_config import CkMoeConfig
from ckgen.families.moe.config import MoePairConfig
from ckgen.families.moe.config_names import parse_config
from ckgen.families.moe.constraints import constraints_of
from ckgen.families.moe.grammar import hints
from ckgen.families.moe.kernel_set import MoeSetReader
from ckgen.families.moe.module import moe_module
from ckgen.families.moe.order import order_of
from ckgen.families.moe.parts import part_signatures
from ckgen.families.moe.query import MoeQuery
from ckgen.families.moe.robust import config_of_leaf, robust_configs, ruled_module
from ckgen.families.moe.row_key import routing_key
from ckgen.families.moe.rows import MoeRows
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.config import Config
from ckgen.model.diagnostic import Diagnostic
from ckgen.model.errors import UsageError
from ckgen.model.groups import MOST_EXPERTS, Routing
from ckgen.model.instance_row import MoeInstanceRow
from ckgen.model.module import Module
from ckgen.model.selection import Wishes
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.rules.rule_set import Judge
from ckgen.tables.dialect import Dialect


class MoeFamily(FamilyOfGemms):
    """MoE layers and their two products."""

    configs: Any = GemmConfig | CkMoeConfig | MoePairConfig
    rules_choose_defaults = True
    call = MoeCall()

    @property
    def table_modules(self) -> Mapping[str, Module]:
        """The one module of MoE tables."""
        module = moe_module().module
        return {module.name: module}

    @property
    def roundings(self) -> Mapping[str, Rounding]:
        """Those of module.json."""
        return moe_module().roundings

    def rounded(self, module: str) -> Rounded:
        """How the peer rounds tokens."""
        return moe_module() if module in self.table_modules else super().rounded(module)

    def asked_problem(self, signature: GemmSignature, asked: Asked) -> RoutedSizes:
        """Tokens, sizes of the first product, and the routing."""
        return asked_sizes(signature, asked)

    def query(
        self, plan: PlanView, target: Target, signature: GemmSignature, problem: RoutedSizes, wishes: Wishes
    ) -> MoeQuery:
        """Routed tokens on a device."""
        return MoeQuery(plan, target, signature, problem.shape, wishes, problem.routing, problem.block_m)

    def constraints_of(self, signature: GemmSignature, config: Config) -> Constraints:
        """The numbers that a problem of `signature` must satisfy for `config`."""
        return constraints_of(signature, config)

    def order_of(self, signature: GemmSignature, config: Config, archs: Sequence[str]) -> Order:
        """Of both products of a layer."""
        return order_of(signature, config, archs)

    def parts(self, signature: GemmSignature, config: Config) -> Sequence[tuple[GemmSignature, Config]]:
        """The gate_up and down kernels of a layer that is made of two."""
        if not isinstance(config, MoePairConfig):
            return ()
        return tuple(zip(part_signatures(signature), (config.gate_up, config.down), strict=True))

    def parse_config(self, signature: GemmSignature, backend: Backend, text: str) -> Config | None:
        """The Config of the backend whose `text()` this is: of a layer mostly a pair."""
        return parse_config(signature, backend, text)

    def told_row(self, told: ToldRow, signature: GemmSignature) -> MoeInstanceRow:
        """Tokens, sizes of the first product, and the routing."""
        if min(told.m, told.n, told.k, told.experts, told.top_k) < 1 or max(told.experts, told.top_k) > MOST_EXPERTS:
            raise UsageError(f"{signature} needs M, N, K, experts and top_k, the last two up to {MOST_EXPERTS}")
        routing = Routing(told.experts, told.top_k).lookup_key
        return MoeInstanceRow(**told_fields(told, signature, Shape(routing, told.m, told.n, told.k)))

    def row_meanings(self, archs: Mapping[str, ArchSpec]) -> EitherRows[GemmSignature]:
        """What rows of MoE tables mean, and of ckgen's own."""
        return EitherRows(archs, is_instance_row, self.instance_rows(archs), MoeRows(archs))

    def row_key(self, batch: int) -> RowKey:
        """The routing."""
        return routing_key(batch)

    def part_use(self, signature: GemmSignature, use: Use) -> Use:
        """The sizes of the part's own product: what is N of gate_up is K of down."""
        shape = use.shape
        n, k = (shape.k, shape.n) if signature.moe.part is MoePart.DOWN else (shape.n, shape.k)
        return Use(Shape(shape.batch, shape.m, n, k), use.k_batch)

    def takes_alike(self, one: Config, other: Config) -> bool:
        """Kernels of another block_m take other problems."""
        return one.macro_tile.m == other.macro_tile.m

    def set_reader(self, errors: list[Diagnostic]) -> SetReader:
        """Reads documents whose Configs may be pairs."""
        return MoeSetReader(errors, self.name, self.kind)

    def robust_configs(self, signature: GemmSignature, arch: ArchSpec) -> Sequence[Sequence[Config]]:
        """Those of robust.py."""
        return robust_configs(signature, arch)

    def ruled_module(self, signature: GemmSignature, module: str) -> str:
        """By the scheme of scales."""
        return ruled_module(signature)

    def leaf(self, rule: DecisionRule, leaf: Leaf, signature: GemmSignature) -> Identified | None:
        """The robust kernel of a block_m."""
        config = config_of_leaf(leaf.kernel, signature)
        return Identified(config, config.backend) if config is not None else None

    def describe_names(self, module: str) -> str:
        """The forms of the kernels' names for an error hint."""
        return " or ".join(hints(full=False))

    def name_forms(self, module: str) -> Iterator[tuple[str, str]]:
        """Library and form of the kernels' names."""
        yield from (("ck", form) for form in hints(full=True))

    def device_code(self, instance: Instance) -> DeviceCode:
        """A part of a layer as device code."""
        from ckgen.families.moe.device.kinds import device_code

        return device_code(instance)

    @property
    def judges(self) -> tuple[Judge, ...]:
        """Who judges its Configs."""
        from ckgen.families.moe.rules import JUDGES

        return JUDGES

    @property
    def dialects(self) -> tuple[Dialect, ...]:
        """The kinds of its tables."""
        from ckgen.families.moe.dialect import DIALECTS

        return DIALECTS


FAMILY = MoeFamily("moe", Op.MOE)
