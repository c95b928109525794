"""Cases of attention, for the checker."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from ckgen.families.common.comparison import Expected
from ckgen.families.common.sensitivity import Sensitivity
from ckgen.families.common.storage import Storage, Values, decode, encode
from ckgen.families.fmha.append_problem import appends, goes_back
from ckgen.families.fmha.asm_kernels import cut_of
from ckgen.families.fmha.cost import products
from ckgen.families.fmha.cut import Cut
from ckgen.families.fmha.enums import FmhaEntry, FmhaKvLayout
from ckgen.families.fmha.exact_operands import exact_operands
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.operands import FmhaOperands, make_operands
from ckgen.families.fmha.page_form import PageForm, cache_sizes
from ckgen.families.fmha.pages import store_pages
from ckgen.families.fmha.query import FmhaQuery
from ckgen.families.fmha.reference import Attention, expect
from ckgen.families.fmha.signature import FmhaSignature, parse_canonical
from ckgen.fuzz.arguments import UNREAD, raw
from ckgen.fuzz.case import Case, Data
from ckgen.fuzz.data import wrong
from ckgen.fuzz.decision import Decision
from ckgen.fuzz.fmha_append import AppendGiven, append_given
from ckgen.fuzz.fmha_arrays import numbers, schedule_arrays, small_arrays
from ckgen.fuzz.fmha_backward import BackwardGiven, backward_given
from ckgen.fuzz.fmha_memory import Tensor, gathered, read, scattered, tensor
from ckgen.fuzz.fmha_planes import planes_of
from ckgen.fuzz.fmha_schedule import FmhaSchedule, schedule_of
from ckgen.fuzz.fmha_sizes import Rows, dense_refusal, lengths_of, rows_of, shape_of
from ckgen.fuzz.memory import Matrix
from ckgen.fuzz.once import Once
from ckgen.fuzz.operation import FuzzedOperation, Result
from ckgen.fuzz.sampling import Budget
from ckgen.fuzz.space import Space
from ckgen.model.errors import UsageError
from ckgen.model.fmha_shape import FmhaShape
from ckgen.runtime import ProblemStruct, RuntimeLibrary
from ckgen.runtime.fmha import FmhaArgsStruct, FmhaStridesStruct
from ckgen.runtime.fmha_split import FmhaSplitPlanner


@dataclass(frozen=True, slots=True)
class FmhaGiven:
    """See Given. `o` and `lse` are as they lie: [entries, rows, heads, hdim_v] and [entries, heads, 1, rows]."""

    case: Case
    operands: FmhaOperands
    rows: Rows
    args: FmhaArgsStruct
    inputs: dict[str, Matrix]
    o: Tensor
    lse: Tensor | None
    known: Once[Attention] = field(default_factory=Once)
    planes: Once[frozenset[int]] = field(default_factory=Once)

    def wrong(self) -> str:
        """See Given."""
        return wrong_attention(self.expected(), *self._found())

    def expected(self) -> Attention:
        """What must come out."""
        return self.known.of(lambda: expect(self.operands, planes=self.planes.known))

    def results(self) -> Iterator[Result]:
        """See Given; O, and then lse where there is one."""
        expected, (o, lse) = self.expected(), self._found()
        yield Result(expected.o, decode(o))
        if lse is not None:
            yield Result(expected.lse, decode(lse))

    def sample(self, budget: Budget) -> None:
        """See Given; drawn heads, with all their rows."""
        shape = self.operands.shape
        scores = shape.seqlen_q * shape.seqlen_k
        work = scores * max(shape.hdim_q + shape.hdim_v, _STEPS)
        planes = budget.rows(shape.batch * shape.heads_q, work, shape.seqlen_q * shape.hdim_v, self.case.seed)
        if planes is not None:
            self.planes.of(lambda: frozenset(planes.tolist()))

    def matrices(self) -> Iterator[Matrix]:
        """See Given."""
        yield from (self.o.matrix, *self.inputs.values())
        if self.lse is not None:
            yield self.lse.matrix

    def _found(self) -> tuple[Storage, Storage | None]:
        """O [batch, longest, heads, hdim_v] and lse [batch, heads, longest]."""
        counted, longest = self.operands.lengths.q, self.expected().o.c.shape[1]
        o = scattered(self._o(), self.rows, counted, longest)
        if self.lse is None:
            return o, None
        of_rows = scattered(self._lse().transpose(0, 3, 1, 2), self.rows, counted, longest)
        return o, of_rows[..., 0].transpose(0, 2, 1)

    def sensitivity(self) -> Sensitivity:
        """See Given; of O."""
        return self.expected().o.sensitivity

    def out_of_bounds_writes(self) -> str:
        """See Given; a row that does not count is not the result's."""
        written = [("O", self.o, self._o())]
        if self.lse is not None:
            written.append(("lse", self.lse, self._lse().transpose(0, 3, 1, 2)))
        for name, of, stored in written:
            if not self._is_left(stored, of.matrix.region.fill):
                return f"{name}: a row that does not count was written"
        matrices = [(name, of.matrix) for name, of, _ in written] + list(self.inputs.items())
        return next((f"{name}: {text}" for name, one in matrices if (text := one.out_of_bounds_writes())), "")

    def _o(self) -> Storage:
        shape = self.operands.shape
        like = _empty(self.operands, self.rows, (shape.heads_q, shape.hdim_v))
        return read(self.o, like, head_first=self.case.head_first)

    def _lse(self) -> Storage:
        assert self.lse is not None
        of_o = _empty(self.operands, self.rows, (self.operands.shape.heads_q, 1))
        like = np.zeros((of_o.shape[0], of_o.shape[2], 1, of_o.shape[1]), np.float32)
        return read(self.lse, like, head_first=False)

    def _is_left(self, stored: Storage, fill: int) -> bool:
        """Whether rows behind each length still hold the fill; `stored` is [entries, rows, …]."""
        free = np.ones(stored.shape[:2], bool)
        for b, length in enumerate(self.operands.lengths.q):
            entry, start = (0, self.rows.starts[b]) if self.rows.starts else (b, 0)
            free[entry, start : start + length] = False
        return bool((raw(stored[free]) == fill).all())


