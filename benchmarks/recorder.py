"""What CKGEN_RECORD and CKGEN_COUNT add to a select that no table answers, beyond the first of its problem.

1,792 problems, 28 layers of public models at 64 M each, asked 32 times each in no order, on one thread.
"""

from __future__ import annotations

from collections.abc import Iterator

from ours import lines_of, program_over
from support import Row, Run, main, rounded

from ckgen.measure.timing import Sample
from ckgen.model.target import Target
from ckgen.plan.options import PlanOptions
from ckgen.specs.native import own_cpu

_ROUNDS = 101


def rows(run: Run) -> Iterator[Row]:
    """A row for each: the differences within rounds, in which all ways take turns."""
    if not any(map(run.wants, ("recorded", "counted"))):
        return
    target = Target(own_cpu().gfx, 1)
    options = PlanOptions(targets=(target,), ops=frozenset({"gemm"}), tuning=(), signatures=("gemm_bf16_rcr",))
    program = program_over(run, options, "recorder.cpp")
    lines = lines_of(program, target, run.folder / "record", 3 if run.quick else _ROUNDS)
    found = {way: [float(one) * 1e-9 for one in ns] for _, way, _, _, *ns in lines}
    alone = rounded(Sample(tuple(found["plain"])).median * 1e9)
    shape = f"{int(lines[0][2]):,} calls, 1,792 problems of gemm_bf16_rcr"
    for name in ("recorded", "counted"):
        if run.wants(name):
            added = tuple(of - plain for of, plain in zip(found[name], found["plain"], strict=True))
            what = f"what being {name} adds to a select that misses"
            yield run.timed(name, what, shape, Sample(added), {"the select alone": f"{alone:g} ns"}, unit="ns")


if __name__ == "__main__":
    main(rows, __doc__)
