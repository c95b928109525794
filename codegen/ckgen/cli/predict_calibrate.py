"""`ckgen predict calibrate`: the constants of a CPU, from the times that a tune's journal holds."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from ckgen.cli.errors import Command
from ckgen.cli.options import PATH, json_option
from ckgen.cli.output import columns, say, show, show_json
from ckgen.model.errors import UsageError

if TYPE_CHECKING:
    from ckgen.families.gemm.predicted.chip import Chip
    from ckgen.predict.calibrate import Calibrated, Regret, Timed
    from ckgen.tune.journal import Contents

_SPREAD = "Times that are less certain than this part of themselves are left out."
_RUNS = 3
"""Of a time that fewer runs stand behind no spread is known."""
_BEST = (1, 4, 8)


@click.command(cls=Command, name="calibrate", short_help="Fit the constants of a CPU to a tune's journal.")
@click.option("--journal", type=PATH, multiple=True, required=True, metavar="JSONL", help="May be repeated.")
@click.option("--ghz", type=click.FloatRange(0.01, 100), metavar="F", help="Clock, in place of the spec's peak.")
@click.option("--spread", type=click.FloatRange(0, 1), default=0.15, show_default=True, help=_SPREAD)
@click.option("--out", type=PATH, metavar="JSON", help="Write the constants there, for `predict gemm` and `tune`.")
@json_option
def command(**params: Any) -> int:
    """Fit the constants of a CPU to the times of a tune's journal, for each signature.

    Prints what the predicted best loses to the fastest measured kernel on (N, K) that no constant was fitted to, and
    what the fastest of the best four and eight does. Needs scipy: pip install 'ckgen[learn]'.
    """
    from ckgen.predict.calibrate import Calibrated, document, fit, regret
    from ckgen.tune.journal import read_journals

    contents = read_journals(params["journal"])
    devices = {header.code: header.environment.device for header in contents.headers}
    found: list[tuple[Calibrated, dict[int, Regret]]] = []
    for (target, signature), (chip, timed, code) in _timed(contents, params["ghz"], params["spread"]).items():
        lost = {best: regret(timed, chip, best) for best in _BEST}
        own = Calibrated(target, signature, devices[code], chip.mhz, len(timed), fit(timed, chip))
        found.append((own, lost))
    if not found:
        raise UsageError("the journals hold no time of a plain GEMM's host kernel")
    if params["out"] is not None:
        params["out"].write_text(json.dumps(document([one for one, _ in found]), indent=1) + "\n", encoding="utf-8")
        say(str(params["out"]))
    if params["as_json"]:
        both = zip(document([one for one, _ in found])["calibrated"], (lost for _, lost in found), strict=True)
        show_json([one | {"regret": {best: asdict(r) for best, r in lost.items()}} for one, lost in both])
    else:
        show(_text(found))
    return 0


def _timed(
    contents: Contents, ghz: float | None, spread: float
) -> dict[tuple[str, str], tuple[Chip, list[Timed], str]]:
    """By target and signature; of a kernel that was timed at several rungs the last, of several turns there all."""
    from ckgen.families.gemm.predicted.chip import chip_of
    from ckgen.families.instance_dialect import named
    from ckgen.fuzz.case import parse_case
    from ckgen.fuzz.decision import target_named
    from ckgen.model.tuned_row import Shape
    from ckgen.predict.calibrate import Timed
    from ckgen.predict.cpu_time import cpu_counts
    from ckgen.specs.archs import load_archs
    from ckgen.tune.known import known_by_code
    from ckgen.tune.losses import halves
    from ckgen.tune.search import NAMES

    archs = load_archs()
    chips: dict[str, Chip] = {}
    last: dict[tuple[str, str], dict[tuple[str, str], Timed]] = defaultdict(dict)
    codes: dict[tuple[str, str], str] = {}
    known = known_by_code(contents.records, NAMES)
    for code, problem in dict.fromkeys((one.code, one.problem) for one in contents.records):
        case, times = parse_case(problem), halves(known[code].turns(problem))
        for candidate, one in known[code].best(problem).items():
            kernel = named(candidate.instance)
            if one.runs < _RUNS or one.spread > spread or kernel is None or str(kernel.signature.op) != "gemm":
                continue
            signature, target = kernel.signature, target_named(case.target)
            chip = chips.setdefault(case.target, chip_of(archs[target.gfx], target, ghz=ghz))
            shape = Shape(case.batch if signature.batched else 0, case.m, case.n, case.k)
            counts = cpu_counts(signature, kernel.config, shape, chip)
            if counts is not None:
                at = (case.target, case.signature)
                in_both = candidate in times.odd and candidate in times.even
                by_halves = (times.odd[candidate], times.even[candidate]) if in_both else None
                layer = (case.n, case.k)
                timed = Timed(problem, layer, candidate.instance, counts, one.median_us, by_halves)
                last[at][problem, candidate.instance] = timed
                codes[at] = code
    return {at: (chips[at[0]], list(of.values()), codes[at]) for at, of in last.items()}


def _text(found: list[tuple[Calibrated, dict[int, Regret]]]) -> str:
    parts = []
    for one, lost in found:
        constants = "  ".join(f"{name} {value:g}" for name, value in asdict(one.constants).items())
        title = f"{one.signature} on {one.target}, {one.device}: {one.times} times of {lost[1].problems} problems"
        head = ("  layers held out", "geomean", "p95", "worst", "median |log|", "noise leaves")
        lines = [
            (f"  fastest of the best {best}" if best > 1 else "  predicted best", f"{r.geomean:.3f}", f"{r.p95:.3f}",
             f"{r.worst:.3f}", f"{r.error:.3f}", "–" if r.floor is None else f"{r.floor:.3f}")
            for best, r in lost.items()
        ]  # fmt: skip
        parts.append(f"{title}\n  {constants}\n{columns([head, *lines])}")
    return "\n".join(parts)
