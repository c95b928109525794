"""Cases of attention's backward, for the checker."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ckgen.families.common.comparison import Expected
from ckgen.families.common.sensitivity import Sensitivity
from ckgen.families.common.storage import Storage, Values, decode, encode
from ckgen.families.fmha.backward_operands import BackwardOperands, backward_of
from ckgen.families.fmha.cut import Cut
from ckgen.families.fmha.enums import FmhaBias
from ckgen.families.fmha.operands import FmhaOperands
from ckgen.families.fmha.reference_backward import Gradients, expect_backward
from ckgen.fuzz.arguments import UNWRITTEN, raw
from ckgen.fuzz.case import Case
from ckgen.fuzz.data import wrong
from ckgen.fuzz.fmha_arrays import numbers, small_arrays
from ckgen.fuzz.fmha_memory import Tensor, gathered, read, scattered, tensor
from ckgen.fuzz.fmha_planes import plane, planes_of
from ckgen.fuzz.fmha_sizes import Rows, rows_of
from ckgen.fuzz.memory import Matrix, Strides
from ckgen.fuzz.once import Once
from ckgen.fuzz.operation import Result
from ckgen.fuzz.sampling import Budget
from ckgen.model.dtype import DType
from ckgen.runtime.fmha import FmhaArgsStruct, FmhaStridesStruct


@dataclass(frozen=True, slots=True)
class Written:
    """A gradient in memory, [entries, rows, heads, columns] of `like`'s type; `lengths` are the rows that count."""

    tensor: Tensor
    like: Storage
    rows: Rows
    lengths: tuple[int, ...]
    head_first: bool

    def stored(self) -> Storage:
        """As it lies."""
        return read(self.tensor, self.like, head_first=self.head_first)

    def found(self, longest: int) -> Storage:
        """[batch, longest, heads, columns]; zeros behind each length."""
        return scattered(self.stored(), self.rows, self.lengths, longest)

    def is_left(self) -> bool:
        """Whether rows that do not count still hold the fill."""
        stored = self.stored()
        free = np.ones(stored.shape[:2], bool)
        for b, length in enumerate(self.lengths):
            entry, start = (0, self.rows.starts[b]) if self.rows.starts else (b, 0)
            free[entry, start : start + length] = False
        return bool((raw(stored[free]) == self.tensor.matrix.region.fill).all())


@dataclass(frozen=True, slots=True)
class BackwardGiven:
    """See Given. `sinks` is dsink's memory; `cut`: what the kernel's bounds allow."""

    case: Case
    operands: BackwardOperands
    args: FmhaArgsStruct
    inputs: dict[str, Matrix]
    written: dict[str, Written]
    sinks: Matrix | None
    cut: Cut = Cut.NOTHING
    known: Once[Gradients] = field(default_factory=Once)

    def wrong(self) -> str:
        """See Given."""
        for name, expected, found in self._found():
            flat = _of_three(expected)
            if text := wrong(flat, found.reshape(flat.c.shape)):
                return text.replace("C[", f"{name}[", 1)
        return ""

    def expected(self) -> Gradients:
        """What must come out."""
        return self.known.of(lambda: expect_backward(self.operands, self.cut))

    def results(self) -> Iterator[Result]:
        """See Given."""
        for _, expected, found in self._found():
            yield Result(expected, decode(found).reshape(expected.c.shape))

    def sample(self, budget: Budget) -> None:
        """See Given; all rows always count: those of K are sums over all of Q."""

    def matrices(self) -> Iterator[Matrix]:
        """See Given."""
        yield from (one.tensor.matrix for one in self.written.values())
        yield from self.inputs.values()
        if self.sinks is not None:
            yield self.sinks

    def sensitivity(self) -> Sensitivity:
        """See Given; of dQ, dK and dV."""
        gradients = self.expected()
        return Sensitivity.worst_of(one.sensitivity for one in (gradients.dq, gradients.dk, gradients.dv))

    def out_of_bounds_writes(self) -> str:
        """See Given; a row that does not count is not the result's."""
        for name, one in self.written.items():
            if not one.is_left():
                return f"{name}: a row that does not count was written"
        matrices = [*((name, one.tensor.matrix) for name, one in self.written.items()), *self.inputs.items()]
        if self.sinks is not None:
            matrices.append(("dsink", self.sinks))
        return next((f"{name}: {text}" for name, one in matrices if (text := one.out_of_bounds_writes())), "")

    def _found(self) -> Iterator[tuple[str, Expected, Storage]]:
        gradients = self.expected()
        for name in ("dq", "dk", "dv"):
            expected: Expected = getattr(gradients, name)
            yield name, expected, self.written[name].found(expected.c.shape[1])
        if gradients.dbias is not None:
            found = self.written["dbias"].found(gradients.dbias.c.shape[2])
            yield "dbias", gradients.dbias, found.transpose(0, 2, 1, 3)
        if gradients.dsink is not None and self.sinks is not None:
            yield "dsink", gradients.dsink, np.ascontiguousarray(self.sinks.lines).view(np.float32).reshape(-1)


