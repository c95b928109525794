"""What a case runs: an instance, or why none."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.families.gemm.problem_rules import ProblemFinding


@dataclass(frozen=True, slots=True)
class Chosen:
    """An instance and its K splits, or the rule that forbids it."""

    instance: str
    k_batch: int
    finding: ProblemFinding | None
