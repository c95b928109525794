"""`ckgen lookup`: which instance answers a problem on a target."""

from __future__ import annotations

from typing import Any

import click

from ckgen.cli.errors import Command
from ckgen.cli.output import columns, show, show_json
from ckgen.cli.problem import NOT_ANSWERED, asked_query, lookup_document, problem_options, table_kernel
from ckgen.families.common.query import Query
from ckgen.model.row import Row
from ckgen.model.selection import Tier
from ckgen.plan.select import Selection, select
from ckgen.plan.trail import assumed_of, measured_text, title


@click.command(cls=Command, name="lookup", short_help="Say which instance answers a problem on a target.")
@problem_options
def command(**params: Any) -> int:
    """Say which instance answers a problem on a target.

    The library is taken to be built for every target of that arch that the tables name. Exit 1: unsupported.
    """
    query = asked_query(params)
    selection = select(query)
    if params["as_json"]:
        show_json(lookup_document(query, selection))
    else:
        show(_text(query, selection))
    return NOT_ANSWERED if selection.tier is Tier.UNSUPPORTED else 0


def _text(query: Query, selection: Selection) -> str:
    rows: list[tuple[str, str]] = []
    if selection.instance is None:
        absent = query.absent()
        rows += [("  unsupported", selection.reason), *([("  absent", absent)] if absent else [])]
    else:
        k_batch = str(selection.k_batch) if selection.k_batch else "as the kernel decides"
        rows += [(f"  {selection.tier}", selection.instance.name), ("  k_batch", k_batch)]
        row, kernel = selection.row, table_kernel(selection)
        rows += [("  kernel", kernel)] if kernel else []
        rows += [_row(query, row)] if row is not None else []
    if selection.external is not None and selection.winner is not None:
        winner = f"{selection.external.library} {selection.external.name or '-'}"
        rows.append(("  external", f"{winner}  {query.plan.place(selection.winner)}"))
        assumed = assumed_of(query, selection.instance.name if selection.instance is not None else "")
        rows += [("  assumed", assumed)] if assumed else []
    return f"{title(query)}\n{columns(rows)}"


def _row(query: Query, row: Row) -> tuple[str, str]:
    return "  row", measured_text(query.plan.place(row), row.us, f"{row.sizes} on {row.target}")
