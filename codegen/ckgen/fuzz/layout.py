"""How the operands of a case lie in memory: lines, leading dimensions and batch strides, in elements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ckgen.families.gemm.reference_data import d_sizes
from ckgen.families.gemm.signature import GemmSignature
from ckgen.fuzz.case import Case
from ckgen.model.dtype import DType
from ckgen.model.tuned_row import Shape

_LIMIT = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Placed:
    """A matrix: `lines` of `length` elements of `dtype`, `ld` apart, `batch` times.

    Strides of 0 share one batch entry, or with `may_repeat` one line.
    """

    name: str
    dtype: DType
    lines: int
    length: int
    ld: int
    batch: int
    batch_stride: int
    may_broadcast: bool = True
    may_repeat: bool = False

    @property
    def one(self) -> int:
        """Elements from the first to behind the last of one batch entry."""
        return (self.lines - 1) * self.ld + self.length

    @property
    def is_countable(self) -> bool:
        """Whether 64-bit integers count all its bits."""
        parts = (self.one, (self.batch - 1) * self.batch_stride)
        return max(*parts, sum(parts) * self.dtype.bits) <= _LIMIT

    def refusal(self) -> str:
        """Why the runtime refuses such arguments; empty where it does not."""
        if self.ld < self.length and not (self.may_repeat and self.ld == 0):
            return f"the leading dimension of {self.name} = {self.ld} is below {self.length}"
        if not self.is_countable:
            return f"{self.name} has more bits than 64-bit integers count"
        if self.batch > 1 and self.batch_stride < self.one and not (self.batch_stride == 0 and self.may_broadcast):
            return f"the batch stride of {self.name} = {self.batch_stride} is below {self.one}"
        return ""


def lines_of(signature: GemmSignature, m: int, n: int, k: int) -> tuple[tuple[int, int], ...]:
    """Lines and their lengths of A, B and C."""
    layout = signature.layout
    a, b = layout.a_is_row_major, layout.b_is_row_major and not signature.preshuffle_b
    return ((m, k) if a else (k, m), (k, n) if b else (n, k), (m, n))


def placed(signature: GemmSignature, case: Case) -> tuple[Placed, ...]:
    """A, B, C and the D tensors as the case asks for them; a preshuffled B has no leading dimension. The second tensors
    of A and B lie as the first."""
    of_a, of_b, of_c = lines_of(signature, case.m, case.n, case.k)
    gap_b = 0 if signature.preshuffle_b else case.gap_b
    return (
        _placed("A", signature.a, of_a, case.gap_a, case, case.gap_batch_a, case.broadcast_a),
        _placed("B", signature.b, of_b, gap_b, case, case.gap_batch_b, case.broadcast_b),
        _placed("C", signature.c, of_c, case.gap_c, case, case.gap_batch_c, None),
        *_d_tensors(signature, case),
    )


def dense_refusal(signature: GemmSignature, case: Case) -> str:
    """Why no plan is made of a legal problem: a matrix without gaps that cannot be counted; empty where one is."""
    of_a, of_b, of_c = lines_of(signature, case.m, case.n, case.k)
    batch = case.batch if signature.batched else 1
    sides = (("A", signature.a, of_a), ("B", signature.b, of_b), ("C", signature.c, of_c))
    for name, dtype, (lines, length) in sides:
        if not Placed(name, dtype, lines, length, length, batch, lines * length).is_countable:
            return f"{name} has more bits than 64-bit integers count"
    return ""


def _d_tensors(signature: GemmSignature, case: Case) -> Iterator[Placed]:
    """Those of one row have no strides."""
    shape = Shape(case.batch, case.m, case.n, case.k)
    for number, sizes in enumerate(d_sizes(signature, shape, case.seed)):
        of = _placed(f"D{number}", signature.c, (case.m, case.n), case.gap_d, case, 0, False)
        if sizes == (1, 1, case.n):
            of = replace(of, ld=0, batch_stride=0)
        elif of.ld == 0:
            of = replace(of, ld=-1)  # too short, and not one line for all
        yield replace(of, may_repeat=True)


def _placed(
    name: str, dtype: DType, lines: tuple[int, int], gap: int, case: Case, batch_gap: int, broadcast: bool | None
) -> Placed:
    ld = lines[1] + gap
    one = (lines[0] - 1) * ld + lines[1]
    grain = 8 // min(dtype.bits, 8)
    stride = 0 if broadcast else -(-one // grain) * grain + batch_gap
    return Placed(name, dtype, lines[0], lines[1], ld, case.entries, stride, broadcast is not None)
