"""`ckgen heuristic`: decision rules that are fitted to tables, held against tables, and shown."""

from __future__ import annotations

import click

from ckgen.cli.groups import Entry, LazyGroup

COMMANDS = {
    "fit": Entry("ckgen.cli.heuristic_fit", "Fit a decision rule to the measured winners of a module."),
    "eval": Entry("ckgen.cli.heuristic_eval", "Say how often rules and plainer ways take the measured winner."),
    "show": Entry("ckgen.cli.heuristic_show", "Print the rule that answers, or its way for one shape."),
}


@click.group(cls=LazyGroup, name="heuristic", entries=COMMANDS)
def command() -> None:
    """Fit, judge and show decision rules, which answer where no table does."""
