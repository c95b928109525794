"""GEMM as a family of the registry, and what the families that are made of GEMMs share with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ckgen.families.common.asked import Asked
from ckgen.families.common.decision_rule import DecisionRule, Leaf
from ckgen.families.common.device.kind import DeviceCode
from ckgen.families.common.either_rows import EitherRows
from ckgen.families.common.family import Family
from ckgen.families.common.instance_names import read_instance_name
from ckgen.families.common.key import pack
from ckgen.families.common.m_policy import Rounded, Rounding
from ckgen.families.common.order import Order
from ckgen.families.common.profile_words import word_of
from ckgen.families.common.query import PlanView
from ckgen.families.common.rows import Identified
from ckgen.families.common.set_document import SetReader
from ckgen.families.common.told_row import ToldRow
from ckgen.families.common.unit import NOWHERE, Measured
from ckgen.families.common.unit_view import LookupView, UnitView
from ckgen.families.gemm.answered import answered
from ckgen.families.gemm.asked import asked_shape
from ckgen.families.gemm.call import GemmCall
from ckgen.families.gemm.ck_tile_tree import is_unknown
from ckgen.families.gemm.config import GemmConfig, strategy_of
from ckgen.families.gemm.config_names import parse_config
from ckgen.families.gemm.constraints import constraints_of
from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.grammar import describe_grammar, fits, grammars, identify
from ckgen.families.gemm.heuristic import rules_for
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.instance_rows import InstanceRows, is_instance_row, told_fields
from ckgen.families.gemm.kernel_set import GemmSetReader
from ckgen.families.gemm.measured import GemmUnit, GroupKey, TablePlan, key_of, table_of
from ckgen.families.gemm.modules import modules, roundings, templates, unsigned_modules
from ckgen.families.gemm.mxfp8_tables import FORM, LIBRARY
from ckgen.families.gemm.mxfp8_tables import MODULE as MXFP8
from ckgen.families.gemm.order import order_of
from ckgen.families.gemm.predicted.ticks import timed
from ckgen.families.gemm.problem_rules import Constraints
from ckgen.families.gemm.profile import FIELDS, covering, words
from ckgen.families.gemm.query import GemmQuery
from ckgen.families.gemm.robust import robust_configs
from ckgen.families.gemm.row_key import RowKey, batch_key
from ckgen.families.gemm.rows import GemmRows
from ckgen.families.gemm.signature import GemmSignature, module_of, parse_canonical, parse_of_op
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.config import Config
from ckgen.model.diagnostic import Diagnostic
from ckgen.model.dtype import Fp8Flavour
from ckgen.model.errors import UsageError
from ckgen.model.instance_row import InstanceRow
from ckgen.model.module import Module
from ckgen.model.selection import Wishes
from ckgen.model.strategy import Strategy
from ckgen.model.target import Target
from ckgen.model.tuned_row import Discriminators, Shape, TunedRow
from ckgen.rules.rule_set import Judge
from ckgen.tables.dialect import Dialect


class FamilyOfGemms(Family[GemmSignature]):
    """A word of `--ops` whose signatures are those of `op`; an alias may stand with or without the op's own word."""

    signature_type = GemmSignature
    shape_type = Shape
    configs: Any = GemmConfig
    constraints_type = Constraints

    def __init__(self, name: str, op: Op) -> None:
        self.name = name
        self.kind = op

    @property
    def op(self) -> str:
        """The text of its signatures' `op`."""
        return str(self.kind)

    @property
    def aliases(self) -> tuple[str, ...]:
        """Modules, then dense types."""
        return tuple(templates())

    def parse_signature(self, text: str, flavour: Fp8Flavour | None) -> GemmSignature:
        """The signature of a canonical name or alias; UsageError says what is known."""
        return parse_of_op(self.kind, text, flavour)

    def asked_problem(self, signature: GemmSignature, asked: Asked) -> Any:
        """M, N and K, and the batch of a batched signature."""
        return asked_shape(signature, asked)

    def word_of(self, config: Config) -> str:
        """Stream-K has one of its own."""
        return "stream_k" if strategy_of(config).is_stream_k and self.kind is Op.GEMM else self.name

    def parse_instance(self, name: str) -> tuple[GemmSignature, Config] | None:
        """By the forms of Configs' texts."""
        found = read_instance_name(name, parse_canonical, self.parse_config)
        return found if found is not None and found[0].op is self.kind else None

    def parse_config(self, signature: GemmSignature, backend: Backend, text: str) -> Config | None:
        """The Config of the backend whose `text()` this is."""
        return parse_config(signature, backend, text)

    def told_row(self, told: ToldRow, signature: GemmSignature) -> InstanceRow:
        """M, N and K, and the batch of a batched signature."""
        if min(told.m, told.n, told.k) < 1 or (told.batch > 0) is not signature.batched:
            raise UsageError(f"{signature} needs M, N, K{' and B' if signature.batched else ' and no B'}")
        return InstanceRow(**told_fields(told, signature, Shape(told.batch, told.m, told.n, told.k)))

    def instance_rows(self, archs: Mapping[str, ArchSpec]) -> InstanceRows:
        """What rows of tables of ckgen's own mean."""
        return InstanceRows(archs, self.parse_instance, self.constraints_of)

    def query(
        self, plan: PlanView, target: Target, signature: GemmSignature, problem: Any, wishes: Wishes
    ) -> GemmQuery:
        """A GEMM on a device."""
        return GemmQuery(plan, target, signature, problem, wishes)

    def constraints_of(self, signature: GemmSignature, config: Config) -> Constraints:
        """The numbers that a problem of `signature` must satisfy for `config`."""
        return constraints_of(signature, config)

    def rounded(self, module: str) -> Rounded:
        """How the peer rounds M for a module."""
        return modules()[module]

    def config_problem(self, config: Config) -> str | None:
        """A strategy that only problems wish for."""
        return "strategy any is only a wish of a problem" if strategy_of(config) is Strategy.ANY else None

    def set_reader(self, errors: list[Diagnostic]) -> SetReader:
        """Reads the documents of its word."""
        return GemmSetReader(errors, self.name, self.kind)

    @property
    def answered(self) -> tuple[GemmSignature, ...]:
        """Those that answered.json names for the word of `--ops`."""
        return answered(self.name, self.parse_signature)

    def robust_configs(self, signature: GemmSignature, arch: ArchSpec) -> Sequence[Sequence[Config]]:
        """Those of robust.py."""
        return robust_configs(signature, arch)

    def makes_code_for(self, gfx: str) -> bool:
        """Where CK's tree knows the arch."""
        return not is_unknown(gfx)

    def table_of(
        self,
        target: Target,
        signature: GemmSignature,
        selected: Iterable[tuple[TunedRow, int]],
        external: Iterable[TunedRow],
    ) -> TablePlan:
        """Ladders of M."""
        return table_of(target, selected, external)

    def place_of(self, signature: GemmSignature, row: TunedRow) -> tuple[GroupKey, int]:
        """N, K and batch; M."""
        return key_of(row.shape), row.shape.m

    def row_of(
        self, target: Target, signature: GemmSignature, module: str, measured: Measured, winner: Instance | None
    ) -> TunedRow:
        """Of a GEMM or a layer."""
        return TunedRow(
            location=NOWHERE,
            layer=0,
            module=module,
            target=target,
            cu_num=target.cu_num,
            shape=measured.shape,
            discriminators=Discriminators(),
            library=str(winner.backend) if winner is not None else measured.library,
            kernel=winner.table_kernel if winner is not None else measured.kernel,
            k_batch=measured.k_batch,
            us=None,
            error_ratio=None,
        )

    def module_of(self, signature: GemmSignature) -> str:
        """The module whose tables speak of this signature; empty where there is none."""
        return module_of(signature) or ""

    def rules(self, module: str, arch: str) -> tuple[DecisionRule, ...]:
        """The decision rules of a module on an arch: those of single products, then that of all."""
        return rules_for(module, arch)

    def leaf(self, rule: DecisionRule, leaf: Leaf, signature: GemmSignature) -> Identified | None:
        """By the grammars of the rule's module; of a rule of one signature by the Configs' own texts."""
        if rule.module == signature.canonical():
            config = self.parse_config(signature, Backend(leaf.library), leaf.kernel)
            return Identified(config, config.backend) if config is not None else None
        return identify(rule.module, leaf.library, leaf.kernel)

    def predicted(self, instances: Sequence[Instance]) -> Mapping[str, tuple[int, ...]]:
        """Where constants were fitted that choose well."""
        return timed(instances)

    @property
    def profile_words(self) -> Mapping[str, Sequence[str] | None]:
        """A signature's fields."""
        return {name: words(name) for name in FIELDS}

    def signature_word(self, signature: GemmSignature, name: str) -> str:
        """The field's value."""
        return word_of(getattr(signature, name))

    def covering(self, signature: GemmSignature, configs: Sequence[Config]) -> tuple[int, ...]:
        """By what they ask of a problem."""
        return covering([self.constraints_of(signature, one) for one in configs], configs, self.takes_alike)

    def order_of(self, signature: GemmSignature, config: Config, archs: Sequence[str]) -> Order:
        """By what Configs say of K."""
        return order_of(signature, config, archs)

    def takes_alike(self, one: Config, other: Config) -> bool:
        """Whether problems are the same to both, beside what Constraints ask."""
        return True

    def row_key(self, batch: int) -> RowKey:
        """What the batch in keys of its tables says."""
        return batch_key(batch)

    def unit_view(self, unit: GemmUnit) -> UnitView:
        """With a header for each table."""
        from ckgen.families.gemm import cpp
        from ckgen.families.gemm.lookup import table_view

        lookups = [LookupView(table.target, table_view(unit, table, self.row_key)) for table in unit.tables]
        signature = unit.signature
        instances = [cpp.instance_view(instance) for instance in unit.instances]
        return UnitView(pack(signature), cpp.signature_words(signature), instances, lookups, predicted=cpp.works(unit))

    def device_code(self, instance: Instance) -> DeviceCode:
        """An instance of this operation as device code."""
        from ckgen.families.gemm.device.kinds import device_code

        return device_code(instance)

    @property
    def judges(self) -> tuple[Judge, ...]:
        """Who judges its Configs."""
        from ckgen.families.gemm.rules import JUDGES

        return JUDGES


