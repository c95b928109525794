"""One problem of a fuzz run: everything that decides it, as fields and as one line of text."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, fields
from enum import Enum
from functools import cache
from typing import Any, get_type_hints

from ckgen.model.errors import UsageError
from ckgen.model.fmha_shape import FmhaCorner
from ckgen.model.groups import GroupSize
from ckgen.model.selection import Wishes
from ckgen.model.strategy import Strategy


class Data(Enum):
    """What the operands hold.

    INTEGERS: every partial sum is exact; docs/exactness_ops.md says how, of experts and attention. EXTREME: any finite
    value of a narrow type. SPECIAL: some infinities and NaNs.
    """

    RANDOM = "random"
    INTEGERS = "integers"
    ZEROS = "zeros"
    EXTREME = "extreme"
    SPECIAL = "special"


class Route(Enum):
    """To which experts tokens go.

    UNIFORM: any. SKEWED: each expert half as likely as the one before. ONE: all tokens to the same `top_k`. SOME: about
    half of the experts are left out.
    """

    UNIFORM = "uniform"
    SKEWED = "skewed"
    ONE = "one"
    SOME = "some"


class Schedule(Enum):
    """How the planner of docs/fmha_split.md cuts a batch: as it costs, at multiples of a size, not at all; or none is
    made."""

    NONE = "none"
    COST = "cost"
    FIXED = "fixed"
    NO_SPLIT = "no_split"


Sizes = tuple[GroupSize, ...] | None


@dataclass(frozen=True, slots=True)
class Case:
    """A problem, the caller's wishes, what is forced, the data, and how operands lie in memory.

    `instance` is forced with `k_batch`; empty: the dispatcher's choice. `gap_*` are elements beyond the least leading
    dimension and the least batch stride, below 0 too few. `broadcast_*`: a batch stride of 0.
    `gap_scale`, of groups: elements between lines of A's block scales, beyond the longest line of all groups.

    Of a grouped GEMM: `groups`, None for a problem without any; `on_device`: M is the most rows that a group may have,
    N and K are those of all. Of op moe: M is the tokens; `block_m` is the problem's, `is_sorted` is how a layer is told
    its routing.

    Of op fmha: M is seqlen_q, N seqlen_k, K hdim_q; gap_a is beyond rows of Q, gap_b of K and V, gap_c of O and lse,
    gap_d of a bias or given bytes. `own_lengths`: sequences of a batch tell how many keys count; `spare` rows stand
    behind each sequence of varlen; `head_first`: a head's rows are neighbours, not a row's heads;
    `page_size` is of paged KV. Of append, N is the cache's room per sequence and `new` is seqlen_new; gap_a is beyond
    rows of Q and new rows, and `in_place`: O is Q.

    `sum_bits`: significand bits that sums of 8-bit floats keep in the matrix unit; other data suit fewer.

    `schedule`: the batch's lengths are planned for the tile of the instance that answers without one; `split_cu_num`
    and `max_splits` of 0 are the target's and the planner's own, `split_n0` of 0 the instance's. `fixed_split_size` is
    rounded up to what the planner takes. `split_bound`: with room for every batch within the shape, else its own;
    `split_spare` items, combine items and partial rows more.
    """

    signature: str
    target: str
    instance: str = ""
    k_batch: int = 1
    m: int = 1
    n: int = 1
    k: int = 1
    batch: int = 1
    deterministic: bool = False
    strategy: Strategy = Strategy.ANY
    data: Data = Data.RANDOM
    seed: int = 0
    gap_a: int = 0
    gap_b: int = 0
    gap_c: int = 0
    gap_d: int = 0
    gap_batch_a: int = 0
    gap_batch_b: int = 0
    gap_batch_c: int = 0
    broadcast_a: bool = False
    broadcast_b: bool = False
    scale_columns: bool = False
    scale_shuffled: bool = False
    gap_scale: int = 0
    sum_bits: int = 24
    groups: Sizes = None
    on_device: bool = False
    experts: int = 0
    top_k: int = 0
    route: Route = Route.UNIFORM
    block_m: int = 0
    is_sorted: bool = False
    heads_q: int = 1
    heads_k: int = 1
    hdim_v: int = 1
    corner: FmhaCorner = FmhaCorner.BOTTOM_RIGHT
    window_left: int = -1
    window_right: int = 0
    sink_tokens: int = 0
    own_lengths: bool = False
    spare: int = 0
    head_first: bool = False
    page_size: int = 0
    new: int = 0
    rotary_dim: int = 0
    in_place: bool = False
    schedule: Schedule = Schedule.NONE
    split_cu_num: int = 0
    fixed_split_size: int = 0
    max_splits: int = 0
    split_n0: int = 0
    split_bound: bool = False
    split_spare: int = 0
    batch_invariant: bool = False

    @property
    def entries(self) -> int:
        """Batch entries in memory: a signature that is not batched ignores what stands in `batch`."""
        return max(self.batch, 1)

    @property
    def wishes(self) -> Wishes:
        """The fields that Wishes has too."""
        return Wishes(**{one.name: getattr(self, one.name) for one in fields(Wishes)})

    def text(self) -> str:
        """`field=value` words of what is not at its default; `parse_case` reads them."""
        found = []
        for name, default, usual in _usual():
            value = getattr(self, name)
            if value is not default and (word := _word(value)) != usual:
                found.append(f"{name}={word}")
        return " ".join(found)


def parse_case(text: str) -> Case:
    """The inverse of `Case.text`; UsageError for words that mean nothing."""
    types = _types()
    values: dict[str, Any] = {}
    for word in _words(text):
        name, equals, value = word.partition("=")
        if name not in types or not equals:
            raise UsageError(f"--problem: '{word}' is not field=value of {', '.join(types)}")
        values[name] = _value(name, types[name], value)
    missing = sorted({"signature", "target"} - values.keys())
    if missing:
        raise UsageError(f"--problem: {' and '.join(missing)} missing")
    return Case(**values)


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--problem: {error}") from error


@cache
def _usual() -> tuple[tuple[str, object, str], ...]:
    """Each field, its default, and that as a word."""
    return tuple((one.name, one.default, _word(one.default)) for one in fields(Case))


@cache
def _types() -> dict[str, Any]:
    hints = get_type_hints(Case)
    return {one.name: hints[one.name] for one in fields(Case)}


def _word(value: object) -> str:
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, tuple):
        return ",".join(str(size) for size in value)
    return str(int(value)) if isinstance(value, bool) else str(value)


def _value(name: str, kind: Any, text: str) -> Any:
    try:
        if kind == Sizes:
            return tuple(_size(word) for word in text.split(",")) if text else ()
        if kind is str and re.fullmatch(r"[A-Za-z0-9_.:+-]*", text) is None:
            raise ValueError(text)
        return bool(int(text)) if kind is bool else kind(text)
    except ValueError as error:
        raise UsageError(f"--problem: '{text}' is no value of {name}") from error


def _size(text: str) -> GroupSize:
    found = re.fullmatch(r"(-?\d+)x(-?\d+)x(-?\d+)", text)
    if found is None:
        raise ValueError(text)
    return GroupSize(*map(int, found.groups()))
