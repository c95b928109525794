"""The rows of a tuned table that hold by halves of the rounds: as many as save time by the odd rounds and by the even.

    python tools/rows_by_halves.py tuned.csv journal.jsonl…

The journals are those of the `ckgen tune --exhaustive` that wrote the table. A row stays where its kernel saves at
least --least of the time of what selection took, in both halves, and was timed --runs times; the others leave the
table, also those whose selected kernel was not timed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from ckgen.fuzz.case import parse_case
from ckgen.fuzz.decision import target_named
from ckgen.measure.model import Candidate
from ckgen.model.halves import Halves
from ckgen.tune.journal import Contents, read_journals
from ckgen.tune.known import known_by_code
from ckgen.tune.losses import halves
from ckgen.tune.problems import key_of
from ckgen.tune.search import NAMES
from ckgen.tune.table import Line, Place, place, read_table

Known = Mapping[Place, tuple[Candidate, Halves[Candidate]]]
"""By problem what selection took, and times by halves."""


@click.command()
@click.argument("table", type=click.Path(path_type=Path))
@click.argument("journals", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--least", default=0.02, show_default=True, help="Part of the time that a row saves in each half.")
@click.option("--runs", default=10, show_default=True, help="Times that a row's kernel was timed.")
def main(table: Path, journals: tuple[Path, ...], least: float, runs: int) -> None:
    """Writes the table anew."""
    known = known_of(read_journals(journals))
    found = read_table(table)
    kept = [line for line in found.lines if int(line.cells["runs"]) >= runs and holds(line, known, least)]
    table.write_bytes(found.head + b"".join(line.data + found.end for line in kept))
    print(f"{table}: {len(kept)} of {len(found.lines)} rows")


def known_of(contents: Contents) -> Known:
    """What journals hold of problems for which selection took something."""
    known = known_by_code(contents.records, NAMES)
    found = {}
    for one in contents.asked:
        if one.selected is not None:
            case = parse_case(one.problem)
            times = halves(known[one.code].turns(one.problem))
            found[place(key_of(case), target_named(case.target))] = (one.selected, times)
    return found


def holds(line: Line, known: Known, least: float) -> bool:
    """Whether the row's kernel saves so much in both halves."""
    if line.place not in known:
        return False
    selected, times = known[line.place]
    winner = Candidate(line.cells["kernelName"], int(line.cells["splitK"] or 1))
    return all(saved(half, winner, selected) >= least for half in (times.odd, times.even))


def saved(half: Mapping[Candidate, float], winner: Candidate, selected: Candidate) -> float:
    """The part of the selected one's time; below 0 where one was not timed in that half."""
    return 1 - half[winner] / half[selected] if winner in half and selected in half else -1.0


if __name__ == "__main__":
    main()
