"""`ckgen report tuning`: what the journals of tunes hold, as a page and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from ckgen.cli.errors import Command
from ckgen.cli.options import PATH, json_option
from ckgen.cli.output import columns, plural, say, show, show_json

_LEAST = "The part of its time by which a row must beat what selection takes, as of `ckgen tune`."


@click.command(
    cls=Command, name="tuning", short_help="What the journals of tunes hold: times, regret, flips, failures."
)
@click.argument("journals", nargs=-1, required=True, type=PATH, metavar="JSONL…")
@click.option("--min-improvement", default="2%", show_default=True, metavar="P", help=_LEAST)
@click.option("--out", type=PATH, metavar="HTML", help="Write the page.")
@json_option
def command(journals: tuple[Path, ...], min_improvement: str, out: Path | None, as_json: bool) -> int:
    """What the journals of tunes hold: times, regret, flips, failures.

    Nothing is timed. Winners and rows are those that `ckgen tune --resume` would find in these journals.
    """
    from ckgen.report.tuning import tuning
    from ckgen.report.tuning_page import tuning_page
    from ckgen.tables.files import write_files
    from ckgen.tune.asked import part_of
    from ckgen.tune.journal import read_journals

    contents = read_journals(journals)
    for text in contents.torn:
        say(f"note: {text}")
    document = tuning(contents, tuple(map(str, journals)), part_of(min_improvement, "--min-improvement"))
    if out is not None:
        page = tuning_page(document).encode()
        write_files({out: page})
        say(f"{out}: {len(page):,} bytes")
    if as_json:
        show_json(document)
    else:
        show("\n".join(line for run in document["runs"] for line in _lines(run)))
    return 0


def _lines(run: Mapping[str, Any]) -> Iterator[str]:
    where = run["environment"]
    timed = sum(one["us"] is not None for one in run["problems"])
    yield f"{where['target']}  {where['device']}"
    rows = f"{plural(run['rows'], 'row')} of {plural(run['kernels'], 'kernel')}"
    yield f"  {plural(len(run['problems']), 'problem')}, {timed:,} timed, {rows}"
    failed = f"{plural(run['failed'], 'failure')}, {run['refused']:,} refused"
    yield f"  {plural(run['measurements'], 'measurement')}, {failed}"
    flipped = run["stability"]["flipped"]
    if flipped is not None:
        yield f"  flipped between the first rung and the last: {flipped:.0%} of winners"
    for name, title in (("selected", "what selection took loses"), ("second", "the second best loses")):
        found = run["regret"][name]
        if found["problems"]:
            shares = ", ".join(f"{word} {found[word]:.1%}" for word in ("geomean", "median", "p95", "worst"))
            yield f"  {title}: {shares} of {plural(found['problems'], 'problem')}"
    between = run["stability"]["regret_between_rungs"]
    if between["problems"]:
        told = f"median {between['median']:.1%}, worst {between['worst']:.1%}"
        yield f"  regret at M between rungs: {told} of {plural(between['problems'], 'problem')}"
    yield columns(
        [("  rung", "measured", "timed", "seconds", "spread, median", "p95"), *map(_rung_cells, run["rungs"])]
    )


def _rung_cells(one: Mapping[str, Any]) -> tuple[str, ...]:
    spreads = [f"{one[name]:.1%}" if one[name] is not None else "–" for name in ("spread_median", "spread_p95")]
    return (f"  {one['rung']}", f"{one['measurements']:,}", f"{one['timed']:,}", f"{one['seconds']:,.1f}", *spreads)
