"""Cases that append to a cache, for the checker: nothing but the new rows may change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ckgen.families.common.comparison import Expected
from ckgen.families.common.sensitivity import Sensitivity
from ckgen.families.common.storage import Storage, decode, encode
from ckgen.families.fmha.append_operands import (
    NOT_NEW,
    Appended,
    AppendOperands,
    Integers,
    appended,
    make_append_operands,
    new_elements,
    paged_elements,
)
from ckgen.families.fmha.enums import FmhaKv, FmhaKvLayout
from ckgen.families.fmha.exact_append import exact_append_operands
from ckgen.families.fmha.pages import block_table, page_list
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.fuzz.arguments import UNREAD, raw
from ckgen.fuzz.case import Case, Data
from ckgen.fuzz.data import wrong
from ckgen.fuzz.fmha_memory import Tensor, gathered, read, scattered, tensor
from ckgen.fuzz.fmha_sizes import Rows, append_lengths, rows_of
from ckgen.fuzz.memory import Matrix, plain
from ckgen.fuzz.once import Once
from ckgen.fuzz.operation import Result
from ckgen.fuzz.sampling import Budget
from ckgen.model.fmha_shape import FmhaShape
from ckgen.runtime.fmha import FmhaArgsStruct, FmhaStridesStruct


@dataclass(frozen=True, slots=True)
class Cache:
    """K's or V's: what it held, and which element is which new one, both [entries, rows, heads, columns]."""

    tensor: Tensor
    held: Storage
    places: Integers
    head_first: bool

    def now(self) -> Storage:
        """What it holds."""
        return read(self.tensor, self.held, head_first=self.head_first)

    def added(self, expected: Expected) -> Storage:
        """The new elements, in the order of those expected."""
        is_new = self.places != NOT_NEW
        found = np.zeros(expected.c.size, self.held.dtype)
        found[self.places[is_new]] = self.now()[is_new]
        return found

    def wrong(self, name: str, expected: Expected) -> str:
        """The first new element that is wrong."""
        found, flat = self.added(expected), (len(expected.c), -1, expected.c.shape[-1])
        return wrong(Expected(expected.c.reshape(flat), expected.bound.reshape(flat)), found).replace(
            "C[", f"{name}[", 1
        )

    def out_of_bounds_writes(self, name: str) -> str:
        """What was written beside the new rows; ends the contents."""
        old = self.places == NOT_NEW
        size = self.held.itemsize
        before, now = (raw(np.ascontiguousarray(one)).reshape(*old.shape, size) for one in (self.held, self.now()))
        if (before[old] != now[old]).any():
            return f"{name}: a row that is not new was written"
        text = self.tensor.matrix.out_of_bounds_writes()
        return f"{name}: {text}" if text else ""


@dataclass(frozen=True, slots=True)
class AppendGiven:
    """See Given. `o` is [entries, rows, heads_q, hdim_q]; None without rows of Q."""

    case: Case
    operands: AppendOperands
    rows: Rows
    args: FmhaArgsStruct
    inputs: dict[str, Matrix]
    o: Tensor | None
    like_o: Storage
    k: Cache
    v: Cache

    known: Once[Appended] = field(default_factory=Once)

    def wrong(self) -> str:
        """See Given."""
        expected = self.expected()
        text = self.k.wrong("K", expected.k) or self.v.wrong("V", expected.v)
        if text or self.o is None:
            return text
        exact = _of_heads(expected.q)
        return wrong(exact, self._rotated(self.o).reshape(exact.c.shape)).replace("C[", "O[", 1)

    def expected(self) -> Appended:
        """What must come out."""
        return self.known.of(lambda: appended(self.operands))

    def results(self) -> Iterator[Result]:
        """See Given; the new rows of K and V, and O where there is one."""
        expected = self.expected()
        for cache, one in ((self.k, expected.k), (self.v, expected.v)):
            yield Result(one, decode(cache.added(one)).reshape(one.c.shape))
        if self.o is not None:
            yield Result(expected.q, decode(self._rotated(self.o)).reshape(expected.q.c.shape))

    def sample(self, budget: Budget) -> None:
        """See Given; all rows always count: there are no sums."""

    def matrices(self) -> Iterator[Matrix]:
        """See Given."""
        yield from (self.k.tensor.matrix, self.v.tensor.matrix, *self.inputs.values())
        if self.o is not None and not self.case.in_place:
            yield self.o.matrix

    def _rotated(self, o: Tensor) -> Storage:
        stored = read(o, self.like_o, head_first=self.case.head_first)
        return scattered(stored, self.rows, self.operands.rotated, self.expected().q.c.shape[1])

    def sensitivity(self) -> Sensitivity:
        """See Given; of new rows."""
        expected = self.expected()
        return Sensitivity.worst_of(one.sensitivity for one in (expected.k, expected.v))

    def out_of_bounds_writes(self) -> str:
        """See Given; rows of O that do not count must be as they were."""
        if self.o is not None:
            stored = read(self.o, self.like_o, head_first=self.case.head_first)
            free = _free(stored, self.rows, self.operands.rotated)
            was = self.like_o if self.case.in_place else np.full_like(raw(self.like_o), self.o.matrix.region.fill)
            if not np.array_equal(raw(stored)[free], raw(was).reshape(raw(stored).shape)[free]):
                return "O: a row that does not count was written"
        matrices = dict(self.inputs) | ({"O": self.o.matrix} if self.o is not None else {})
        text = self.k.out_of_bounds_writes("K") or self.v.out_of_bounds_writes("V")
        return text or next(
            (f"{name}: {text}" for name, one in matrices.items() if (text := one.out_of_bounds_writes())), ""
        )


def append_given(case: Case, signature: FmhaSignature, shape: FmhaShape) -> AppendGiven:
    """Operands in guarded memory, exact ones where integers are asked for. Caches hold random bytes."""
    before, added = append_lengths(signature, case)
    make = exact_append_operands if case.data is Data.INTEGERS else make_append_operands
    operands = make(signature, shape, case.seed, before, added)
    traits, first = signature.traits, case.head_first
    of_new, of_q = (rows_of(signature, case, added, most) for most in (case.new, case.m))
    found: dict[str, Any] = {}
    inputs: dict[str, Matrix] = {}

    def add(name: str, stored: Storage, gap: int, *, is_written: bool = False) -> Tensor:
        one = tensor(stored, gap, head_first=first, is_written=is_written)
        found[name], found[f"{name}_strides"] = one.address, FmhaStridesStruct(one.row, one.head, one.batch)
        if not is_written:
            inputs[name] = one.matrix
        return one

    add("k_new", gathered(encode(operands.k_new, signature.a), of_new, added), case.gap_a)
    add("v_new", gathered(encode(operands.v_new, signature.a), of_new, added), case.gap_a)
    o: Tensor | None = None
    like_o: Storage = np.zeros(0)
    if any(operands.rotated) or (shape.seqlen_q and operands.rotary is not None):
        like_o = gathered(encode(operands.q, signature.a), of_q, operands.rotated)
        q = add("q", like_o, case.gap_a)
        if case.in_place:
            o = q
            inputs.pop("q").stored = None
            found |= {"o": found["q"], "o_strides": found["q_strides"]}
        else:
            o = add("o", like_o, case.gap_c, is_written=True)
    k, v = (_cache(case, operands, of_v=of_v) for of_v in (False, True))
    for name, cache in (("k", k), ("v", v)):
        one = cache.tensor
        found |= {f"{name}_cache": one.address, f"{name}_strides": FmhaStridesStruct(one.row, one.head, one.batch)}
    small = _small(case, operands, of_new)
    for name, values in small.items():
        inputs[name] = plain(raw(np.ascontiguousarray(values).reshape(-1)), UNREAD)
        found[name] = inputs[name].address
    if traits.kv is FmhaKv.BLOCK_TABLE:
        found["block_table_stride"] = -(-shape.seqlen_k // shape.page_size)
    if not shape.seqlen_new:
        for name in ("k_new", "v_new"):
            del found[name]
    return AppendGiven(case, operands, of_q, FmhaArgsStruct(**found), inputs, o, like_o, k, v)


def _cache(case: Case, operands: AppendOperands, *, of_v: bool) -> Cache:
    signature, shape = operands.signature, operands.shape
    traits, dims = signature.traits, shape.hdim_v if of_v else shape.hdim_q
    first, gap = case.head_first, case.gap_b
    if traits.is_paged:
        places = paged_elements(operands, dims, of_v=of_v)
        if traits.kv_layout is FmhaKvLayout.VECTORIZED:
            places = places.reshape(shape.pages, 1, shape.heads_k, -1)
    else:
        rows = rows_of(signature, case, operands.after, case.n)
        places = new_elements(operands, dims)
        if rows.starts:
            joined = np.full((1, rows.total, shape.heads_k, dims), NOT_NEW)
            for b, length in enumerate(operands.after):
                joined[0, rows.starts[b] : rows.starts[b] + length] = places[b, :length]
            places = joined
        if of_v and traits.v_column:  # a line is one dimension of all rows
            gap, first = gap + max(case.n - rows.total, 0), True
            places = places.transpose(0, 3, 2, 1)
    random = np.random.default_rng(case.seed + of_v)
    item = encode(np.zeros(1), signature.b)
    sizes = (*places.shape[:-1], places.shape[-1] * item.itemsize)
    held = random.integers(0, 256, sizes, np.uint8).view(item.dtype)
    one = tensor(held, gap, head_first=first)
    one.matrix.stored = None
    return Cache(one, held, places, first)


def _small(case: Case, operands: AppendOperands, of_new: Rows) -> dict[str, Storage]:
    """Arrays without gaps, by names of FmhaArgs."""
    signature, shape, single = operands.signature, operands.shape, np.dtype(np.float32)
    found: dict[str, Storage] = {}
    if operands.k_descale is not None and operands.v_descale is not None:
        found |= {"k_descale": operands.k_descale.astype(single), "v_descale": operands.v_descale.astype(single)}
    if operands.rotary is not None:
        found |= {"rotary_cos": encode(operands.rotary.cos, signature.a)}
        found |= {"rotary_sin": encode(operands.rotary.sin, signature.a)}
    if of_new.starts:
        found["seqstart_q"] = np.array(of_new.starts, np.int32)
        if case.spare:
            found["seqlen_q"] = np.array(operands.added, np.int32)
    match signature.traits.kv:
        case FmhaKv.PAGE_LIST:
            lists = page_list(operands.pages, operands.after, shape.page_size)
            return found | {"kv_indptr": lists.indptr, "kv_pages": lists.pages, "kv_last_page": lists.last_page}
        case FmhaKv.BLOCK_TABLE:
            found["block_table"] = block_table(operands.pages, -(-shape.seqlen_k // shape.page_size))
        case FmhaKv.CONTIGUOUS if of_new.starts:
            found["seqstart_k"] = np.array(rows_of(signature, case, operands.after, case.n).starts, np.int32)
    return found | {"seqlen_k": np.array(operands.before, np.int32)}


def _of_heads(rows: Expected) -> Expected:
    """[batch, rows, heads, D] with the heads of a row as one line."""
    flat = (*rows.c.shape[:2], rows.c.shape[2] * rows.c.shape[3])
    return Expected(rows.c.reshape(flat), rows.bound.reshape(flat))


def _free(stored: Storage, rows: Rows, lengths: tuple[int, ...]) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Rows that do not count, of [entries, rows, …]."""
    free = np.ones(stored.shape[:2], bool)
    for b, length in enumerate(lengths):
        entry, start = (0, rows.starts[b]) if rows.starts else (b, 0)
        free[entry, start : start + length] = False
    return free
