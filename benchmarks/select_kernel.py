"""select() over a library generated from the shipped tables, beside maps of the same rows: one find of the exact shape.

A module named `select` would hide the standard library's from every benchmark, so the file is not called that. Making
the Problem is included. Peers as in lookup.py; what they find is less: no rules are checked, and no M between rows has
an answer. Tier `untuned`: heuristic, predicted, other_cu and default.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from lookup import WAYS
from ours import SHIPPED, TARGETS, lines_of, program_over
from support import Row, Run, main

from ckgen.measure.timing import Sample

TIERS = ("exact", "near", "far", "untuned")
_ROUNDS = 21


def rows(run: Run) -> Iterator[Row]:
    """For each tier the signature of the median, and the slowest; how often any select allocated."""
    names = {f"{tier}-{which}" for tier in TIERS for which in ("median", "worst")} | {"allocations"}
    if not any(map(run.wants, names)):
        return
    program = program_over(run, SHIPPED, "select.cpp")
    found: dict[tuple[str, str], dict[str, Sample]] = {}
    counts, allocations = {}, 0
    for module, tier, way, queries, made, *ns in lines_of(program, 1 if run.quick else _ROUNDS, *TARGETS):
        found.setdefault((tier, module), {})[way] = Sample(tuple(float(one) * 1e-9 for one in ns))
        counts[tier, module] = int(queries)
        allocations += int(made) if way == "ckgen" else 0
    for tier in TIERS:
        of_tier = {module: ways for (one, module), ways in found.items() if one == tier}
        middle = statistics.median_low(ways["ckgen"].median for ways in of_tier.values())
        worst = max(ways["ckgen"].median for ways in of_tier.values())
        for which, seconds in (("median", middle), ("worst", worst)):
            name = f"{tier}-{which}"
            if not run.wants(name):
                continue
            module, ways = next(item for item in of_tier.items() if item[1]["ckgen"].median == seconds)
            what = f"select, {tier}: the {which} of {len(of_tier)} signatures"
            peers = {title: ways[way] for way, title in WAYS.items()}
            shape = f"{module}, {counts[tier, module]:,} random problems"
            yield run.timed(name, what, shape, ways["ckgen"], peers, unit="ns")
    if run.wants("allocations"):
        yield run.counted("allocations", "select, all tiers and signatures", "", "allocations", allocations)


if __name__ == "__main__":
    main(rows, __doc__)
