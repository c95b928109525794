"""Rules by kind of Config: each judges one Config on one arch and says why, with numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.finding import RuleFinding

S = TypeVar("S")
C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule's id, whose Configs it judges, where it comes from, and its contract in a line."""

    id: str
    backend: Backend
    source: str
    contract: str


class Judge(Protocol):
    """Judges one kind of Config."""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """What it may find broken, by id."""
        ...

    def judge(
        self, signature: object, config: object, backend: Backend, arch: ArchSpec
    ) -> tuple[RuleFinding, ...] | None:
        """What is against the Config on this arch, by rule id; None for a Config of another kind."""
        ...


class RuleSet(Generic[S, C]):
    """The rules about a backend's Configs of some classes, for signatures of one class.

    `rule` registers those that ask about both, `config_rule` those that hold a Config against the arch alone. Whole
    spaces of Configs are judged for many signatures: the latter are asked once for each Config and arch.
    """

    def __init__(self, backend: Backend, signature: type[S], *configs: type[C]) -> None:
        self._backend = backend
        self._signature = signature
        self._configs = configs
        self._rules: dict[str, Rule] = {}
        self._checks: dict[str, Callable[[S, C, ArchSpec], RuleFinding | None]] = {}
        self._config_checks: dict[str, Callable[[C, ArchSpec], RuleFinding | None]] = {}
        self._known: dict[tuple[C, ArchSpec], tuple[RuleFinding, ...]] = {}
        if backend.vendor:
            self.config_rule(f"{backend}.vendor", source="arch_specs")(self._is_for_its_gpus)

    def _is_for_its_gpus(self, config: C, arch: ArchSpec) -> RuleFinding | None:
        """A GPU is of the vendor that the backend makes code for."""
        if arch.vendor is None or arch.vendor.value == self._backend.vendor:
            return None
        return RuleFinding("", f"{arch.name} is of another vendor", str(arch.vendor), self._backend.vendor)

    def rule(
        self, rule_id: str, *, source: str
    ) -> Callable[[Callable[[S, C, ArchSpec], RuleFinding | None]], Callable[[S, C, ArchSpec], RuleFinding | None]]:
        """Register a check under an id of the form `<backend>.<subject>.<what>`; its docstring is the contract."""

        def register(
            check: Callable[[S, C, ArchSpec], RuleFinding | None],
        ) -> Callable[[S, C, ArchSpec], RuleFinding | None]:
            self._add(rule_id, source, check.__doc__)
            self._checks = dict(sorted({**self._checks, rule_id: check}.items()))
            return check

        return register

    def config_rule(
        self, rule_id: str, *, source: str
    ) -> Callable[[Callable[[C, ArchSpec], RuleFinding | None]], Callable[[C, ArchSpec], RuleFinding | None]]:
        """Register a check that asks nothing of the signature, in the same way."""

        def register(
            check: Callable[[C, ArchSpec], RuleFinding | None],
        ) -> Callable[[C, ArchSpec], RuleFinding | None]:
            self._add(rule_id, source, check.__doc__)
            self._config_checks[rule_id] = check
            self._known.clear()
            return check

        return register

    def _add(self, rule_id: str, source: str, contract: str | None) -> None:
        if rule_id in self._rules or not rule_id.startswith(f"{self._backend}."):
            raise ValueError(f"rule id '{rule_id}' is taken or not of backend {self._backend}")
        self._rules[rule_id] = Rule(rule_id, self._backend, source, (contract or "").strip().splitlines()[0])

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Those that are registered, by id."""
        return tuple(self._rules[rule_id] for rule_id in sorted(self._rules))

    def judge(
        self, signature: object, config: object, backend: Backend, arch: ArchSpec
    ) -> tuple[RuleFinding, ...] | None:
        """See Judge."""
        if backend is not self._backend or not isinstance(config, self._configs):
            return None
        if not isinstance(signature, self._signature):
            return None
        found: list[RuleFinding] = []
        for rule_id, check in self._checks.items():  # a plain loop, since whole spaces of Configs are judged
            if (finding := check(signature, config, arch)) is not None:
                found.append(RuleFinding(rule_id, finding.reason, finding.measured, finding.limit))
        alone = self._of_config(config, arch)
        if not alone or not found:
            return alone or tuple(found)
        return tuple(sorted((*alone, *found), key=lambda finding: finding.rule))

    def _of_config(self, config: C, arch: ArchSpec) -> tuple[RuleFinding, ...]:
        """What is against the Config whatever it computes."""
        known = self._known.get(key := (config, arch))
        if known is None:
            checks = sorted(self._config_checks.items())
            findings = ((rule_id, check(config, arch)) for rule_id, check in checks)
            known = tuple(replace(one, rule=rule_id) for rule_id, one in findings if one is not None)
            self._known[key] = known
        return known


def first_judgement(
    judges: Iterable[Judge], signature: object, config: object, backend: Backend, arch: ArchSpec
) -> tuple[RuleFinding, ...]:
    """What the first judge of such a Config has against it; TypeError where none judges it."""
    for one in judges:
        if (found := one.judge(signature, config, backend, arch)) is not None:
            return found
    raise TypeError(f"no rules are about a {type(config).__name__} of backend {backend}")


def listed(judges: Iterable[Judge]) -> tuple[Rule, ...]:
    """Every rule of the judges, by id; ValueError where two rules have one id."""
    known: dict[str, Rule] = {}
    for one in (one for judge in judges for one in judge.rules):
        if known.setdefault(one.id, one) != one:
            raise ValueError(f"two rules have the id '{one.id}'")
    return tuple(known[rule_id] for rule_id in sorted(known))
