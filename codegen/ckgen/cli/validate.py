"""`ckgen validate`: what becomes of every row of some tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckgen.cli.errors import Command
from ckgen.cli.option_values import assumed_dtype, assumptions, ops_of, targets_of
from ckgen.cli.options import PATH, assume_option, json_option, module_option, quiet_option
from ckgen.cli.output import (
    columns,
    error_summary,
    errors_of,
    fates_text,
    plural,
    progress,
    say,
    say_diagnostics,
    show,
    show_json,
)
from ckgen.cli.why_not import json_of, matching, text_of
from ckgen.model.errors import InputError
from ckgen.model.fate import FateKind
from ckgen.plan.model import GenerationPlan
from ckgen.plan.options import PlanOptions
from ckgen.report.rows import RowFate

if TYPE_CHECKING:
    from ckgen.families.gemm.varying_orders import VaryingOrders


@click.command(cls=Command, name="validate", short_help="Check tuning tables and say what becomes of every row.")
@click.argument("tables", nargs=-1, required=True, type=PATH, metavar="PATH…")
@click.option("--targets", multiple=True, metavar="LIST", help="Only rows of these.  [default: of any target]")
@module_option
@assume_option
@click.option("--strict", is_flag=True, help="A row whose kernel cannot be built is an error.")
@click.option("--why-not", metavar="ROW|KERNEL", help="Only the row at FILE:LINE, or kernels that fit a glob.")
@click.option("--batch-invariance", is_flag=True, help="Say in how many ladders splits or orders of sums vary with M.")
@quiet_option
@json_option
def command(**params: Any) -> int:
    """Check tuning tables and say what becomes of every row.

    PATH is a table or a folder of tables; later ones win. Without --targets: all targets that the rows name.
    """
    from ckgen.families.gemm.varying_orders import varying_orders
    from ckgen.plan.planner import has_errors, make_plan
    from ckgen.specs.archs import load_archs

    archs = load_archs()
    tables: tuple[Path, ...] = tuple(params["tables"])
    options = PlanOptions(
        targets=targets_of(params["targets"], archs, {}) if params["targets"] else None,
        ops=ops_of(()),
        tuning=tables,
        module=params["module"],
        assume_gfx=assumptions(params["assume_gfx"], archs),
        assume_dtype=assumed_dtype(params["assume_dtype"]),
        strict=params["strict"],
        every_row=True,
    )
    with progress("reading"):
        plan = make_plan(options, archs)
    asked: str | None = params["why_not"]
    found = matching(plan, asked) if asked is not None else []
    if params["as_json"]:
        document: dict[str, Any] = {"files": _files_json(plan)}
        if params["batch_invariance"]:
            document["batch_invariance"] = [one.to_json() for one in varying_orders(plan.units)]
        show_json(document if asked is None else document | {"why_not": [json_of(one) for one in found]})
    elif asked is None:
        show(_text(plan))
        if params["batch_invariance"]:
            show(_varying_text(varying_orders(plan.units)))
    elif found:
        show("\n".join(text_of(one) for one in found))
    _say(plan, found, asked)
    return InputError.exit_code if has_errors(plan) else 0


def _say(plan: GenerationPlan, found: list[RowFate], asked: str | None) -> None:
    """With --why-not errors only: what was asked for is not drowned."""
    say_diagnostics(plan.diagnostics if asked is None else errors_of(plan.diagnostics))
    if errors_of(plan.diagnostics):
        say(error_summary(plan.diagnostics, len(plan.files)))
    if asked is not None and not found:
        say(f"note: no row at '{asked}', and no kernel name that fits it")


def _varying_text(found: Sequence[VaryingOrders]) -> str:
    """A line for each target, module and type of A, then all of them."""
    rows = [
        (f"  {one.target}", one.module, one.dtype, f"{one.splits} of {one.groups}", f"{one.orders} of {one.runnable}")
        for one in found
    ]
    splits, groups = sum(one.splits for one in found), sum(one.groups for one in found)
    orders, runnable = sum(one.orders for one in found), sum(one.runnable for one in found)
    head = f"splits of K vary with M in {splits} of {plural(groups, 'ladder')}, orders of additions in {orders} of "
    return f"{head}{runnable} that can run\n{columns(rows)}"


def _files_json(plan: GenerationPlan) -> list[dict[str, Any]]:
    return [
        {
            "path": file.display,
            "module": report.module,
            "rows": report.rows,
            "fates": {kind.value: report.fates[kind] for kind in FateKind if report.fates.get(kind)},
            "findings": [finding.to_json() for finding in report.findings],
        }
        for file, report in zip(plan.files, plan.reports, strict=True)
    ]


def _text(plan: GenerationPlan) -> str:
    rows = []
    total: Counter[FateKind] = Counter()
    for file, report in zip(plan.files, plan.reports, strict=True):
        fates = {kind.value: report.fates[kind] for kind in FateKind if report.fates.get(kind)}
        what = report.module or file.kind
        rows.append((file.display, what, plural(report.rows, "row"), fates_text(fates)))
        total.update(report.fates)
    lines = [columns(rows), f"{plural(len(rows), 'file')}, {plural(total.total(), 'row')}"]
    lines.append(columns([(f"  {kind.value}", f"{total[kind]:,}") for kind in FateKind if total[kind]]))
    if plan.selected:
        lines.append("selected rows by target")
        lines.append(columns([(f"  {target}", f"{count:,}") for target, count in plan.selected.items()]))
    return "\n".join(line for line in lines if line)
