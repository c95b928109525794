"""What `ckgen heuristic eval` found, as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ckgen.cli.output import columns, plural

if TYPE_CHECKING:
    from ckgen.cli.heuristic_input import Measurements
    from ckgen.learn.judge import Regret, Score
    from ckgen.learn.models import Configuration
    from ckgen.learn.noise import Ceiling


@dataclass(frozen=True, slots=True)
class Figures:
    """Scores of ways, and what noise leaves, by band; scores over all M by configuration; regrets without instances."""

    of: Measurements
    scores: Mapping[str, Mapping[str, Score]]
    ceilings: Mapping[str, Mapping[str, Ceiling]]
    models: tuple[tuple[Configuration, Mapping[str, Score]], ...]
    dropped: Mapping[str, Regret]

    @property
    def layers(self) -> int:
        """Of one batch, N and K."""
        return len({one.group for one in self.of.rows})


def document(found: Figures) -> dict[str, Any]:
    """As JSON."""
    return {
        "module": found.of.subject,
        "arch": found.of.arch,
        "rows": len(found.of.rows),
        "layers": found.layers,
        "ways": {
            name: {band: _entry(one) for band, one in bands.items() if one.rows} for name, bands in found.scores.items()
        },
        "ceilings": {
            name: {band: _ceiling(one) for band, one in bands.items()} for name, bands in found.ceilings.items()
        },
        "models": [
            {"model": one.model, "tp": one.tp, "ways": {name: _entry(score) for name, score in scores.items()}}
            for one, scores in found.models
        ],
        "dropped": {name: _regret(one) for name, one in found.dropped.items()},
    }


def _entry(one: Score) -> dict[str, Any]:
    told = {"rows": one.rows, "winners": one.winners, "kernels": one.kernels, "rate": round(one.rate, 4)}
    return told | ({"regret": _regret(one.regret)} if one.regret is not None else {})


def _ceiling(one: Ceiling) -> dict[str, Any]:
    told = {"cases": one.cases, "rate": round(one.rate, 4)}
    return told | ({"regret": _regret(one.regret)} if one.regret is not None else {})


def _regret(one: Regret) -> dict[str, float]:
    return {name: round(value, 4) for name, value in asdict(one).items()}


def text(found: Figures) -> str:
    """For people: a table of match rates, of regrets where they are known, and what else was asked for."""
    rows = f"{plural(len(found.of.rows), 'row')} of {plural(found.layers, 'layer')}"
    parts = [f"{found.of.subject} on {found.of.arch}: {rows}", _rates(found)]
    if found.of.is_timed:
        parts += ["", "time over the best: geometric mean, 95th percentile, worst", _regrets(found)]
    if found.models:
        parts += ["", "by model and ranks, all M", _models(found)]
    if found.dropped:
        parts += ["", *(f"{name}: {_three(one)}" for name, one in found.dropped.items())]
    return "\n".join(parts)


def _bands(found: Figures) -> dict[str, int]:
    return {band: one.rows for band, one in next(iter(found.scores.values())).items() if one.rows}


def _rates(found: Figures) -> str:
    bands = _bands(found)
    lines = [("", *bands), ("rows", *(f"{count:,}" for count in bands.values()))]
    lines += [(name, *(f"{of_way[band].rate:.1%}" for band in bands)) for name, of_way in found.scores.items()]
    for name, ceilings in found.ceilings.items():
        lines.append(
            (f"ceiling: {name}", *(f"{ceilings[band].rate:.1%}" if band in ceilings else "–" for band in bands))
        )
    return columns(lines)


def _regrets(found: Figures) -> str:
    bands = _bands(found)
    lines: list[tuple[str, ...]] = [("", *bands)]
    lines += [(name, *(_three(of_way[band].regret) for band in bands)) for name, of_way in found.scores.items()]
    for name, ceilings in found.ceilings.items():
        told = (_three(ceilings[band].regret) if band in ceilings else "–" for band in bands)
        lines.append((f"floor: {name}", *told))
    return columns(lines)


def _three(one: Regret | None) -> str:
    return f"{one.geomean:.3f} {one.p95:.2f} {one.worst:.2f}" if one is not None else "–"


def _models(found: Figures) -> str:
    names = list(found.scores)
    lines = [("model", "ranks", "rows", *names)]
    for one, scores in found.models:
        rows = next(iter(scores.values())).rows
        lines.append((one.model, str(one.tp), f"{rows:,}", *(f"{scores[name].rate:.1%}" for name in names)))
    return columns(lines)
