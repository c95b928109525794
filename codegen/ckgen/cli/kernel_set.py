"""`ckgen kernel-set`: the commands that make kernel sets."""

from __future__ import annotations

import click

from ckgen.cli.groups import Entry, LazyGroup

COMMANDS = {
    "import-te": Entry("ckgen.cli.kernel_set_import_te", "Write the kernel set that a config of Tile Engine means."),
}


@click.group(cls=LazyGroup, name="kernel-set", entries=COMMANDS)
def command() -> None:
    """Make kernel sets of what other tools ask for."""
