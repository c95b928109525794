"""`ckgen schema`: the JSON Schemas of what is read, written and printed."""

from __future__ import annotations

import click

from ckgen.cli.errors import Command
from ckgen.cli.output import show_json

_KINDS = ("arch", "kernel-set", "profile", "manifest", "registry", "lookup", "explain", "validate", "words")
"""Those of `ckgen.emit.schema` and the words, here so that --help need not import them."""


@click.command(cls=Command, name="schema", short_help="Print the JSON Schema of an input or an output.")
@click.argument("kind", type=click.Choice(_KINDS), required=False)
def command(kind: str | None) -> int:
    """Print the JSON Schema of an arch spec, a kernel set (one YAML document of it), a profile, a tree's manifest, a
    registry document, or what lookup, explain or validate print with --json.

    Without a word: one schema that holds them all. `words`: the words that stand for types, layouts and other fields of
    signatures, as definitions for schemas of one's own.
    """
    from ckgen.emit.schema import bundle, schema, words_schema
    from ckgen.model.op_words import WORDS

    if kind == "words":
        show_json(words_schema(WORDS))
    else:
        show_json(bundle() if kind is None else schema(kind))
    return 0
