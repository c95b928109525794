"""`ckgen tables upgrade`: old tables get the columns that they lack."""

from __future__ import annotations

from pathlib import Path

import click

from ckgen.cli.errors import Command
from ckgen.cli.options import PATH, assume_option
from ckgen.cli.output import error_summary, errors_of, plural, say, say_diagnostics, show
from ckgen.model.errors import InputError


@click.command(cls=Command, name="upgrade", short_help="Give old tables the columns that they lack.")
@click.argument("tables", nargs=-1, required=True, type=PATH, metavar="PATH…")
@click.option("--write", is_flag=True, help="Change the files; without it, only show what would change.")
@assume_option
def command(tables: tuple[Path, ...], write: bool, assume_gfx: tuple[str, ...], assume_dtype: str | None) -> int:
    """Give old tables the columns that they lack: gfx, which cu_num implies, and the type of --assume-dtype."""
    from ckgen.cli.tables_input import asked
    from ckgen.tables.files import write_files
    from ckgen.tables.load import find_tables
    from ckgen.tables.upgrade import plan_upgrades

    upgrades = plan_upgrades(tables, asked(None, assume_gfx, assume_dtype))
    say_diagnostics(upgrades.diagnostics)
    for table in upgrades.tables:
        cells = ", ".join(f"{plural(rows, 'row')} of {cell}" for cell, rows in table.cells)
        show(f"{table.display}: {cells}")
    if errors_of(upgrades.diagnostics):
        say(f"{error_summary(upgrades.diagnostics, len(find_tables(tables)))}; nothing was written")
        return InputError.exit_code
    if write:
        write_files({table.source: table.data for table in upgrades.tables})
    count = len(upgrades.tables)
    done = "upgraded" if write else "would be upgraded (--write does it)" if count else "to upgrade"
    show(f"{plural(count, 'file')} {done}")
    return 0
