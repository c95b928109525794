"""`ckgen predict fit`: the constants of each module on an arch, from the timed rows of tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from ckgen.cli.errors import Command
from ckgen.cli.options import PATH, quiet_option
from ckgen.cli.output import progress, say, show_json
from ckgen.cli.predict_input import rows_options, weighed_sets

if TYPE_CHECKING:
    from ckgen.predict.arrays import Weighed


_FOLDS = 8


@click.command(cls=Command, name="fit", short_help="Fit the constants of a module on an arch to tables.")
@rows_options
@click.option("--out", type=PATH, metavar="FOLDER", help="Write a file for each there.  [default: print them]")
@quiet_option
def command(**params: Any) -> int:
    """Fit the constants of each module on an arch to the timed rows of tables.

    The same tables give the same constants. Needs scipy: pip install 'ckgen[learn]'.
    """
    from pathlib import PurePath

    from ckgen.families.gemm.predicted.constants import LEAST_ROWS, Fitted, document
    from ckgen.predict.fit import fit

    found = []
    with progress("fitting") as line:
        for sets in weighed_sets(params):
            line.show(" ".join(sets[0].found.kind))
            constants = fit(sets)
            rows = [row for one in sets for row in one.found.rows]
            if constants is None:
                say(f"{' '.join(sets[0].found.kind)}: {len(rows)} rows are too few to fit")
                continue
            journals = params["journals"] if any(one.lost for one in sets) else ()
            files = tuple(sorted({PurePath(name).name for name in (*journals, *(row.file for row in rows))}))
            chooses = len(rows) >= LEAST_ROWS and _chooses(sets)
            found.append(Fitted(*sets[0].found.kind, constants, len(rows), files, chooses, _sku(sets)))
    if params["out"] is None:
        show_json([document(one) for one in found])
        return 0
    params["out"].mkdir(parents=True, exist_ok=True)
    for one in found:
        path = params["out"] / f"{'_'.join(one.kind)}.json"
        path.write_text(json.dumps(document(one), indent=1) + "\n", encoding="utf-8")
        say(str(path))
    return 0


def _sku(sets: list[Weighed]) -> str:
    """The product of all rows that name one, where it is one."""
    named = {one.found.target.sku for one in sets} - {""}
    return named.pop() if len(named) == 1 else ""


def _chooses(sets: list[Weighed]) -> bool:
    """Whether, on folds, the default that is ranked best takes less time than the one that costs least; where losers'
    times are not known, whether the kernel ranked best of all is the winner more often."""
    from math import log

    from ckgen.predict.judge import judge

    every = [bands["all"] for bands in judge(sets, _FOLDS, by_file=False)]
    regrets = [(one.rows, one.time_regret, one.cost_regret) for one in every]
    known = [(rows, log(by_time / by_cost)) for rows, by_time, by_cost in regrets if by_time and by_cost]
    if known:
        return sum(rows * more for rows, more in known) < 0
    by_rank = sum(one.rows * one.every.first for one in every)
    return bool(by_rank > sum(one.default_rows * one.by_cost for one in every))
