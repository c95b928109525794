"""`ckgen fmha`: what an attention problem means, without a kernel."""

from __future__ import annotations

import click

from ckgen.cli.groups import Entry, LazyGroup

COMMANDS = {
    "mask": Entry("ckgen.cli.fmha_mask", "Show which columns each row sees."),
}


@click.group(cls=LazyGroup, name="fmha", entries=COMMANDS)
def command() -> None:
    """Say what an attention problem means."""
