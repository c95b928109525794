"""`ckgen record merge`: lists of shapes as one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from ckgen.cli.errors import Command
from ckgen.cli.options import PATH
from ckgen.cli.output import plural, say
from ckgen.model.diagnostic import Diagnostic
from ckgen.model.errors import InputError


@click.command(cls=Command, name="merge", short_help="Join lists of shapes, and add up how often each is asked.")
@click.argument("lists", type=PATH, nargs=-1, required=True)
@click.option("--out", type=PATH, required=True, metavar="CSV", help="The list to write.")
def command(lists: tuple[Path, ...], out: Path) -> int:
    """Join lists of shapes, and add up how often each is asked on its target.

    A folder stands for all lists in it. --out may be one of them.
    """
    from ckgen.workload.shape_list import AskedShape, lists_of, read_shapes, write_shapes

    counts, errors = Counter[AskedShape](), list[Diagnostic]()
    every = tuple(lists_of(lists))
    for path in every:
        try:
            counts.update(read_shapes(path, lambda told: say(f"note: {told}")))
        except InputError as error:
            errors += error.diagnostics
    if errors:
        raise InputError(errors)
    write_shapes(out, counts)
    say(f"{out}: {plural(len(counts), 'shape')} of {plural(len(every), 'list')}")
    return 0
