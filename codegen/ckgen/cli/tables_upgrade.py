"""`ckgen tables upgrade`: old tables get the column `gfx`."""

from __future__ import annotations

from pathlib import Path

import click

from ckgen.cli.errors import Command
from ckgen.cli.options import PATH, assume_option, assumptions
from ckgen.cli.output import error_summary, errors_of, plural, say, say_diagnostics, show
from ckgen.model.errors import InputError


@click.command(cls=Command, name="upgrade", short_help="Give old tables the gfx column that their cu_num implies.")
@click.argument("tables", nargs=-1, required=True, type=PATH, metavar="PATH…")
@click.option("--write", is_flag=True, help="Change the files; without it, only show what would change.")
@assume_option
def command(tables: tuple[Path, ...], write: bool, assume_gfx: tuple[str, ...]) -> int:
    """Give old tables the gfx column that their cu_num implies."""
    from ckgen.families.tables import table_dialects
    from ckgen.plan.inputs import gfx_of_cu
    from ckgen.specs.archs import load_archs
    from ckgen.tables.files import write_files
    from ckgen.tables.load import find_tables
    from ckgen.tables.upgrade import plan_upgrades

    archs = load_archs()
    upgrades = plan_upgrades(tables, gfx_of_cu(archs, (), assumptions(assume_gfx, archs)), table_dialects())
    say_diagnostics(upgrades.diagnostics)
    for table in upgrades.tables:
        archs_text = ", ".join(f"{plural(rows, 'row')} of {gfx}" for gfx, rows in table.archs)
        show(f"{table.display}: {archs_text}")
    if errors_of(upgrades.diagnostics):
        say(f"{error_summary(upgrades.diagnostics, len(find_tables(tables)))}; nothing was written")
        return InputError.exit_code
    if write:
        write_files({table.source: table.data for table in upgrades.tables})
    count = len(upgrades.tables)
    done = "upgraded" if write else "would be upgraded (--write does it)" if count else "to upgrade"
    show(f"{plural(count, 'file')} {done}")
    return 0
