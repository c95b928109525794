"""Why a problem is illegal, or no instance runs it: rules of problem_tables.py with the numbers that broke them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ckgen.families.common.problem_tables import MESSAGES

_OF_ANOTHER = frozenset(
    {"gemm.stream_k.strategy", "gemm.instance.min-m", "moe.n-min", "moe.n-max", "moe.k-max", "moe.presorted"}
)
_OF_TABLES = frozenset({"gemm.instance.declined", "gemm.instance.untuned", "moe.declined"})


_ORDER = tuple(MESSAGES)


@dataclass(frozen=True, slots=True)
class ProblemFinding:
    """A rule that a problem breaks: its id and the two numbers of its message."""

    rule: str
    measured: int
    limit: int

    @property
    def text(self) -> str:
        """The message, as in `K = 2050 is not a multiple of 128 (rule gemm.blockscale.k-group)`."""
        message = messages()[self.rule].format(measured=self.measured, limit=self.limit)
        return f"{message} (rule {self.rule})"

    @property
    def index(self) -> int:
        """The rule's number in generated headers; they count from 1."""
        return 1 + _ORDER.index(self.rule)


def no_instance() -> ProblemFinding:
    """What is said where nothing was built for a legal problem."""
    return ProblemFinding("gemm.no-instance", 0, 0)


def outweighs(finding: ProblemFinding, before: ProblemFinding | None) -> bool:
    """Whether a rejection is a better reason than the one before: not if it only says that another kernel is meant.

    That a table stands in the way of a kernel which could run is the best reason.
    """
    return before is None or (finding.rule not in _OF_ANOTHER and before.rule not in _OF_TABLES)


def messages() -> Mapping[str, str]:
    """Every rule's message template by id, in the order of generated headers."""
    return MESSAGES
