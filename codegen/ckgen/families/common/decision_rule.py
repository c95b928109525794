"""Decision rules: for a shape without a measured row, the first arm whose conditions hold names a kernel."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

_CONDITION = re.compile(r"(?P<feature>\w+) (?P<comparison><=|<|==) (?P<limit>[0-9]+)")


class Feature(Enum):
    """The integers that conditions look at; MN is M · N, in 64 bits.

    ROWS are those of one product: of a busy expert, of a group, M of a GEMM. CUS are the device's compute units.
    """

    M = "M"
    N = "N"
    K = "K"
    MN = "MN"
    ROWS = "ROWS"
    CUS = "CUS"


_FEATURES = ", ".join(Feature.__members__)


class Comparison(Enum):
    """How a feature is held against a limit."""

    AT_MOST = "<="
    BELOW = "<"
    EQUAL = "=="


@dataclass(frozen=True, slots=True)
class Condition:
    """One comparison of a feature with a constant."""

    feature: Feature
    comparison: Comparison
    limit: int

    def holds(self, value: int) -> bool:
        """Whether the comparison is true of the feature's value."""
        if self.comparison is Comparison.AT_MOST:
            return value <= self.limit
        return value < self.limit if self.comparison is Comparison.BELOW else value == self.limit

    def __str__(self) -> str:
        return f"{self.feature.value} {self.comparison.value} {self.limit}"


@dataclass(frozen=True, slots=True)
class Arm:
    """All of `conditions` lead to `kernel`, a name of the module's tables."""

    conditions: tuple[Condition, ...]
    kernel: str


@dataclass(frozen=True, slots=True)
class DecisionRule:
    """Arms in order, for one module on one arch."""

    arch: str
    module: str
    library: str
    arms: tuple[Arm, ...]

    def evaluate(self, m: int, n: int, k: int, *, rows: int | None = None, cu_num: int = 0) -> int | None:
        """The index of the first arm that holds; None if none does. `rows` are M unless said."""
        values = {Feature.M: m, Feature.N: n, Feature.K: k, Feature.MN: m * n, Feature.CUS: cu_num}
        values[Feature.ROWS] = m if rows is None else rows
        for index, arm in enumerate(self.arms):
            if all(condition.holds(values[condition.feature]) for condition in arm.conditions):
                return index
        return None

    def kernel(self, m: int, n: int, k: int) -> str | None:
        """The kernel of the first arm that holds, where M is all that there is of rows."""
        arm = self.evaluate(m, n, k)
        return None if arm is None else self.arms[arm].kernel


def parse_rule(data: Mapping[str, Any], arch: str) -> DecisionRule:
    """A rule from its JSON, for one arch of its family.

    ValueError names a condition that is not `<feature> <=|<|== <integer>`.
    """
    arms = tuple(Arm(tuple(_condition(text) for text in arm["when"]), arm["kernel"]) for arm in data["arms"])
    return DecisionRule(arch, data["module"], data["library"], arms)


def _condition(text: str) -> Condition:
    match = _CONDITION.fullmatch(text)
    if match is None or match["feature"] not in Feature.__members__:
        raise ValueError(f"not a condition: '{text}' (expected {_FEATURES}, then <=, < or ==, then an integer)")
    return Condition(Feature[match["feature"]], Comparison(match["comparison"]), int(match["limit"]))
