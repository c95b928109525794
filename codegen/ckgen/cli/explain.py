"""`ckgen explain`: the trail of a lookup, in the order that the dispatcher walks it."""

from __future__ import annotations

from typing import Any

import click

from ckgen.cli.errors import Command
from ckgen.cli.output import show, show_json
from ckgen.cli.problem import NOT_ANSWERED, asked_query, lookup_document, problem_options
from ckgen.model.selection import Tier
from ckgen.plan.select import select
from ckgen.plan.trail import trail


@click.command(
    cls=Command, name="explain", short_help="Show the whole trail of a lookup, with what was rejected and why."
)
@problem_options
def command(**params: Any) -> int:
    """Show the whole trail of a lookup, with what was rejected and why. Exit 1: unsupported."""
    query = asked_query(params)
    selection, found = select(query), trail(query, query.plan.place)
    if params["as_json"]:
        show_json(lookup_document(query, selection) | {"trail": [step.to_json() for step in found.steps]})
    else:
        absent = query.absent()
        show(found.text() + (f"\n  absent       {absent}" if absent else ""))
    return NOT_ANSWERED if selection.tier is Tier.UNSUPPORTED else 0
