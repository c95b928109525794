"""`ckgen heuristic eval`: how often rules and plainer ways take the measured winner, and what they lose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from ckgen.cli.errors import Command
from ckgen.cli.heuristic_input import (
    Measurements,
    growth_of,
    growth_options,
    measurements,
    rule_options,
    tables_options,
)
from ckgen.cli.option_values import ranks
from ckgen.cli.options import PATH, quiet_option
from ckgen.cli.output import progress, show, show_json
from ckgen.model.errors import UsageError

if TYPE_CHECKING:
    from ckgen.cli.heuristic_figures import Figures
    from ckgen.learn.judge import Chooser, Regret, Rules
    from ckgen.learn.noise import Ceiling

_FOLDS = "Also fit a rule to all layers (N, K) but a fold of them, in turn, and judge it by that fold."
_DROP = "Of journals: also without this part of the instances at random, and fitted without it, as in 20%."
_MODEL = "Also by model and number of ranks: a model's config.json; may be repeated."
_SHORT = "Say how often rules and plainer ways take the measured winner, and what they lose."


@click.command(cls=Command, name="eval", short_help=_SHORT)
@rule_options
@tables_options
@click.option("--folds", type=click.IntRange(2), metavar="N", help=_FOLDS)
@click.option("--drop", metavar="P", help=_DROP)
@click.option("--seeds", type=click.IntRange(1), default=10, show_default=True, help="Draws of --drop.")
@click.option("--model", "models", type=PATH, multiple=True, metavar="CONFIG", help=_MODEL)
@click.option("--tp", default="1,2,4,8", show_default=True, metavar="LIST", help="Numbers of ranks of --model.")
@growth_options
@quiet_option
def command(**params: Any) -> int:
    """Say how often rules and plainer ways take the measured winner, and what they lose.

    By bands of M: the share of rows that are given their own kernel and splits; of journals also the time of what is
    chosen over the best. Beside the rules: the commonest winner; that of the next power of two, of the next measured M
    and of the measured M that tier `far` would take, all of the same N and K, which only measurements know; of journals
    what selection takes. Last, what noise leaves of the best rule.
    """
    from ckgen.cli.heuristic_figures import document, text

    found = measurements(params)
    with progress("judging"):
        figures = _figures(found, params)
    if params["as_json"]:
        show_json(document(figures))
    else:
        show(text(figures))
    return 0


def _figures(found: Measurements, params: Mapping[str, Any]) -> Figures:
    from ckgen.cli.heuristic_figures import Figures
    from ckgen.learn.judge import held_out, score
    from ckgen.learn.models import by_model, configurations

    if params["drop"] is not None and not (found.is_timed and params["folds"]):
        raise UsageError("--drop needs --journal, which knows what losers cost, and --folds")
    configs = configurations(params["models"], ranks(params["tp"]))
    growth, folds = growth_of(params), params["folds"]
    rules = held_out(found.rows, found.subject, found.arch, growth, folds) if folds else None
    ways = _ways(found, rules, params)
    return Figures(
        found,
        {name: score(found.rows, way) for name, way in ways.items()},
        _ceilings(found),
        tuple(by_model(found.rows, configs, ways)),
        _dropped(found, params) if params["drop"] is not None else {},
    )


def _ways(found: Measurements, rules: Rules | None, params: Mapping[str, Any]) -> dict[str, Chooser]:
    from ckgen.families.gemm.heuristic import heuristic_for, published_for
    from ckgen.learn.judge import (
        across_counts,
        constant,
        cross_validated,
        far,
        neighbour,
        next_power_of_two,
        ruled,
        selected,
    )

    rows = found.rows
    ways: dict[str, Chooser] = {}
    if rules is not None:
        ways[f"fitted, {params['folds']} folds"] = cross_validated(rules)
    if rules is not None and len({one.asked.cu_num for one in rows}) > 1:
        ways["fitted, other CUs"] = across_counts(rows, found.subject, found.arch, growth_of(params))
    shipped, published = heuristic_for(found.subject, found.arch, found.sku), published_for(found.subject, found.arch)
    if shipped is not None and shipped != published:
        ways["shipped rule"] = ruled(shipped)
    if published is not None:
        ways["published rule"] = ruled(published)
    if found.is_timed:
        ways["selected before"] = selected
    ways["commonest winner" if not found.is_timed else "one kernel for all"] = constant(rows)
    ways["next power of 2"] = next_power_of_two(rows)
    ways["next measured M"] = neighbour(rows)
    ways["M beyond the near gap"] = far(rows)
    return ways


def _ceilings(found: Measurements) -> dict[str, dict[str, Ceiling]]:
    from ckgen.learn.noise import again, isolated, other_half, twice

    if found.is_timed:
        halves = other_half(found.rows)
        return {"other half": halves} if halves else {"timed again": again(found.rows)}
    told = {"neighbours in M": isolated(found.rows), "measured twice": twice(found.twice)}
    return {name: bands for name, bands in told.items() if bands}


def _dropped(found: Measurements, params: Mapping[str, Any]) -> dict[str, Regret]:
    from ckgen.learn.dropped import added, draws, removed
    from ckgen.tune.asked import part_of

    part = part_of(params["drop"], "--drop")
    drawn = tuple(draws(found.rows, part, params["seeds"]))
    growth, folds = growth_of(params), params["folds"]
    return {
        "instances removed": removed(found.rows, found.subject, found.arch, growth, folds, drawn),
        "instances added": added(found.rows, found.subject, found.arch, growth, folds, drawn),
    }
