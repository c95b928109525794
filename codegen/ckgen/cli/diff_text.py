"""What `ckgen diff` says to people: text for a terminal, Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ckgen.cli.output import plural
from ckgen.report.difference import differs, tiers_changed

MOST = 40
"""Changes of a kind that are listed."""
_TITLES = {
    "winner": "Winners that changed",
    "gained": "Problems that are measured now",
    "lost": "Problems that are measured no more",
}


def summary(document: Mapping[str, Any]) -> str:
    """One line."""
    if not differs(document):
        return f"nothing differs: {plural(document['rows']['new'], 'row')}"
    kinds, instances = document["kinds"], document["instances"]
    winners = f"{plural(kinds['winner'], 'winner')} changed"
    measured = f"{plural(kinds['gained'], 'problem')} measured now, {kinds['lost']:,} no more"
    return f"{winners}; {measured}; {plural(len(instances['come']), 'instance')} come, {len(instances['go']):,} go"


def text_of(document: Mapping[str, Any]) -> str:
    """All changes, each on lines of its own."""
    lines = [f"{document['old']} → {document['new']}: {summary(document)}"]
    lines += [_rows(document)] if differs(document) else []
    lines += [_expected(document)] if differs(document) and document["expected"]["problems"] else []
    for kind, title in _TITLES.items():
        found = [one for one in document["changes"] if one["kind"] == kind]
        if found:
            lines.append(_title(document, kind, title, len(found)))
            lines += [line for one in found[:MOST] for line in _change_lines(one)]
        lines += [f"  {_more(len(found))}"] if len(found) > MOST else []
    for word, sign in (("come", "+"), ("go", "-")):
        lines += [f"{sign} {name}" for name in document["instances"][word]]
    return "\n".join(lines)


def markdown_of(document: Mapping[str, Any]) -> str:
    """A short head, and what is long folded away."""
    lines = [f"### Tuning tables: {summary(document)}", "", f"{document['old']} → {document['new']}: {_rows(document)}"]
    if differs(document) and document["expected"]["problems"]:
        lines += ["", _expected(document)]
    tiers = tiers_changed(document["changes"])
    if tiers:
        told = ", ".join(f"{old} → {new} {count:,}" for (old, new), count in tiers.most_common())
        lines += ["", f"By another tier: {told}"]
    for kind, title in _TITLES.items():
        found = [one for one in document["changes"] if one["kind"] == kind]
        if found:
            lines += ["", *_folded(_title(document, kind, title, len(found)), _table(found))]
    for word, title in (("come", "Instances that come"), ("go", "Instances that go")):
        names = document["instances"][word]
        if names:
            listed = [f"- `{name}`" for name in names[:MOST]]
            listed += [_more(len(names))] if len(names) > MOST else []
            lines += ["", *_folded(f"{title}: {len(names):,}", listed)]
    return "\n".join(lines)


def _title(document: Mapping[str, Any], kind: str, title: str, count: int) -> str:
    same = document["same_kernel"][kind]
    return f"{title}: {count:,}{f', of which {same:,} keep their kernel' if same else ''}"


def _rows(document: Mapping[str, Any]) -> str:
    rows = document["rows"]
    parts = [f"{rows[word]:,} {word}" for word in ("added", "removed", "changed", "retimed")]
    return f"{rows['old']:,} rows, now {rows['new']:,}: {', '.join(parts)}"


def _expected(document: Mapping[str, Any]) -> str:
    found = document["expected"]
    counts = f"{found['faster']:,} faster, {found['slower']:,} slower"
    times = f"{found['us_old']:,.1f} → {found['us_new']:,.1f} µs together"
    told = f"expected, of {plural(found['problems'], 'problem')} that both measured"
    return f"{told}: {found['geomean']:.4f} of the time ({counts}; {times})"


def _change_lines(one: Mapping[str, Any]) -> Iterator[str]:
    alike = f" and {len(one['alike'])} alike" if one["alike"] else ""
    ratio = _ratio(one)
    yield f"  {one['target']} {one['signature']}{alike} {one['sizes']}{f': {ratio}' if ratio else ''}"
    for side, mark in (("old", "-"), ("new", "+")):
        choice = one[side]
        time = f"{_us(choice)} us" if choice["us"] is not None else "–"
        yield f"    {mark} {choice['tier']} {_kernel(one, side)}{_splits(choice)}  {time}"


def _table(found: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = ["| target | signature | sizes | old | µs | new | µs | × |", "|---|---|---|---|--:|---|--:|--:|"]
    for one in found[:MOST]:
        alike = f" (+{len(one['alike'])})" if one["alike"] else ""
        sides = [
            f"{one[side]['tier']} `{_kernel(one, side)}`{_splits(one[side])} | {_us(one[side])}"
            for side in ("old", "new")
        ]
        cells = (one["target"], f"{one['signature']}{alike}", one["sizes"], *sides, _ratio(one))
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, *(["", _more(len(found))] if len(found) > MOST else [])]


def _folded(title: str, lines: Sequence[str]) -> list[str]:
    return [f"<details><summary>{title}</summary>", "", *lines, "", "</details>"]


def _kernel(one: Mapping[str, Any], side: str) -> str:
    """Without the signature, which stands beside it."""
    name: str = one[side]["kernel"].removeprefix(f"{one['signature']}_")
    return name or "–"


def _splits(choice: Mapping[str, Any]) -> str:
    return f" k_batch {choice['k_batch']}" if choice["k_batch"] > 1 else ""


def _us(choice: Mapping[str, Any]) -> str:
    if choice["us"] is None:
        return "–"
    return f"{choice['us']:g}" if choice["tier"] == "exact" else f"({choice['us']:g})"


def _ratio(one: Mapping[str, Any]) -> str:
    if one["same_kernel"]:
        return "same kernel"
    return f"{one['ratio']:.3f}" if one["ratio"] is not None else ""


def _more(count: int) -> str:
    return f"… and {count - MOST:,} more: --format json has all"
