"""`ckgen record`: the commands that collect the shapes that no table holds."""

from __future__ import annotations

import click

from ckgen.cli.groups import Entry, LazyGroup

COMMANDS = {
    "from-log": Entry("ckgen.cli.record_from_log", "List the shapes that a server's log says no table holds."),
    "merge": Entry("ckgen.cli.record_merge", "Join lists of shapes, and add up how often each is asked."),
    "untuned": Entry("ckgen.cli.record_untuned", "Write a list's GEMMs as the untuned files of AITER's tuners."),
}


@click.group(cls=LazyGroup, name="record", entries=COMMANDS)
def command() -> None:
    """Collect the shapes that no table holds: from logs and lists."""
