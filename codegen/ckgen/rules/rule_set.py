"""Rules by kind of Config: each judges one Config on one arch and says why, with numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
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
    """The rules about a backend's Configs of some classes, for signatures of one class; `rule` registers them."""

    def __init__(self, backend: Backend, signature: type[S], *configs: type[C]) -> None:
        self._backend = backend
        self._signature = signature
        self._configs = configs
        self._checks: tuple[tuple[Rule, Callable[[S, C, ArchSpec], RuleFinding | None]], ...] = ()
        if backend.vendor:
            self.rule(f"{backend}.vendor", source="arch_specs")(self._is_for_its_gpus)

    def _is_for_its_gpus(self, signature: S, config: C, arch: ArchSpec) -> RuleFinding | None:
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
            if any(one.id == rule_id for one in self.rules) or not rule_id.startswith(f"{self._backend}."):
                raise ValueError(f"rule id '{rule_id}' is taken or not of backend {self._backend}")
            one = Rule(rule_id, self._backend, source, (check.__doc__ or "").strip().splitlines()[0])
            self._checks = tuple(sorted((*self._checks, (one, check)), key=lambda pair: pair[0].id))
            return check

        return register

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Those that are registered, by id."""
        return tuple(one for one, _ in self._checks)

    def judge(
        self, signature: object, config: object, backend: Backend, arch: ArchSpec
    ) -> tuple[RuleFinding, ...] | None:
        """See Judge."""
        if backend is not self._backend or not isinstance(config, self._configs):
            return None
        if not isinstance(signature, self._signature):
            return None
        found: list[RuleFinding] = []
        for one, check in self._checks:  # a plain loop, since whole spaces of Configs are judged
            if (finding := check(signature, config, arch)) is not None:
                found.append(RuleFinding(one.id, finding.reason, finding.measured, finding.limit))
        return tuple(found)


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