def backward_given(case: Case, forward: FmhaOperands, cut: Cut) -> BackwardGiven:
    """Operands for a run of a kernel that cuts so much; all of them wanted."""
    signature = forward.signature
    of_q = rows_of(signature, case, forward.lengths.q, case.m)
    of_k = rows_of(signature, case, forward.lengths.k, case.n)
    if of_q.starts and forward.bias is not None and signature.traits.bias is FmhaBias.ELEMENTWISE:
        of_each = (forward.shape.batch, *forward.bias.shape[1:])  # rows of all sequences lie in one plane
        forward = replace(forward, bias=np.broadcast_to(forward.bias, of_each))
    operands = backward_of(forward, case.seed)
    first, lengths = case.head_first, forward.lengths
    found: dict[str, Any] = {}
    inputs: dict[str, Matrix] = {}
    for name, values, of, gap in (
        ("q", forward.q, of_q, case.gap_a),
        ("k", forward.k, of_k, case.gap_b),
        ("v", forward.v, of_k, case.gap_b),
        ("o", operands.o, of_q, case.gap_c),
        ("dout", operands.dout, of_q, case.gap_d),
    ):
        counted = lengths.q if of is of_q else lengths.k
        one = tensor(gathered(encode(values, signature.a), of, counted), gap, head_first=first)
        inputs[name], found[name], found[f"{name}_strides"] = one.matrix, one.address, _strides(one)
    of_lse = gathered(operands.lse.astype(np.float32).transpose(0, 2, 1)[..., None], of_q, lengths.q)
    lse = tensor(of_lse.transpose(0, 2, 3, 1), case.gap_c, head_first=False)
    inputs["lse"] = lse.matrix
    found |= {"lse": lse.address, "lse_head_stride": lse.row, "lse_batch_stride": lse.batch}
    written = {
        "dq": _written(forward.q, of_q, lengths.q, case.gap_c, case, signature.a),
        "dk": _written(forward.k, of_k, lengths.k, case.gap_a, case, signature.a),
        "dv": _written(forward.v, of_k, lengths.k, case.gap_d, case, signature.a),
    }
    found |= {name: one.tensor.address for name, one in written.items()}
    found |= {f"{name}_strides": _strides(one.tensor) for name, one in written.items()}
    _add_dbias(found, written, forward, case, of_q)
    of_planes, planes = planes_of(forward, case, of_q)
    arrays = small_arrays(forward, case, of_q, of_k)
    inputs |= planes | arrays
    found |= of_planes | {name: one.address for name, one in arrays.items()}
    sinks = None
    if forward.sink is not None:
        size = 4 * forward.shape.heads_q
        sinks = Matrix(Strides(1, 1, size, size, size), UNWRITTEN, None)
        found["dsink"] = sinks.address
    return BackwardGiven(case, operands, FmhaArgsStruct(**found, **numbers(forward)), inputs, written, sinks, cut)


def _add_dbias(
    found: dict[str, Any], written: dict[str, Written], forward: FmhaOperands, case: Case, of_q: Rows
) -> None:
    """In the strides of the bias."""
    if forward.bias is None or forward.signature.traits.bias is not FmhaBias.ELEMENTWISE:
        return
    values, lengths = encode(forward.bias, forward.signature.a), forward.lengths.q[: forward.bias.shape[0]]
    one, strides = plane(values, case, of_q, forward.lengths.q, is_written=True)
    like = gathered(values.transpose(0, 2, 1, 3), of_q, lengths)
    written["dbias"] = Written(one, like, of_q, lengths, case.head_first)
    found |= {"dbias": one.address, "dbias_strides": strides}


def _written(
    like: Values,
    rows: Rows,
    lengths: tuple[int, ...],
    gap: int,
    case: Case,
    dtype: DType,
) -> Written:
    stored = gathered(encode(np.zeros_like(like), dtype), rows, lengths)
    return Written(
        tensor(stored, gap, head_first=case.head_first, is_written=True), stored, rows, lengths, case.head_first
    )


def _of_three(expected: Expected) -> Expected:
    """Its last axes as one line."""
    sizes = expected.c.shape
    flat = (1, 1, *sizes)[-3:] if len(sizes) < 3 else (*sizes[:2], int(np.prod(sizes[2:])))
    return Expected(expected.c.reshape(flat), expected.bound.reshape(flat))


def _strides(of: Tensor) -> FmhaStridesStruct:
    return FmhaStridesStruct(of.row, of.head, of.batch)
