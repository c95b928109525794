"""What `ckgen tune` says of a tune to people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean, median

from ckgen.cli.output import columns, plural
from ckgen.tune.known import Known
from ckgen.tune.outcome import Outcome, Tuned
from ckgen.tune.report import Change, stability
from ckgen.tune.retune import Module


def text_of(outcome: Outcome, known: Known, changes: Sequence[Change], out: Path, journal: Path) -> str:
    """Every problem that was timed, every failure, and counts."""
    every = outcome.every
    timed = [one for one in every if one.winner is not None]
    lines = [columns([("problem", "us", "gain", "tried", "kernel"), *map(_cells, timed)])] if timed else []
    for problem, failed in outcome.failures:
        lines.append(f"{failed.status.value.upper()} {failed.candidate.instance} at {problem.key}: {failed.reason}")
    rows = [one for one in every if one.is_row and one.winner is not None]
    kernels = {one.winner.candidate.instance for one in rows if one.winner is not None}
    no_fewer = {None: "", True: ", no fewer would do", False: ", fewer might do"}[outcome.is_least]
    lines.append(f"{out}: {plural(len(rows), 'row')} of {plural(len(kernels), 'kernel')}{no_fewer}")
    if outcome.is_least is not None and len(timed) < len(every):
        left = plural(len(every) - len(timed), "other")
        lines.append(f"these kernels were chosen for {plural(len(timed), 'problem')}; {left} may need further ones")
    whys = Counter(one.why for one in every if not one.is_row)
    lines += [f"{plural(count, 'problem')} without a row: {why}" for why, count in whys.most_common()]
    made = f"{plural(outcome.measured, 'measurement')} made, {outcome.known:,} known"
    lines.append(f"{journal}: {made}, {plural(len(outcome.failures), 'failure')}")
    if outcome.doubtful:
        lines.append(f"{plural(outcome.doubtful, 'winner')} in doubt: times varied too much, or the budget was spent")
    if outcome.late:
        lines.append(f"{plural(outcome.late, 'candidate')} not timed: a problem's share of the budget was over before")
    return "\n".join([*lines, *_stability(outcome, known), *_changes(changes)])


def module_lines(outcome: Outcome, modules: Mapping[str, Module]) -> list[str]:
    """What became of the problems of each module that had any."""
    lines = []
    for name, module in sorted(modules.items()):
        ended = module.ended(outcome.every)
        rows = ended.pop("row", 0)
        others = (f"{plural(count, 'problem')} without: {why}" for why, count in ended.most_common())
        if rows or ended:
            lines.append("; ".join([f"retuned {name}: {plural(rows, 'row')}", *others]))
    return lines


def _cells(one: Tuned) -> tuple[str, ...]:
    assert one.winner is not None
    gain = f"{one.gain:.1%}" if one.gain is not None else "–"
    splits = f" k_batch {one.winner.candidate.k_batch}" if one.winner.candidate.k_batch != 1 else ""
    kernel = f"{one.winner.candidate.instance}{splits}"
    time = f"{one.winner.median_us:.1f}"
    return str(one.problem.key), time, gain, str(one.searched.tried), kernel if one.is_row else f"({one.why})"


def _stability(outcome: Outcome, known: Known) -> list[str]:
    found = stability(outcome, known)
    lines = []
    if found.flipped is not None:
        lines.append(f"flipped between the first rung and the last: {found.flipped:.0%} of winners")
    if found.regrets:
        lost = f"median {median(found.regrets):.1%}, worst {max(found.regrets):.1%}"
        lines.append(f"regret at M between rungs: {lost} of {plural(len(found.regrets), 'problem')}")
    return lines


def _changes(changes: Sequence[Change]) -> list[str]:
    if not changes:
        return []
    flipped = [one for one in changes if one.is_flipped]
    ratios = [one.ratio for one in changes if one.ratio is not None]
    mean = geometric_mean(ratios) if ratios else 1.0
    times = f"; time over that of the older rows' kernels: {mean:.4f} in the mean of {len(ratios):,}" if ratios else ""
    lines = [f"compared: {len(flipped):,} of {plural(len(changes), 'row')} flipped{times}"]
    for one in flipped:
        now = one.now.candidate.instance if one.now is not None else "–"
        ratio = f", {one.ratio:.3f} of its time" if one.ratio is not None else ""
        lines.append(f"  {one.key}: {one.before.instance} → {now}{ratio}")
    return lines
