"""`ckgen predict eval`: how far predicted times are from measured ones, and where measured winners stand."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from ckgen.cli.errors import Command
from ckgen.cli.options import quiet_option
from ckgen.cli.output import columns, plural, progress, show, show_json
from ckgen.cli.predict_input import rows_options, weighed_sets
from ckgen.model.errors import UsageError
from ckgen.progress import PartDone

if TYPE_CHECKING:
    from ckgen.predict.arrays import Weighed
    from ckgen.predict.judge import Score

_FOLDS = "Judge each fold of (N, K) by constants that are fitted to the others; 0: by the shipped ones."
_BY_FILE = "Hold out the layers of a file together, in place of folds: a model's, where a file is one."
_HEAD = (
    "", "rows", "median", "p90", "roofline", "M·N·K", "best", "best 8", "of", "tried: best", "best 8", "of",
    "defaults", "by cost", "by time",
)  # fmt: skip


@click.command(cls=Command, name="eval", short_help="Say how far predicted times are from those of tables.")
@rows_options
@click.option("--folds", type=click.IntRange(0, 64), default=0, show_default=True, help=_FOLDS)
@click.option("--by-file", is_flag=True, help=_BY_FILE)
@quiet_option
def command(**params: Any) -> int:
    """Say how far predicted times are from those of tables, by module, target and M.

    median, p90: of |log(predicted / measured)| of the measured winner; the same median of a roofline at one efficiency
    and of M·N·K at one rate. best, best 8: how often the winner is predicted so among all kernels of the signature that
    run the problem, and among those that the table seems to have tried. by cost, by time: of rows whose winner is a
    default of selection, how often its cost and predicted times choose it among the defaults.
    """
    from ckgen.predict.judge import judge

    if params["by_file"] and params["folds"]:
        raise UsageError("--by-file holds files out, --folds layers: give one of them")
    kinds = weighed_sets(params)
    found: list[tuple[Weighed, dict[str, Score]]] = []
    with progress("judging") as line:
        for number, sets in enumerate(kinds, 1):
            of = f"{number} of {plural(len(kinds), 'kind')}: {' '.join(sets[0].found.kind)}"
            line.show(PartDone(of, (number - 1) / len(kinds)))
            found += zip(sets, judge(sets, params["folds"], params["by_file"]), strict=True)
    held = "file" if params["by_file"] else f"{params['folds']} folds" if params["folds"] else "none"
    if params["as_json"]:
        show_json({"held_out": held, "sets": [_document(one, bands) for one, bands in found]})
    else:
        show("\n".join(_text(one, bands) for one, bands in found))
    return 0


def _document(one: Weighed, bands: dict[str, Score]) -> dict[str, Any]:
    return {
        "module": one.found.module,
        "signature": one.found.signature.canonical(),
        "target": str(one.found.target),
        "bands": {band: _rounded(asdict(score)) for band, score in bands.items()},
    }


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    return round(value, 4) if isinstance(value, float) else value


def _text(one: Weighed, bands: dict[str, Score]) -> str:
    title = f"{one.found.module} on {one.found.target}, {one.found.signature.describe()}"
    return f"{title}\n{columns([_HEAD, *(_line(band, score) for band, score in bands.items())])}"


def _line(band: str, score: Score) -> tuple[str, ...]:
    errors = (score.model.median, score.model.p90, score.roofline.median, score.mnk.median)
    ranks = [
        word
        for rank in (score.every, score.tried)
        for word in (f"{rank.first:.1%}", f"{rank.best:.1%}", f"{rank.candidates:.0f}")
    ]
    chosen = (f"{score.default_rows:,}", f"{score.by_cost:.1%}", f"{score.by_time:.1%}")
    return (
        f"  {band}",
        f"{score.rows:,}",
        *("-" if error is None else f"{error:.3f}" for error in errors),
        *ranks,
        *chosen,
    )
