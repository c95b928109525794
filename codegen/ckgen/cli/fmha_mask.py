"""`ckgen fmha mask`: which key columns each query row sees."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ckgen.cli.errors import Command
from ckgen.cli.options import json_option
from ckgen.cli.output import columns, plural, show, show_json
from ckgen.model.errors import UsageError

if TYPE_CHECKING:
    from ckgen.families.fmha.mask import Ranges, Visible
    from ckgen.families.fmha.mask_runs import Run

_LENGTH = re.compile(r"[0-9]{1,10}")
_MOST = 2**31 - 1
_LENGTHS = ("seqlen_q", "seqlen_k")
_KEYS = (*_LENGTHS, "mask")


@click.command(cls=Command, name="mask", short_help="Show which columns each row sees.")
@click.argument("given", nargs=-1, metavar="seqlen_q=N seqlen_k=N mask=MASK")
@json_option
def command(given: tuple[str, ...], as_json: bool) -> int:
    """Show which columns each row sees, and a picture where the sizes are small.

    MASK is none, causal (the same as bottomright), topleft, t:LEFT,RIGHT[,SINK] or b:LEFT,RIGHT[,SINK]: a window at the
    top left or bottom right, -1 for no limit, and the first SINK columns visible beside it. In ranges, i is the row.
    """
    from ckgen.families.fmha.mask import parse_mask
    from ckgen.families.fmha.mask_runs import picture, runs

    said = _said(given)
    mask = parse_mask(said["mask"])
    visible = mask.over(*(_length(key, said[key]) for key in _LENGTHS))
    found = runs(visible)
    if as_json:
        show_json(_document(visible, found))
    else:
        show(_text(visible, found, picture(visible)))
    return 0


def _said(given: Sequence[str]) -> dict[str, str]:
    """The words by key; the mask is causal where none is named."""
    found: dict[str, str] = {}
    for place, word in enumerate(given, 1):
        key, equals, value = word.partition("=")
        if key not in _KEYS or not equals:
            raise UsageError(f"word {place}, '{word}', is none of {', '.join(f'{known}=…' for known in _KEYS)}")
        if key in found:
            raise UsageError(f"word {place}, '{word}': {key} stands twice")
        if key in _LENGTHS:
            _length(key, value)
        found[key] = value
    found.setdefault("mask", "causal")
    missing = [key for key in _KEYS if key not in found]
    if missing:
        raise UsageError(f"fmha mask needs {', '.join(f'{key}=…' for key in missing)}")
    return found


def _length(key: str, text: str) -> int:
    if not _LENGTH.fullmatch(text) or int(text) > _MOST:
        raise UsageError(f"{key}={text}: not an integer within 0..{_MOST}")
    return int(text)


def _text(visible: Visible, found: Sequence[Run], lines: Sequence[str]) -> str:
    seen, every = sum(run.count for run in found), visible.length_q * visible.length_k
    head = f"mask {visible.mask} over {visible.length_q} x {visible.length_k}: {seen:,} of {every:,} visible"
    blind = sum(len(rows) for rows in visible.blind_rows())
    if blind:
        head += f", {plural(blind, 'row')} without a column"
    rows = columns([[f"  i = {_row(run)}", str(run)] for run in found])
    return "\n".join([head, *([rows] if rows else []), *(f"  {line}" for line in lines if line)])


def _row(run: Run) -> str:
    return str(run.rows[0]) if len(run.rows) == 1 else f"{run.rows[0]}..{run.rows[-1]}"


def _document(visible: Visible, found: Sequence[Run]) -> dict[str, Any]:
    return {
        "mask": str(visible.mask),
        "seqlen_q": visible.length_q,
        "seqlen_k": visible.length_k,
        "visible": sum(run.count for run in found),
        "blind_rows": _inclusive(visible.blind_rows()),
        "runs": [
            {
                "rows": [run.rows[0], run.rows[-1]],
                "columns_of_first": _inclusive(run.of_first),
                "columns_of_last": _inclusive(run.of_last),
            }
            for run in found
        ],
    }


def _inclusive(ranges: Ranges) -> list[list[int]]:
    return [[part[0], part[-1]] for part in ranges]
