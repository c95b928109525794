"""`ckgen tables digest`: what a running program says of the tables that it loaded."""

from __future__ import annotations

from pathlib import Path

import click

from ckgen.cli.errors import Command
from ckgen.cli.options import PATH, json_option
from ckgen.cli.output import show, show_json
from ckgen.model.errors import UsageError


@click.command(cls=Command, name="digest", short_help="The digest that a program says of these tables once loaded.")
@click.argument("tables", nargs=-1, required=True, type=PATH, metavar="FILE…")
@json_option
def command(tables: tuple[Path, ...], as_json: bool) -> int:
    """The digest that a program says of these tables once loaded.

    It is that of loaded_tables_digest(), of the files' bytes in their order; where there are several, each one's too.
    """
    from ckgen.tables.digest import tables_digest

    try:
        together, each = tables_digest(tables), {str(path): tables_digest([path]) for path in tables}
    except OSError as error:
        raise UsageError(f"cannot read {error.filename}: {error.strerror}") from None
    if as_json:
        show_json({"digest": _text(together), "files": {path: _text(digest) for path, digest in each.items()}})
        return 0
    if len(tables) > 1:
        for path, digest in each.items():
            show(f"{_text(digest)}  {path}")
    show(f"{_text(together)}  {':'.join(map(str, tables))}")
    return 0


def _text(digest: int) -> str:
    return f"{digest:016x}"
