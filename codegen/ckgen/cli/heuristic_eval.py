"""`ckgen heuristic eval`: how often rules and plainer ways take the measured winner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from ckgen.cli.errors import Command
from ckgen.cli.heuristic_input import examples, growth_of, growth_options, rule_options, tables_options
from ckgen.cli.output import columns, plural, progress, show, show_json

if TYPE_CHECKING:
    from ckgen.learn.examples import Example
    from ckgen.learn.judge import Chooser, Score

_FOLDS = "Also fit a rule to all layers (N, K) but a fold of them, in turn, and judge it by that fold."


@click.command(cls=Command, name="eval", short_help="Say how often rules and plainer ways take the measured winner.")
@rule_options
@tables_options
@click.option("--folds", type=click.IntRange(2), metavar="N", help=_FOLDS)
@growth_options
def command(**params: Any) -> int:
    """Say how often rules and plainer ways take the measured winner.

    By bands of M: the share of rows that are given their own kernel and splits. Beside the rules: the commonest
    winner; that of the next power of two, and of the next measured M, of the same N and K, which only tables know.
    """
    from ckgen.learn.judge import score

    rows = examples(params)
    with progress("judging"):
        scores = {name: score(rows, way) for name, way in _ways(rows, params).items()}
    if params["as_json"]:
        show_json(
            {
                "module": params["module"],
                "arch": params["arch"],
                "rows": len(rows),
                "layers": len({one.group for one in rows}),
                "ways": {
                    name: {band: _entry(one) for band, one in bands.items() if one.rows}
                    for name, bands in scores.items()
                },
            }
        )
    else:
        layers = len({one.group for one in rows})
        show(f"{params['module']} on {params['arch']}: {plural(len(rows), 'row')} of {plural(layers, 'layer')}")
        show(_text(scores))
    return 0


def _ways(rows: tuple[Example, ...], params: Mapping[str, Any]) -> dict[str, Chooser]:
    from ckgen.families.gemm.heuristic import heuristic_for, published_for
    from ckgen.learn.judge import constant, cross_validated, neighbour, next_power_of_two, ruled

    module, arch = params["module"], params["arch"]
    ways: dict[str, Chooser] = {}
    if params["folds"]:
        name = f"fitted, {params['folds']} folds"
        ways[name] = cross_validated(rows, module, arch, growth_of(params), params["folds"])
    shipped, published = heuristic_for(module, arch), published_for(module, arch)
    if shipped is not None and shipped != published:
        ways["shipped rule"] = ruled(shipped)
    if published is not None:
        ways["published rule"] = ruled(published)
    ways["commonest winner"] = constant(rows)
    ways["next power of 2"] = next_power_of_two(rows)
    ways["next measured M"] = neighbour(rows)
    return ways


def _entry(one: Score) -> dict[str, Any]:
    return {"rows": one.rows, "winners": one.winners, "kernels": one.kernels, "rate": round(one.rate, 4)}


def _text(scores: Mapping[str, Mapping[str, Score]]) -> str:
    bands = {band: one.rows for band, one in next(iter(scores.values())).items() if one.rows}
    head = ("", *bands)
    counts = ("rows", *(f"{count:,}" for count in bands.values()))
    rates = [(name, *(f"{found[band].rate:.1%}" for band in bands)) for name, found in scores.items()]
    return columns([head, counts, *rates])
