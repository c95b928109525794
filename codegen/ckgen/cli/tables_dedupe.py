"""`ckgen tables dedupe`: of rows that contradict each other the fastest stays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ckgen.cli.errors import Command
from ckgen.cli.options import PATH, assume_option, module_option, quiet_option
from ckgen.cli.output import error_summary, errors_of, plural, say, say_diagnostics, show
from ckgen.model.errors import InputError

if TYPE_CHECKING:
    from ckgen.tables.repair import Conflict

UNDECIDED = 1
_KEEP = ("fastest", "first", "last")


@click.command(cls=Command, name="dedupe", short_help="Keep one of the rows that answer the same question differently.")
@click.argument("tables", nargs=-1, required=True, type=PATH, metavar="PATH…")
@click.option("--keep", type=click.Choice(_KEEP), default="fastest", show_default=True, help="Which row stays.")
@click.option("--write", is_flag=True, help="Change the files; without it, only show what would change.")
@module_option
@assume_option
@quiet_option
def command(
    tables: tuple[Path, ...],
    keep: str,
    write: bool,
    module: str | None,
    assume_gfx: tuple[str, ...],
    assume_dtype: str | None,
) -> int:
    """Keep one of the rows that answer the same question differently.

    The fastest row whose measurement is believed stays, or the first or last by file and line. Exit 1: of some rows
    none is believed, and none is kept.
    """
    from ckgen.cli.tables_input import judgement_of, load, problems_of
    from ckgen.tables.files import write_files
    from ckgen.tables.repair import dedupe, find_conflicts

    loaded = load(tables, module, assume_gfx, assume_dtype)
    problems = problems_of(loaded)
    say_diagnostics(problems)
    judgement = judgement_of(loaded)
    conflicts = [_kept(one, keep) for one in find_conflicts(loaded, judgement.problems, judgement.believed)]
    for conflict in conflicts:
        show("\n".join(conflict.lines()))
    decided = [conflict for conflict in conflicts if conflict.keep is not None]
    removed = sum(len(conflict.rows) - 1 for conflict in decided)
    if errors_of(problems):
        say(f"{error_summary(problems, len(loaded.files))}; nothing was written")
        return InputError.exit_code
    contents = dedupe(loaded, decided)
    if write:
        write_files(contents)
    done = "removed" if write else "would be removed (--write does it)" if removed else "to remove"
    show(f"{plural(removed, 'row')} of {plural(len(contents), 'file')} {done}")
    if len(decided) == len(conflicts):
        return 0
    say(f"{plural(len(conflicts) - len(decided), 'contradiction')} without a time to believe: remove rows by hand")
    return UNDECIDED


def _kept(conflict: Conflict, keep: str) -> Conflict:
    """The conflict as --keep decides it; its rows are in file order."""
    return conflict if keep == "fastest" else replace(conflict, keep=conflict.rows[0 if keep == "first" else -1])
