"""`ckgen schema`: the JSON Schemas of what is read and written."""

from __future__ import annotations

import click

from ckgen.cli.errors import Command
from ckgen.cli.output import show_json


@click.command(cls=Command, name="schema", short_help="Print the JSON Schema of an input or output file.")
@click.argument("kind", type=click.Choice(["arch", "kernel-set", "manifest"]), required=False)
def command(kind: str | None) -> int:
    """Print the JSON Schema of an arch spec, of a kernel set (one YAML document of it) or of a tree's manifest.

    Without a word: one schema that holds all three.
    """
    from ckgen.emit.schema import bundle, schema

    show_json(bundle() if kind is None else schema(kind))
    return 0
