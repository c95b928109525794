"""`ckgen report`: pages of what tables cover, and of what tunes found."""

from __future__ import annotations

import click

from ckgen.cli.groups import Entry, LazyGroup

COMMANDS = {
    "coverage": Entry(
        "ckgen.cli.report_coverage", "What tables cover, their kernels, and how near rows come to the chip."
    ),
    "tuning": Entry("ckgen.cli.report_tuning", "What the journals of tunes hold: times, regret, flips, failures."),
}


@click.group(cls=LazyGroup, name="report", entries=COMMANDS)
def command() -> None:
    """Pages of what tables cover, and of what tunes found."""
