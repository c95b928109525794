"""What every operation answers; its package holds the one object that does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from ckgen.families.common.asked import Asked
from ckgen.families.common.call import OperationCall
from ckgen.families.common.decision_rule import DecisionRule, Leaf
from ckgen.families.common.device.kind import DeviceCode
from ckgen.families.common.device.unit import Use
from ckgen.families.common.instance import Instance
from ckgen.families.common.m_policy import Rounded, Rounding
from ckgen.families.common.order import Order
from ckgen.families.common.query import PlanView, Query
from ckgen.families.common.rows import Identified, RowMeanings
from ckgen.families.common.set_document import SetReader
from ckgen.families.common.signature import Signature
from ckgen.families.common.told_row import ToldRow
from ckgen.families.common.unit import Measured, Table, UnitPlan
from ckgen.families.common.unit_view import UnitView
from ckgen.model.arch import ArchSpec
from ckgen.model.config import Config
from ckgen.model.diagnostic import Diagnostic
from ckgen.model.dtype import Fp8Flavour
from ckgen.model.module import Module
from ckgen.model.selection import Wishes
from ckgen.model.target import Target
from ckgen.rules.rule_set import Judge
from ckgen.tables.dialect import Dialect

S = TypeVar("S", bound=Signature)


class Family(ABC, Generic[S]):
    """One operation. `name` is the word for `--ops`, `aliases` are what `parse_signature` takes beside canonical names.

    `modules` are the table families of this operation that files' names tell, by name. What raises NotImplementedError
    is asked only where another member says that there is something to ask about.
    """

    name: str
    signature_type: type[S]
    configs: Any
    """The union of its kinds of Config."""
    constraints_type: type
    profile_key = "signature"
    """The key under which a profile's clause names what is asked of signatures and Configs."""
    config_words: tuple[str, ...] = ()
    """Those of `profile_words` that are asked of Configs."""
    reads_named_sets = False
    """Whether a clause that names a shipped kernel set has it read, or only filters it."""
    shape_type: type
    """What the problems of its tables are."""
    rules_choose_defaults = False
    """Whether arms of its decision rules name defaults, and so say nothing where a signature has not all of them."""
    has_shipped_tables = True
    """Whether some of the tables that come with ckgen are of it."""

    call: OperationCall | None = None
    """How it is called with tensors; None: not."""

    @property
    def op(self) -> str:
        """The text of its signatures' `op`."""
        return self.name

    def word_of(self, config: Config) -> str:
        """The word of `--ops` that the kernels of a Config are of."""
        return self.name

    @property
    def modules(self) -> Mapping[str, Module]:
        """None, unless told."""
        return {}

    @property
    def table_modules(self) -> Mapping[str, Module]:
        """Every module that has tables, by name."""
        return self.modules

    @property
    def aliases(self) -> tuple[str, ...]:
        """None, unless told."""
        return ()

    @abstractmethod
    def parse_signature(self, text: str, flavour: Fp8Flavour | None) -> S:
        """The signature of a canonical name or alias; UsageError says what is known."""

    @property
    def planned_with(self) -> frozenset[str]:
        """The words of `--ops` whose kernels answer the same problems."""
        return frozenset({self.name})

    def signature_in(self, op: str) -> str | None:
        """What an argument OP says of a signature beside the family's name; None where it says none, or of another."""
        return None

    def asked_signature(self, asked: Asked, flavour: Fp8Flavour | None) -> S:
        """The signature that a command line says; UsageError where it says none."""
        asked.demand(asked.op, "signature")
        return self.parse_signature((asked.signature or "").strip(), flavour)

    @abstractmethod
    def asked_problem(self, signature: S, asked: Asked) -> Any:
        """The problem of a signature that a command line says, as `query` takes it; UsageError where it says none."""

    @abstractmethod
    def parse_instance(self, name: str) -> tuple[S, Config] | None:
        """What an instance's name says; None for a name that no instance of the family has."""

    @abstractmethod
    def told_row(self, told: ToldRow, signature: S) -> Any:
        """The row of a line of a table of ckgen's own; UsageError where its sizes make no problem."""

    @abstractmethod
    def query(self, plan: PlanView, target: Target, signature: S, problem: Any, wishes: Wishes) -> Query:
        """The problem on a device. The signature holds no plain fp8 or bf8."""

    @property
    def roundings(self) -> Mapping[str, Rounding]:
        """The peer's roundings of M that its modules name."""
        return {}

    def rounded(self, module: str) -> Rounded:
        """How the peer rounds M for one of `table_modules`."""
        raise NotImplementedError

    def config_problem(self, config: Config) -> str | None:
        """Why fields that can be read make no Config of an instance; None where they do."""
        return None

    def describe_names(self, module: str) -> str:
        """The forms of a module's kernel names for an error hint, joined by `or`; empty for a module without any."""
        return ""

    def fits(self, kernel_name: str) -> frozenset[str]:
        """The modules whose tables may hold this name, of those that files' names tell."""
        return frozenset()

    def name_forms(self, module: str) -> Iterator[tuple[str, str]]:
        """Library and form of the names of a module's kernels."""
        yield from ()

    @abstractmethod
    def constraints_of(self, signature: S, config: Config) -> object:
        """The numbers that a problem of `signature` must satisfy for `config`."""

    @abstractmethod
    def order_of(self, signature: S, config: Config, archs: Sequence[str]) -> Order:
        """In which order a kernel adds up an element of its result, whatever rows, groups or requests it is given."""

    def parts(self, signature: S, config: Config) -> Sequence[tuple[S, Config]]:
        """The signatures and Configs of the instances that one is made of; none where one kernel computes it all."""
        return ()

    @abstractmethod
    def set_reader(self, errors: list[Diagnostic]) -> SetReader:
        """Reads the operation's documents of a kernel set; what is wrong is added to `errors`."""

    @property
    def answered(self) -> tuple[S, ...]:
        """The signatures that every library answers on every arch that can; a plain fp8 is of any flavour."""
        return ()

    def robust_configs(self, signature: S, arch: ArchSpec) -> Sequence[Sequence[Config]]:
        """Kernels that take almost any problem of a signature, in order of preference: those of the first entry that is
        legal answer where no kernel set names any."""
        return ()

    def makes_code_for(self, gfx: str) -> bool:
        """Whether GPU code is made for the arch at all: what CK's tree does not know has host twins alone."""
        return True

    def row_meanings(self, archs: Mapping[str, ArchSpec]) -> RowMeanings[Any, S]:
        """What rows mean whose `op` is the family's name, for one run: rows that its `dialects` read."""
        raise NotImplementedError

    @abstractmethod
    def table_of(
        self, target: Target, signature: S, selected: Iterable[tuple[Any, int]], external: Iterable[Any]
    ) -> Table:
        """The table of rows, those that instances of these numbers answer and those of other libraries' kernels."""

    @abstractmethod
    def place_of(self, signature: S, row: Any) -> tuple[Hashable, Hashable]:
        """The ladder of its target's table that a row stands in, and the sizes that it measured there."""

    @abstractmethod
    def row_of(
        self, target: Target, signature: S, module: str, measured: Measured, winner: Instance[Any, Any, Any] | None
    ) -> Any:
        """A row that says what a table does, measured nowhere that is known; `winner` is the instance, if any."""

    def part_use(self, signature: S, use: Use) -> Use:
        """What a problem of an instance is to the one of its `parts` that computes `signature`."""
        raise NotImplementedError

    def module_of(self, signature: S) -> str:
        """The module whose tables speak of this signature; empty where there is none."""
        return ""

    def ruled_module(self, signature: S, module: str) -> str:
        """The module whose decision rules answer for a signature, whose tables are `module`'s."""
        return module

    def rules(self, module: str, arch: str) -> tuple[DecisionRule, ...]:
        """The decision rules of a module on an arch: those of single products, then that of all."""
        return ()

    def leaf(self, rule: DecisionRule, leaf: Leaf, signature: S) -> Identified | None:
        """What the kernel's name in a leaf of its `rule` means; None where it does not parse."""
        raise NotImplementedError

    @property
    @abstractmethod
    def profile_words(self) -> Mapping[str, Sequence[str] | None]:
        """What a profile's clause may name, each with the words that it may have; None where they are not a list."""

    @abstractmethod
    def signature_word(self, signature: S, name: str) -> str:
        """The word that profiles have for one of a signature's."""

    def config_word(self, signature: S, config: Config, name: str) -> str | None:
        """The same of one of `config_words`; None where the kernel takes all."""
        raise NotImplementedError

    def predicted(self, instances: Sequence[Instance[S, Any, Any]]) -> Mapping[str, tuple[int, ...]]:
        """Per arch, those of a signature's instances that predicted times choose among, by number."""
        return {}

    @abstractmethod
    def covering(self, signature: S, configs: Sequence[Config]) -> tuple[int, ...]:
        """Of these kernels, in order of preference, those that no other one replaces."""

    @abstractmethod
    def device_code(self, instance: Instance[S, Any, Any]) -> DeviceCode:
        """An instance as device code; its backend must make some."""

    @property
    def judges(self) -> tuple[Judge, ...]:
        """Who judges its Configs; none that another family does not."""
        return ()

    @property
    def dialects(self) -> tuple[Dialect, ...]:
        """The kinds of its tables."""
        return ()

    @abstractmethod
    def unit_view(self, unit: UnitPlan[S, Any, Any, Any]) -> UnitView:
        """What the templates say of a unit; ValueError for what C++ cannot hold."""
