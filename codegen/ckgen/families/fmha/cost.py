"""What an attention instance costs, and into how many equal splits it cuts keys: the integers of src/fmha/cost.hpp."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ckgen.families.fmha.append_problem import append_cost, appends, goes_back
from ckgen.families.fmha.constraints import FmhaConstraints
from ckgen.families.fmha.enums import FmhaTraits
from ckgen.model.fmha_shape import FmhaCorner, FmhaShape

_PADS = 8
_MOST = 2**128 - 1
_LOAD = 64
"""Rows that a compute unit computes while it brings their keys: of MI300X 32 as L2 gives them, 246 as memory does."""
_COMBINE = 1 << 14
"""Rows times columns that a compute unit computes while the kernel starts that combines partial results."""
_THREAD_BARRIER_COST = 1 << 18
"""The same where a CPU's threads meet (benchmarks/fmha_split.py; two threads of a Zen 4)."""
_PART = 4
"""Columns that a row of a split costs beside its own: item_row and partial_row of FmhaSplitCost."""
_ROUNDS = (1, 2, 3)
_LAST_RESORT = 1 << 112
"""More than any other instance costs that is not at the end of what is counted."""


@dataclass(frozen=True, slots=True)
class Split:
    """So many splits of the keys, and what they cost."""

    splits: int
    cost: int


def best_split(constraints: FmhaConstraints, traits: FmhaTraits, shape: FmhaShape, cu_num: int) -> Split:
    """The least cost; of equal ones the fewest splits."""
    return min(weighed_splits(constraints, traits, shape, cu_num), key=lambda one: one.cost)


def weighed_splits(constraints: FmhaConstraints, traits: FmhaTraits, shape: FmhaShape, cu_num: int) -> Iterator[Split]:
    """One split, and the fewest of as long parts as fit in one, two and three rounds of workgroups.

    Counted are workgroups that see keys: where splits share all keys (see `cost`), those outside a window are idle.
    """
    yield Split(1, cost(constraints, traits, shape, cu_num))
    most = 1 if shape.split_items else constraints.max_splits
    cus, count = max(cu_num, 1), _workgroups(constraints, shape)
    if most == 1 or not 0 < count <= 2 * cus:
        return
    seen = -(-mean_columns(traits, shape) // constraints.n0)
    blocks = seen if constraints.takes_items else -(-shape.seqlen_k // constraints.n0)
    last = 1
    for rounds in _ROUNDS:
        busy = min(rounds * cus // count, most, seen)
        if busy < 2:
            continue
        splits = min(-(-blocks // -(-seen // busy)), most)
        splits = -(-blocks // -(-blocks // splits))
        if splits != last:
            last = splits
            yield Split(splits, cost(constraints, traits, shape, cu_num, splits))


def cost(constraints: FmhaConstraints, traits: FmhaTraits, shape: FmhaShape, cu_num: int, splits: int = 1) -> int:
    """Rounds of workgroups times keys and products of one, what partial results cost, then how much is padded.

    Kernels that read schedules share the columns that rows see among splits, others all keys: then only those splits
    work that see a column, and all write their part.
    """
    if appends(traits):
        return append_cost(constraints, traits, shape, cu_num)
    asked = constraints
    combines = splits > 1 or asked.always_combines
    seen = mean_columns(traits, shape)
    part = max(-(-(seen if asked.takes_items else shape.seqlen_k) // splits), 1)
    busy = splits if asked.takes_items else min(splits, -(-seen // part) + (traits.masked and shape.window_left >= 0))
    columns = _rounds(asked, shape, cu_num, busy) * -(-min(seen, part) // asked.n0) * asked.n0
    columns += _rounds(asked, shape, cu_num, splits) * _PART if combines else 0
    meeting = (_THREAD_BARRIER_COST if takes_all_heads(asked, shape) else _COMBINE) if combines else 0
    hdims = asked.hdim_q + _parts_of_v(asked) * asked.n1
    pads = asked.pad_q + asked.pad_k + (asked.d_multiple != 0) + (asked.dv_multiple != 0)
    found = (columns * (asked.m0 + _LOAD) + meeting) * hdims * _PADS + pads
    return min(found + (_LAST_RESORT if asked.last_resort else 0), _MOST)


def _rounds(asked: FmhaConstraints, shape: FmhaShape, cu_num: int, splits: int) -> int:
    """Rounds of workgroups times the heads of one.

    Where there are fewer workgroups than compute units, these share the heads of one. Then each reads pieces of rows,
    which memory gives at four fifths of its speed (benchmarks/fmha_split.py).
    """
    count, cus = _workgroups(asked, shape) * splits, max(cu_num, 1)
    heads = _grid_heads(asked, shape) if takes_all_heads(asked, shape) else 1
    if heads == 1 or count >= cus or count == 0:
        return -(-count // cus) * heads
    parts = min(-(-cus // count), heads)
    found = -(-count * parts // cus) * -(-heads // parts)
    return found if parts == 1 else found + -(-found // 4)


def _workgroups(asked: FmhaConstraints, shape: FmhaShape) -> int:
    group = shape.heads_q // shape.heads_k if asked.merge_heads else 1
    tiles = -(-shape.seqlen_q * group // asked.m0)
    heads = 1 if takes_all_heads(asked, shape) else _grid_heads(asked, shape)
    return tiles * shape.batch * heads * _parts_of_v(asked)


def _grid_heads(asked: FmhaConstraints, shape: FmhaShape) -> int:
    return shape.heads_k if asked.merge_heads else shape.heads_q


def takes_all_heads(asked: FmhaConstraints, shape: FmhaShape) -> bool:
    """Whether a workgroup takes all heads."""
    return 0 < asked.rows_together >= shape.seqlen_q * (shape.heads_q // shape.heads_k)


def _parts_of_v(asked: FmhaConstraints) -> int:
    return -(-asked.hdim_v // asked.n1)


def products(traits: FmhaTraits) -> tuple[int, int]:
    """How often the scores' size times hdim_q, and times hdim_v, is multiplied: forward once each."""
    return (3, 2) if goes_back(traits) else (1, 1)


def mean_columns(traits: FmhaTraits, shape: FmhaShape) -> int:
    """Columns that a row sees, the mean over the rows, rounded up; sink tokens are too few to count."""
    if not traits.masked or shape.seqlen_q == 0:
        return shape.seqlen_k
    shift = 0 if shape.corner is FmhaCorner.TOP_LEFT else shape.seqlen_k - shape.seqlen_q
    rows = shape.seqlen_q
    behind = rows * shape.seqlen_k
    if shape.window_right >= 0:
        behind = _ramp_sum(rows, shift + shape.window_right + 1, shape.seqlen_k)
    hidden = _ramp_sum(rows, shift - shape.window_left, shape.seqlen_k) if shape.window_left >= 0 else 0
    return -(-max(behind - hidden, 0) // rows)


def _ramp_sum(rows: int, first: int, most: int) -> int:
    """The sum over i below `rows` of i + first, not below 0 nor above `most`."""
    begin = min(rows, max(0, -first))
    end = min(rows, max(begin, most - first))
    return (begin + end - 1 + 2 * first) * (end - begin) // 2 + (rows - end) * most
