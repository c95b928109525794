"""`ckgen tables stats`: what a set of tables holds."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckgen.cli.errors import Command
from ckgen.cli.options import PATH, assume_option, json_option, module_option, quiet_option
from ckgen.cli.output import columns, error_summary, errors_of, plural, say, say_diagnostics, show, show_json
from ckgen.model.errors import InputError

if TYPE_CHECKING:
    from ckgen.tables.stats import GroupStats, TableStats

_HEAD = ("module", "target", "library", "rows", "kernels", "problems", "us")


@click.command(cls=Command, name="stats", short_help="Count files, rows, kernels and times.")
@click.argument("tables", nargs=-1, required=True, type=PATH, metavar="PATH…")
@module_option
@assume_option
@quiet_option
@json_option
def command(
    tables: tuple[Path, ...], module: str | None, assume_gfx: tuple[str, ...], assume_dtype: str | None, as_json: bool
) -> int:
    """Count files, rows, kernels and times."""
    from ckgen.cli.tables_input import load
    from ckgen.tables.stats import table_stats

    loaded = load(tables, module, assume_gfx, assume_dtype)
    stats = table_stats(loaded)
    if as_json:
        show_json(_document(stats))
    else:
        show(_text(stats))
    say_diagnostics(loaded.diagnostics)
    if errors_of(loaded.diagnostics):
        say(error_summary(loaded.diagnostics, len(loaded.files)))
        return InputError.exit_code
    return 0


def _document(stats: TableStats) -> dict[str, Any]:
    return {
        "kinds": [asdict(kind) for kind in stats.kinds],
        "groups": [{**asdict(group), "target": group.target or None} for group in stats.groups],
        "invalid": stats.invalid,
    }


def _text(stats: TableStats) -> str:
    kinds = [(kind.kind, plural(kind.files, "file"), plural(kind.rows, "row")) for kind in stats.kinds]
    kinds += [("invalid", "", plural(stats.invalid, "row"))] if stats.invalid else []
    parts = [columns(kinds), columns([_HEAD, *map(_cells, stats.groups)]) if stats.groups else ""]
    return "\n\n".join(part for part in parts if part)


def _cells(group: GroupStats) -> tuple[str, ...]:
    times = f"{group.us[0]:g} to {group.us[1]:g}" if group.us else "–"
    counts = (group.rows, group.kernels, group.problems)
    return (group.module, group.target or "–", group.library, *(f"{count:,}" for count in counts), times)
