"""Split-KV plans of unequal batches, run on this CPU's threads: ours against the rules of FlashInfer and CK.

Every plan is run by the same kernel, the one that `select` takes, over the same memory: its time is the plan's makespan
on threads. Compute units are threads. `no schedule` leaves the splits to the dispatcher. The rows `plan-...` are what
making a plan from Python takes, for a device of many compute units.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from fmha_operands import Batch, BatchOperands, same
from ours import Ours
from split_rules import composable_kernel, flashinfer
from support import Row, Run, main

from ckgen.families.fmha.constraints import FmhaConstraints, constraints_of
from ckgen.families.fmha.cost import takes_all_heads
from ckgen.families.fmha.grammar import parse_instance_name
from ckgen.measure.timing import Body
from ckgen.runtime.fmha_split import FmhaSplitProblem

_DECODE, _PREFILL = "fmha_bf16_varlen", "fmha_bf16_varlen_masked"
BATCHES = {
    "one-long": Batch(_DECODE, 1, 8, 4, 128, (60000,)),
    "long-among-short": Batch(_DECODE, 1, 8, 4, 128, (40000, 3000, 2000, 1000, 3000, 500, 1500, 700)),
    "alike": Batch(_DECODE, 1, 8, 4, 128, tuple(6500 + 300 * i for i in range(8))),
    "64-short": Batch(_DECODE, 1, 8, 4, 128, tuple(200 + 50 * i for i in range(64))),
    "random": Batch(_DECODE, 1, 8, 4, 128, tuple(int(2**x) for x in np.random.default_rng(1).uniform(4, 15, 24))),
    "prefill-long-among-short": Batch(_PREFILL, 256, 2, 4, 128, (16384, 512, 1024, 700)),
    "prefill-alike": Batch(_PREFILL, 256, 2, 4, 128, (4096, 4096, 4096, 4096)),
}
PLANS = {f"plan-{count}": count for count in (64, 256)}
_PLANNED = FmhaSplitProblem(
    64, 8, 128, m0=16, n0=64, cu_num=304, occupancy=2, merge_heads=True, page_size=16, masked=True
)
"""Of the rows `plan-...`."""


def asked_of(tiles: FmhaConstraints, batch: Batch, threads: int) -> FmhaSplitProblem:
    """As fmha_split_problem of ckgen/fmha_schedule.hpp asks for a kernel of these tiles."""
    x = batch.shape
    return FmhaSplitProblem(
        x.heads_q, x.heads_k, x.hdim_v, tiles.m0, tiles.n0, threads, merge_heads=tiles.merge_heads,
        workgroup_heads=x.heads_q if takes_all_heads(tiles, x) else 1, masked=batch.signature == _PREFILL,
    )  # fmt: skip


def rows(run: Run) -> Iterator[Row]:
    """A row for each batch, and for each number of requests that are planned."""
    batches = {name: batch for name, batch in BATCHES.items() if run.wants(name)}
    plans = {name: count for name, count in PLANS.items() if run.wants(name)}
    if batches or plans:
        ours = Ours(run, (_DECODE, _PREFILL), ("fmha",))
    for name, batch in batches.items():
        yield _batch(run, ours, name, batch)
    for name, count in plans.items():
        keys = (2 ** np.random.default_rng(count).uniform(0, 16, count)).astype(np.int32)
        queries, planner = np.ones(count, np.int32), ours.library.fmha_split
        body = Body((partial(planner.plan, _PLANNED, queries, keys, planner.count(_PLANNED, queries, keys)),))
        shape = f"{count} requests of 1 to 65,536 keys, 304 compute units"
        yield run.measure(name, "making a plan", shape, body, {}, unit="µs")


def _tiles(kernel: str) -> FmhaConstraints:
    parsed = parse_instance_name(kernel)
    if parsed is None:
        raise ValueError(f"{kernel!r} is no kernel of attention")
    signature, _, config = parsed
    return constraints_of(signature, config)


def _batch(run: Run, ours: Ours, name: str, batch: Batch) -> Row:
    operands = BatchOperands(batch)
    unplanned = operands.ours(ours)
    unplanned.call()
    wanted = operands.o.copy()
    tiles = _tiles(unplanned.kernel)
    asked = asked_of(tiles, batch, run.threads)
    planner = ours.library.fmha_split
    plans = {
        "ckgen": planner.plan(asked, batch.lengths, batch.keys),
        "FlashInfer's rule": flashinfer(asked, batch.lengths, batch.keys),
        "CK's num_splits": composable_kernel(asked, batch.lengths, batch.keys),
    }
    bodies = {}
    for rule, plan in plans.items():
        selected = operands.ours(ours, asked, plan)
        operands.o[...] = 0
        selected.call()
        if not same(operands.o, wanted):
            raise RuntimeError(f"{name}: the plan of {rule} gives another result")
        bodies[rule] = Body((selected.call,))
    own = bodies.pop("ckgen")
    peers = bodies | {"ckgen, no schedule": Body((unplanned.call,))}
    sizes = plans["ckgen"].sizes
    text = f"{len(batch.keys)} requests of {min(batch.keys)} to {max(batch.keys)} keys, {batch.queries} queries each"
    text += f"; at most {sizes.max_splits} splits"
    return run.measure(name, "a plan's makespan on threads", text, own, peers, kernel=unplanned.kernel)


if __name__ == "__main__":
    main(rows, __doc__)
