"""Attention as a family of the registry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ckgen.families.common.asked import Asked
from ckgen.families.common.device.kind import DeviceCode
from ckgen.families.common.family import Family
from ckgen.families.common.key import pack
from ckgen.families.common.order import Order
from ckgen.families.common.query import PlanView
from ckgen.families.common.set_document import SetReader
from ckgen.families.common.told_row import ToldRow
from ckgen.families.common.unit import NOWHERE, Measured
from ckgen.families.common.unit_view import UnitView
from ckgen.families.fmha.asked import asked_shape, asked_signature, signature_in
from ckgen.families.fmha.call import FmhaCall
from ckgen.families.fmha.constraints import FmhaConstraints, constraints_of
from ckgen.families.fmha.grammar import AnyFmhaConfig, parse_instance_name
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.kernel_set import FmhaSetReader
from ckgen.families.fmha.measured import FmhaKey, FmhaTable, FmhaUnit, fmha_key, table_of
from ckgen.families.fmha.order import order_of
from ckgen.families.fmha.profile import OF_CONFIG, config_word, covering, profile_words, signature_word
from ckgen.families.fmha.query import FmhaQuery
from ckgen.families.fmha.rows import FmhaRows
from ckgen.families.fmha.signature import OP, FmhaSignature, parse_signature
from ckgen.families.fmha.told_row import told_row
from ckgen.model.arch import ArchSpec
from ckgen.model.config import Config
from ckgen.model.diagnostic import Diagnostic
from ckgen.model.dtype import Fp8Flavour
from ckgen.model.fmha_row import FmhaRow
from ckgen.model.fmha_shape import FmhaShape
from ckgen.model.selection import Wishes
from ckgen.model.target import Target
from ckgen.rules.rule_set import Judge
from ckgen.tables.dialect import Dialect


class FmhaFamily(Family[FmhaSignature]):
    """Forward attention; a signature's name may stand without `fmha_`."""

    call = FmhaCall()
    name = OP
    signature_type = FmhaSignature
    configs: Any = AnyFmhaConfig
    constraints_type = FmhaConstraints
    profile_key = OP
    config_words = OF_CONFIG
    reads_named_sets = True
    has_shipped_tables = False
    shape_type = FmhaShape

    @property
    def aliases(self) -> tuple[str, ...]:
        """What most signatures begin with."""
        return ("bf16", "fp16", "fp32", "fp8_bf16")

    def parse_signature(self, text: str, flavour: Fp8Flavour | None) -> FmhaSignature:
        """The signature of a canonical name, or of what follows `fmha_` in one."""
        return parse_signature(text, flavour)

    def signature_in(self, op: str) -> str | None:
        """Behind `fmha:` or `fmha_`."""
        return signature_in(op)

    def asked_signature(self, asked: Asked, flavour: Fp8Flavour | None) -> FmhaSignature:
        """Of OP or --signature."""
        return asked_signature(asked, flavour)

    def asked_problem(self, signature: FmhaSignature, asked: Asked) -> FmhaShape:
        """Sizes as KEY=VALUE."""
        return asked_shape(signature, asked.sizes)

    def parse_instance(self, name: str) -> tuple[FmhaSignature, Config] | None:
        """By the forms of Configs' texts."""
        found = parse_instance_name(name)
        return (found[0], found[2]) if found is not None else None

    def told_row(self, told: ToldRow, signature: FmhaSignature) -> FmhaRow:
        """`sizes` as KEY=VALUE."""
        return told_row(told, signature)

    def query(
        self, plan: PlanView, target: Target, signature: FmhaSignature, problem: FmhaShape, wishes: Wishes
    ) -> FmhaQuery:
        """Attention on a device."""
        return FmhaQuery(plan, target, signature, problem, wishes)

    def constraints_of(self, signature: FmhaSignature, config: Config) -> FmhaConstraints:
        """The numbers that a problem of `signature` must satisfy for `config`."""
        assert isinstance(config, AnyFmhaConfig)
        return constraints_of(signature, config)

    def order_of(self, signature: FmhaSignature, config: Config, archs: Sequence[str]) -> Order:
        """By how many keys a step takes."""
        return order_of(config, archs)

    def set_reader(self, errors: list[Diagnostic]) -> SetReader:
        """Reads documents of attention."""
        return FmhaSetReader(errors)

    def row_meanings(self, archs: Mapping[str, ArchSpec]) -> FmhaRows:
        """What rows of attention mean."""
        return FmhaRows(archs)

    def table_of(
        self,
        target: Target,
        signature: FmhaSignature,
        selected: Iterable[tuple[FmhaRow, int]],
        external: Iterable[FmhaRow],
    ) -> FmhaTable:
        """Rungs of problems; no row is of another library."""
        return table_of(target, ((row, signature.traits, number) for row, number in selected))

    def place_of(self, signature: FmhaSignature, row: FmhaRow) -> tuple[FmhaKey, FmhaKey]:
        """The problem but for its lengths; these."""
        *context, seqlen_q, seqlen_k = fmha_key(signature.traits, row.shape)
        return tuple(context), (seqlen_q, seqlen_k)

    def row_of(
        self, target: Target, signature: FmhaSignature, module: str, measured: Measured, winner: FmhaInstance | None
    ) -> FmhaRow:
        """Of attention."""
        name = winner.name if winner is not None else measured.kernel
        traits = signature.traits
        return FmhaRow(NOWHERE, 0, target, traits.entry, measured.shape, traits.masked, name, measured.k_batch, None)

    @property
    def profile_words(self) -> Mapping[str, Sequence[str] | None]:
        """Types, traits, and what kernels take."""
        return profile_words()

    def signature_word(self, signature: FmhaSignature, name: str) -> str:
        """Of a type or trait."""
        return signature_word(signature, name)

    def config_word(self, signature: FmhaSignature, config: Config, name: str) -> str | None:
        """Head dims or splits; None where the kernel takes all."""
        assert isinstance(config, AnyFmhaConfig)
        return config_word(signature, config, name)

    def covering(self, signature: FmhaSignature, configs: Sequence[Config]) -> tuple[int, ...]:
        """By what they ask of a problem."""
        return covering([self.constraints_of(signature, config) for config in configs])

    def unit_view(self, unit: FmhaUnit) -> UnitView:
        """Its tables stand in the unit."""
        from ckgen.families.fmha import cpp

        signature = unit.signature
        instances = [cpp.instance_view(instance) for instance in unit.instances]
        numbers = [instance.number for instance in instances]
        tables = [cpp.table_view(table, numbers) for table in unit.tables]
        return UnitView(pack(signature), cpp.signature_words(signature), instances, own=cpp.WORDS, own_tables=tables)

    def device_code(self, instance: FmhaInstance) -> DeviceCode:
        """An instance of attention as device code."""
        from ckgen.families.fmha.device.kinds import device_code

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


FAMILY = FmhaFamily()
