"""A problem of a command line as a Case."""

from __future__ import annotations

from typing import Any

from ckgen.families.common.signature import Signature
from ckgen.fuzz.case import Case
from ckgen.fuzz.operations import operation_of
from ckgen.model.target import Target

SEED = 1
"""Of operands, and where sequences may differ, of their lengths."""


def case_of(signature: Signature, target: Target, problem: Any) -> Case:
    """`problem` is what a Family's `asked_problem` gives; UsageError for sizes that a Case does not hold."""
    return operation_of(signature).asked(Case(signature.canonical(), str(target), seed=SEED), problem)
