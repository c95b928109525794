"""`ckgen list fmha-problems`: attention of public models, and what of a choice of kernels answers each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ckgen.cli.list_instances import options_of, plan_of
from ckgen.cli.output import columns
from ckgen.families.fmha.absent import why_absent
from ckgen.families.fmha.benchmark_problems import BenchmarkProblem, benchmark_problems, training_problems
from ckgen.families.fmha.enums import FmhaEntry
from ckgen.families.fmha.query import FmhaQuery
from ckgen.families.fmha.signature import OP
from ckgen.plan.select import Selection, select
from ckgen.specs.archs import load_archs

Rows = list[dict[str, Any]]


def fmha_problems() -> Rows:
    """Every problem, in the file's order, those of backward last."""
    return [_row(problem) for problem in _problems()]


def _problems() -> tuple[BenchmarkProblem, ...]:
    return (*benchmark_problems(), *training_problems())


def answered(choosing: Mapping[str, Any]) -> Rows:
    """The same, each with `answers`: by target the instance and its splits, or the rule that says why there is none.

    `absent`: why no kernel has the signature on the target's arch, or none that was chosen.
    """
    options = replace(options_of({**choosing, "ops": (OP,)}), every_count=False)
    plan, archs = plan_of(options), load_archs()
    rows = []
    for problem in _problems():
        answers = {}
        for target in plan.targets:
            signature = problem.signature.resolved(archs[target.gfx].fp8_flavour)
            query = FmhaQuery(plan, target, signature, problem.shape)
            answers[str(target)] = _answer(select(query), why_absent(query.unit, signature, archs[target.gfx]))
        rows.append({**_row(problem), "answers": answers})
    return rows


def answered_text(rows: Rows) -> str:
    """A line per problem with the backend that answers on each target, or the rule; then how many of each direction.

    The rule is that of kernels where they refuse the signature, else that of the problem.
    """
    targets = list(rows[0]["answers"])
    cells = [("model", "phase", "signature", *targets)]
    for row in rows:
        said = (one["backend"] or _rule_of(one["absent"]) or one["rule"] for one in row["answers"].values())
        cells.append((row["model"], row["phase"], row["signature"], *said))
    for direction in ("fwd", "bwd"):
        of = [row for row in rows if row["direction"] == direction]
        counts = (sum(row["answers"][target]["instance"] is not None for row in of) for target in targets)
        cells.append(("answered", direction, "", *(f"{count} of {len(of)}" for count in counts)))
    return columns(cells)


def _rule_of(absent: str | None) -> str | None:
    """Of "ck_tile.fmha.arch: …"; None of what is no rule's sentence."""
    rule, colon, _ = (absent or "").partition(": ")
    return rule if colon and " " not in rule else None


def _answer(found: Selection, absent: str | None) -> dict[str, Any]:
    if found.instance is None:
        rule = found.finding.rule if found.finding is not None else None
        none = {"instance": None, "backend": None, "k_batch": None}
        return {**none, "rule": rule, "reason": found.reason, "absent": absent}
    name, backend = found.instance.name, str(found.instance.backend)
    said = {"instance": name, "backend": backend, "k_batch": found.k_batch}
    return {**said, "rule": None, "reason": None, "absent": None}


def _row(problem: BenchmarkProblem) -> dict[str, Any]:
    shape = problem.shape
    return {
        "model": problem.model,
        "phase": str(problem.phase),
        "direction": "bwd" if problem.signature.traits.entry is FmhaEntry.BACKWARD else "fwd",
        "signature": str(problem.signature),
        "batch": shape.batch,
        "heads": [shape.heads_q, shape.heads_k],
        "lengths": [shape.seqlen_q, shape.seqlen_k],
        "hdims": [shape.hdim_q, shape.hdim_v],
        "mask": str(problem.mask) if problem.signature.traits.masked else None,
        "softcap": problem.softcap or None,
        "config": [f"{field}: {place}" for field, place in problem.config],
    }
