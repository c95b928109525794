"""Why a problem is illegal, or no instance runs it: rules of problem_tables.py with the numbers that broke them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ckgen.families.common.problem_tables import MESSAGES, NEAR

_MULTIPLE = NEAR["gemm.instance.m-multiple"]
"""The `near` of rules whose limit is a multiple."""
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
    """Whether a rejection is a better reason than the one before: its instance is nearer to the problem.

    Nearer is who says a rule of a larger `near`, and of equal ones whose rule asks for the lesser change in proportion.
    """
    if before is None or before.rule == no_instance().rule:
        return True
    near, known = NEAR.get(finding.rule, 0), NEAR.get(before.rule, 0)
    if near != known:
        return near > known
    return _change(finding) * max(before.measured, 1) < _change(before) * max(finding.measured, 1)


def _change(finding: ProblemFinding) -> int:
    """By how much the number must change that broke the rule."""
    if NEAR.get(finding.rule) == _MULTIPLE and finding.limit > 0:
        return finding.limit - finding.measured % finding.limit
    return abs(finding.measured - finding.limit)


def messages() -> Mapping[str, str]:
    """Every rule's message template by id, in the order of generated headers."""
    return MESSAGES