class GemmFamily(FamilyOfGemms):
    """Dense, quantised and batched GEMMs."""

    call = GemmCall()

    @property
    def planned_with(self) -> frozenset[str]:
        """Kernels of stream-K compute GEMMs."""
        return frozenset({self.name, "stream_k"})

    @property
    def modules(self) -> Mapping[str, Module]:
        """The table families of GEMM, by name."""
        signed = {name: entry.module for name, entry in modules().items()}
        return signed | {name: entry.module for name, entry in unsigned_modules().items()}

    def row_meanings(self, archs: Mapping[str, ArchSpec]) -> EitherRows[GemmSignature]:
        """What rows of GEMM tables mean, and of ckgen's own."""
        return EitherRows(archs, is_instance_row, self.instance_rows(archs), GemmRows(archs))

    @property
    def roundings(self) -> Mapping[str, Rounding]:
        """Those of modules.json."""
        return roundings()

    def fits(self, kernel_name: str) -> frozenset[str]:
        """By the grammars of the modules."""
        return fits(kernel_name)

    def describe_names(self, module: str) -> str:
        """The forms of a module's kernel names for an error hint, joined by `or`; empty for a module without any."""
        return describe_grammar(module)

    def name_forms(self, module: str) -> Iterator[tuple[str, str]]:
        """Library and form of the names of a module's kernels."""
        if module == MXFP8:
            yield LIBRARY, FORM
        for grammar in grammars():
            if module in grammar.modules:
                yield grammar.library, grammar.hint(full=True)

    @property
    def dialects(self) -> tuple[Dialect, ...]:
        """The kinds of its tables."""
        from ckgen.families.gemm.dialect import DIALECTS

        return DIALECTS


FAMILY = GemmFamily("gemm", Op.GEMM)
