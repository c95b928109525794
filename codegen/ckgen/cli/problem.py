"""The problem that `lookup` and `explain` are asked, and a selection as JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from ckgen.cli.options import (
    assume_option,
    assumptions,
    json_option,
    module_option,
    ops_of,
    policy_option,
    targets_of,
    tuning_option,
    tuning_or_shipped,
)
from ckgen.cli.output import progress, say_diagnostics
from ckgen.families.gemm.kernel_set import OPS
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.diagnostic import Severity
from ckgen.model.errors import InputError, UsageError
from ckgen.model.selection import Wishes
from ckgen.model.strategy import Strategy
from ckgen.model.tuned_row import Shape, TunedRow
from ckgen.plan.model import GenerationPlan
from ckgen.plan.options import PlanOptions
from ckgen.plan.policy import MPolicy
from ckgen.plan.select import Query, Selection

F = TypeVar("F", bound=Callable[..., Any])

NOT_ANSWERED = 1
_STRATEGY = "How a tile's K is given to workgroups; any leaves it to the dispatcher."
_SIZE = re.compile(r"[+-]?[0-9]{1,30}")


def problem_options(function: F) -> F:
    """The argument OP and the options that say problem, device and tables."""
    for option in (
        json_option,
        click.option("--strategy", type=click.Choice([str(s) for s in Strategy]), default="any", help=_STRATEGY),
        click.option("--deterministic", is_flag=True, help="Refuse results that depend on the order of workgroups."),
        policy_option,
        assume_option,
        module_option,
        tuning_option,
        click.option("--targets", multiple=True, metavar="LIST", help="What the library is built for beside it."),
        click.option("--batch", metavar="B", help="The batch of a batched signature."),
        click.option("--shape", required=True, metavar="M,N,K", help="The sizes; of a batched signature also B,M,N,K."),
        click.option("--signature", required=True, metavar="S", help="Such as a8w8_blockscale or gemm_bf16_rcr."),
        click.option("--target", required=True, metavar="T", help="The device, such as gfx942 or gfx942:80."),
        click.argument("op"),
    ):
        function = option(function)
    return function


def asked_query(params: Mapping[str, Any]) -> Query:
    """The problem on its device against a plan of the tables; UsageError for words that mean nothing."""
    from ckgen.plan.planner import has_errors, make_plan
    from ckgen.specs.archs import load_archs

    archs = load_archs()
    ops = ops_of((params["op"],))
    if len(ops) != 1:
        raise UsageError(f"a problem has one op, got '{params['op']}'")
    (target, *others) = targets_of((params["target"],), archs, {})
    if others:
        raise UsageError(f"--target takes one device, got '{params['target']}'")
    signature = _signature(params["signature"], archs[target.gfx].fp8_flavour, next(iter(ops)))
    shape = _shape(params["shape"], params["batch"], signature)
    built = targets_of(params["targets"], archs, {}) if params["targets"] else ()
    options = PlanOptions(
        targets=tuple(sorted({target, *built})),
        ops=frozenset(OPS) if "gemm" in ops else ops,
        tuning=tuning_or_shipped(params["tuning"]),
        module=params["module"],
        m_policy=MPolicy(params["m_policy"]),
        assume_gfx=assumptions(params["assume_gfx"], archs),
        every_count=not built,
    )
    with progress("reading tables"):
        plan = make_plan(options, archs)
    if has_errors(plan):
        raise InputError(d for d in plan.diagnostics if d.severity is not Severity.NOTE)
    say_diagnostics(d for d in plan.diagnostics if d.severity is Severity.WARNING)
    wishes = Wishes(params["deterministic"], Strategy(params["strategy"]))
    return Query(plan, archs, target, signature, shape, wishes)


def lookup_document(query: Query, selection: Selection) -> dict[str, Any]:
    """A selection as JSON; null for what there is none of."""
    row, instance, shape = selection.row, selection.instance, query.shape
    sizes = {"M": shape.m, "N": shape.n, "K": shape.k}
    external = None
    if selection.external is not None and selection.winner is not None:
        source = place_of(query.plan, selection.winner)
        external = {"library": selection.external.library, "kernel": selection.external.name, "source": source}
    kernel = row.kernel if row is not None else instance.table_kernel if instance is not None else ""
    return {
        "target": str(query.target),
        "signature": query.signature.canonical(),
        "shape": {"B": shape.batch, **sizes} if query.signature.batched else sizes,
        "tier": selection.tier.value,
        "instance": instance.name if instance is not None else None,
        "table_kernel": kernel or None,
        "k_batch": selection.k_batch if instance is not None else None,
        "source": place_of(query.plan, row) if row is not None else None,
        "external": external,
        "reason": selection.reason or None,
    }


def place_of(plan: GenerationPlan, row: TunedRow) -> str:
    """`file:line` where the user finds a row."""
    places = {(file.layer, file.path): file.display for file in plan.files}
    return f"{places[row.layer, row.location.file]}:{row.location.line}"


def _signature(text: str, flavour: Any, op: str) -> GemmSignature:
    from ckgen.families.registry import FAMILIES

    signature = FAMILIES[op].parse_signature(text.strip(), flavour)
    assert isinstance(signature, GemmSignature)
    return signature


def _shape(text: str, batch: str | None, signature: GemmSignature) -> Shape:
    parts = [part.strip() for part in text.split(",")]
    if batch is not None and len(parts) == 3:
        parts = [batch.strip(), *parts]
    elif batch is not None or len(parts) not in (3, 4) or (signature.batched and len(parts) == 3):
        expected = "B,M,N,K, or M,N,K with --batch," if signature.batched else "M,N,K"
        raise UsageError(f"--shape takes {expected} for {signature}; got '{text}'")
    for part in parts:
        if not _SIZE.fullmatch(part):
            raise UsageError(f"--shape '{text}': '{part}' is not an integer")
    m, n, k = (int(part) for part in parts[-3:])
    given = int(parts[0]) if len(parts) == 4 else 0
    return Shape(given if signature.batched or given != 1 else 0, m, n, k)
