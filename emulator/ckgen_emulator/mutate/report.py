"""What became of all mutants, as JSON and as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ckgen_emulator.mutate.choose import ROUNDING
from ckgen_emulator.mutate.operators import OPERATORS

_Verdict = Mapping[str, Any]


def explained(kernel: str, verdicts: Sequence[_Verdict], known: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
    """Verdicts with `why` where a survivor's reason is known: an entry of the same kernel, operator, place and text."""
    reasons = {(one["kernel"], one["operator"], one["address"], one["after"]): one["why"] for one in known}
    return [
        dict(one)
        if one["caught"]
        else {**one, "why": reasons.get((kernel, one["operator"], one["address"], one["after"]), "")}
        for one in verdicts
    ]


def markdown(document: Mapping[str, Any]) -> str:
    """docs/amd/mutations.md of the tool's document."""
    kernels: Mapping[str, Sequence[_Verdict]] = document["kernels"]
    everything = [one for verdicts in kernels.values() for one in verdicts]
    caught = [one for one in everything if one["caught"]]
    used = {one["operator"] for one in everything}
    names = [name for name in (*OPERATORS, ROUNDING) if name in used]
    lines = [
        "# Mutations: what the emulator catches",
        "",
        f"{len(everything)} changes of machine code, {len(caught)} caught: {len(caught) / len(everything):.1%}.",
        "`tools/run_mutations.py` makes and runs them again and writes this page:",
        f"seed {document['seed']}, at most {document['most']} of an operator in a kernel,",
        "spread over prologue, main loop, tail and epilogue.",
        "",
        "A mutant is caught if a run shows a finding, or a result that a right kernel cannot give, on any problem that",
        "executes the place, under the plain order or one of three adversary's orders.",
        "Survivors count as such whether or not a test could tell them from the kernel.",
        "",
        "## Caught of made",
        "",
        "| operator | " + " | ".join(kernels) + " | all |",
        "|---|" + "---|" * (len(kernels) + 1),
    ]
    for name in names:
        cells = [_of([one for one in verdicts if one["operator"] == name]) for verdicts in kernels.values()]
        lines.append(
            f"| {name} | {' | '.join(cells)} | {_of([one for one in everything if one['operator'] == name])} |"
        )
    totals = " | ".join(_of(verdicts) for verdicts in kernels.values())
    lines += [f"| **all** | {totals} | {_of(everything)} |", "", "## By which check", ""]
    lines += ["A mutant may be caught by several at once.", "", "| operator | checks |", "|---|---|"]
    for name in names:
        by = Counter(rule for one in caught if one["operator"] == name for rule in one["caught"]["by"])
        lines.append(f"| {name} | {', '.join(f'{rule} {count}' for rule, count in by.most_common())} |")
    lines += ["", "## Survivors", "", "| kernel | place | change | why |", "|---|---|---|---|"]
    for kernel, verdicts in kernels.items():
        for one in verdicts:
            if not one["caught"]:
                change = f"{one['operator']}: `{one['before']}` → `{one['after']}`"
                why = one["why"] or "**not explained**"
                lines.append(f"| {kernel} | {one['region']} {one['address']} | {change} | {why} |")
    return "\n".join([*lines, ""])


def _of(verdicts: Sequence[_Verdict]) -> str:
    return f"{sum(one['caught'] is not None for one in verdicts)}/{len(verdicts)}" if verdicts else ""
