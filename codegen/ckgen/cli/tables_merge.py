"""`ckgen tables merge`: several tables of one module as one."""

from __future__ import annotations

from pathlib import Path

import click

from ckgen.cli.errors import Command
from ckgen.cli.options import PATH, assume_option, module_option, quiet_option
from ckgen.cli.output import errors_of, plural, say
from ckgen.model.errors import InputError, UsageError


@click.command(cls=Command, name="merge", short_help="Join tables of one module; later ones win.")
@click.argument("tables", nargs=-1, required=True, type=PATH, metavar="PATH…")
@click.option("--out", type=PATH, help="The file to write.  [default: stdout]")
@module_option
@assume_option
@quiet_option
def command(
    tables: tuple[Path, ...],
    out: Path | None,
    module: str | None,
    assume_gfx: tuple[str, ...],
    assume_dtype: str | None,
) -> int:
    """Join tables of one module; later ones win."""
    from ckgen.cli.tables_input import load, problems_of
    from ckgen.tables.files import write_files
    from ckgen.tables.merge import merge

    if out is not None and out.is_dir():
        raise UsageError(f"--out {out} is a directory")
    loaded = load(tables, module, assume_gfx, assume_dtype)
    problems = problems_of(loaded)
    if errors_of(problems):
        raise InputError(problems)
    if not any(file.module for file in loaded.files):
        raise UsageError("none of these files is a tuned GEMM table")
    merged = merge(loaded)
    if out is None:
        click.echo(merged.decode(), nl=False)
        return 0
    write_files({out: merged})
    say(f"{out}: {plural(len(merged.splitlines()) - 1, 'row')}")
    return 0
