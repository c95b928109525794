"""`ckgen tables`: the commands that mend, join and count tuning tables."""

from __future__ import annotations

import click

from ckgen.cli.groups import Entry, LazyGroup

COMMANDS = {
    "digest": Entry("ckgen.cli.tables_digest", "The digest that a program says of these tables once loaded."),
    "dedupe": Entry("ckgen.cli.tables_dedupe", "Keep one of the rows that answer the same question differently."),
    "merge": Entry("ckgen.cli.tables_merge", "Join tables of one module; later ones win."),
    "upgrade": Entry("ckgen.cli.tables_upgrade", "Give old tables the columns that they lack."),
    "stats": Entry("ckgen.cli.tables_stats", "Count files, rows, kernels and times."),
}


@click.group(cls=LazyGroup, name="tables", entries=COMMANDS)
def command() -> None:
    """Mend, join and count tuning tables."""