_STEPS = 1 << 10
"""Of the definition for each score, in products that take as long."""
_MOST_CACHES = 8
"""Elements of a cache for each that other tensors may have: pages are seldom full."""


@dataclass(frozen=True, slots=True)
class FmhaWork:
    """See Work. Strides are never refused: none is drawn that is."""

    case: Case
    decision: Decision

    def problem(self, library: RuntimeLibrary) -> ProblemStruct:
        """See Work."""
        case = self.case
        return library.fmha_problem(
            case.signature,
            self.decision.query.shape,
            deterministic=case.deterministic,
            batch_invariant=case.batch_invariant,
            strategy=case.strategy,
        )

    def dense_refusal(self) -> str:
        """See Work."""
        return dense_refusal(self.decision.signature, self.decision.query.shape)

    def is_small(self, work: int, elements: int, extent: int) -> bool:
        """See Work."""
        shape: FmhaShape = self.decision.query.shape
        planes = shape.batch * shape.heads_q
        queries, keys, hdims = max(shape.seqlen_q, 1), max(shape.seqlen_k, 1), shape.hdim_q + shape.hdim_v
        most = planes * max(queries, keys) * hdims
        cache = shape.pages * shape.page_size * shape.heads_k * hdims
        fits = most <= min(elements, extent // 4) and cache <= _MOST_CACHES * elements
        return planes * queries * keys * hdims <= work and fits

    def refusal(self) -> str:
        """See Work."""
        return ""

    def null_args(self, address: int) -> FmhaArgsStruct:
        """See Work."""
        return FmhaArgsStruct(q=address, k=address, v=address, o=address)

    def given(self, library: RuntimeLibrary, block_m: int, parts: int) -> FmhaGiven | AppendGiven | BackwardGiven:
        """See Work."""
        if appends(self.decision.signature.traits):
            return append_given(self.case, self.decision.signature, self.decision.query.shape)
        case, signature = self._own_case(), self.decision.signature
        operands = operands_of(case, self.decision)
        if goes_back(signature.traits):
            return backward_given(case, operands, cut_of_chosen(self.decision))
        traits, shape, lengths = signature.traits, operands.shape, operands.lengths
        of_q, of_k = rows_of(signature, case, lengths.q, case.m), rows_of(signature, case, lengths.k, case.n)
        first = case.head_first
        q = tensor(gathered(encode(operands.q, signature.a), of_q, lengths.q), case.gap_a, head_first=first)
        k = tensor(_cache(operands, operands.k, of_k, lengths.k, of_v=False), case.gap_b, head_first=first)
        of_v = _cache(operands, operands.v, of_k, lengths.k, of_v=True)
        if traits.v_column:  # a line is one dimension of all keys
            room = max(case.n - of_k.total, 0)
            v = tensor(of_v.transpose(0, 3, 2, 1), case.gap_b + room, head_first=True)
        else:
            v = tensor(of_v, case.gap_b, head_first=first)
        like = _empty(operands, of_q, (shape.heads_q, shape.hdim_v))
        o = tensor(like, case.gap_c, head_first=first, is_written=True)
        found: dict[str, Any] = {name: one.address for name, one in (("q", q), ("k", k), ("v", v), ("o", o))}
        found |= {f"{name}_strides": _strides(one) for name, one in (("q", q), ("k", k), ("v", v), ("o", o))}
        inputs = {"Q": q.matrix, "K": k.matrix, "V": v.matrix}
        lse = None
        if traits.lse:
            like = np.zeros((like.shape[0], shape.heads_q, 1, like.shape[1]), np.float32)
            lse = tensor(like, case.gap_c, head_first=False, is_written=True)
            found |= {"lse": lse.address, "lse_head_stride": lse.row, "lse_batch_stride": lse.batch}
        of_planes, planes = planes_of(operands, case, of_q)
        arrays = small_arrays(operands, case, of_q, of_k) | schedule_arrays(self.decision.schedule, library.fmha_split)
        inputs |= planes | arrays
        found |= of_planes | {name: one.address for name, one in arrays.items()}
        return FmhaGiven(case, operands, of_q, FmhaArgsStruct(**found, **numbers(operands)), inputs, o, lse)

    def _own_case(self) -> Case:
        """Without lengths that the instance does not take."""
        return self.case if _chosen(self.decision).constraints.pad_k else replace(self.case, own_lengths=False)


def cut_of_chosen(decision: Decision) -> Cut:
    """What the kernel of the chosen instance cuts."""
    return cut_of(_chosen(decision).config)


def _chosen(decision: Decision) -> FmhaInstance:
    found: FmhaInstance = next(one for one in decision.query.unit.instances if one.name == decision.chosen.instance)
    return found


def operands_of(case: Case, decision: Decision) -> FmhaOperands:
    """The case's data, those of `exact_operands` for integers; special values are random ones."""
    signature, shape = decision.signature, decision.query.shape
    make = exact_operands if case.data is Data.INTEGERS else make_operands
    operands = replace(make(signature, shape, case.seed, lengths_of(signature, case)), shape=shape)
    if case.data is Data.ZEROS:
        return replace(operands, q=operands.q * (case.seed % 2), v=operands.v * (case.seed // 2 % 2))
    if case.data is Data.EXTREME and signature.a.bits > 8:
        return replace(operands, q=operands.q * 16)
    return operands


def wrong_attention(expected: Attention, o: Storage, lse: Storage | None) -> str:
    """The first element that is wrong, of O and then of lse where there is one; empty if there is none."""
    flat = _flat(expected.o)
    text = wrong(flat, o.reshape(flat.c.shape)).replace("C[", "O[", 1)
    return text if text or lse is None else wrong(expected.lse, lse).replace("C[", "lse[", 1)


def _cache(operands: FmhaOperands, values: Values, rows: Rows, lengths: tuple[int, ...], *, of_v: bool) -> Storage:
    """K or V, [entries, rows, heads, columns]: of paged KV an entry is a page; rows of vectors are one."""
    stored, shape, traits = encode(values, operands.signature.b), operands.shape, operands.signature.traits
    if not traits.is_paged:
        return gathered(stored, rows, lengths)
    form = PageForm(shape.page_size, traits.kv_layout, of_v)
    heads, columns = stored.shape[2:]
    *sizes, last = cache_sizes(shape.pages, heads, columns, stored.itemsize, form)
    cache = np.full((*sizes, last * stored.itemsize), UNREAD, np.uint8).view(stored.dtype)
    counted = [of[:length] for of, length in zip(stored, lengths, strict=True)]
    store_pages(counted, operands.pages, cache, form)
    if traits.kv_layout is FmhaKvLayout.VECTORIZED:
        return cache.reshape(shape.pages, 1, heads, -1)
    return cache


def _flat(expected: Expected) -> Expected:
    """A row's heads as one line, [batch, rows, heads * hdim_v]."""
    batch, rows, heads, dims = expected.c.shape
    sizes = (batch, rows, heads * dims)
    return Expected(expected.c.reshape(sizes), expected.bound.reshape(sizes))


def _empty(operands: FmhaOperands, rows: Rows, sizes: tuple[int, int]) -> Storage:
    entries = 1 if rows.starts else operands.shape.batch
    return encode(np.zeros((entries, rows.total, *sizes)), operands.signature.c)


def _strides(of: Tensor) -> FmhaStridesStruct:
    return FmhaStridesStruct(of.row, of.head, of.batch)


def scheduled(space: Space, case: Case, decision: Decision, planner: FmhaSplitPlanner) -> FmhaSchedule | None:
    """For the tile of the instance that answers without one."""
    query, tiles = decision.query, space.all_instances.get(decision.chosen.instance)
    assert isinstance(query, FmhaQuery)
    if tiles is None or query.illegal() is not None or query.signature.traits.entry is not FmhaEntry.FORWARD:
        return None
    return schedule_of(case, query.signature, query.shape, query.target, tiles.constraints, planner)


_DRAWN = ("pages", "total_q")
"""Sizes that follow from the lengths of the sequences."""


def asked(case: Case, problem: FmhaShape) -> Case:
    """The case with sizes of attention; UsageError for one that operands are not made for."""
    same = {one.name for one in fields(Case)} & {one.name for one in fields(FmhaShape)}
    sized = replace(
        case, m=problem.seqlen_q, n=problem.seqlen_k, k=problem.hdim_q, new=problem.seqlen_new,
        **{name: getattr(problem, name) for name in same},
    )  # fmt: skip
    made = shape_of(parse_canonical(case.signature), sized)
    for one in fields(FmhaShape):
        size = getattr(problem, one.name)
        if one.name not in _DRAWN and size not in (getattr(made, one.name), one.default):
            raise UsageError(f"{one.name}={size}: operands of such a problem are not made")
    return sized


def flops(case: Case, signature: FmhaSignature) -> int:
    """Of the products; appending has none."""
    if appends(signature.traits):
        return 0
    of_q, of_v = products(signature.traits)
    return 2 * case.batch * case.heads_q * case.m * case.n * (of_q * case.k + of_v * case.hdim_v)


OPERATION = FuzzedOperation(
    lambda case, signature: shape_of(signature, case),
    FmhaWork,
    lambda space, decision: 1,
    asked,
    flops,
    has_exact_data=True,
    schedule=scheduled,
    bounds=cut_of_chosen,
)
