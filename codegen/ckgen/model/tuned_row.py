"""One measured fact: on this target, for this shape, that kernel won."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ckgen.model.diagnostic import Location
from ckgen.model.dtype import DType
from ckgen.model.hash_once import HashOnce, hash_once
from ckgen.model.target import Target


@dataclass(frozen=True, slots=True, order=True)
class Shape:
    """A GEMM's sizes in elements; `batch` is 0 where the module is not batched."""

    batch: int
    m: int
    n: int
    k: int

    def __str__(self) -> str:
        batch = f"B={self.batch} " if self.batch else ""
        return f"{batch}M={self.m} N={self.n} K={self.k}"


@dataclass(frozen=True, slots=True)
class ExpertProduct:
    """Products of a MoE layer that a row is about, whatever is made of their sums; gated ones have N / 2 columns of C.

    `weighted`: the routing weight multiplies them.
    """

    gate_up: bool
    weighted: bool


@hash_once
@dataclass(frozen=True, slots=True)
class Discriminators(HashOnce):
    """The key columns of a dialect besides target and shape; None where the dialect has no such column.

    `unknown` are words of the row that name nothing here, in place of which the fields say nothing.
    """

    weight_dtype: DType | None = None
    in_dtype: DType | None = None
    out_dtype: DType | None = None
    bias: bool | None = None
    scale_ab: bool | None = None
    preshuffle_b: bool | None = None
    experts: ExpertProduct | None = None
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class TunedRow:
    """A row of a tuned GEMM table, adapted: typed, trimmed, `splitK` normalised; nothing of it is lost.

    `target` is None where the dialect names none or no single known gfx has that cu_num; `cu_num` then keeps the cell.
    `kernel` is the table's own name, verbatim (empty where the dialect has no name column).
    `k_batch` counts K splits; None means that the kernel decides. `us` is microseconds, None without the column.
    """

    op: ClassVar[str] = "gemm"
    location: Location
    layer: int
    module: str
    target: Target | None
    cu_num: int
    shape: Shape
    discriminators: Discriminators
    library: str
    kernel: str
    k_batch: int | None
    us: float | None
    error_ratio: float | None

    @property
    def sizes(self) -> str:
        """What people read."""
        return str(self.shape)

    @property
    def named_sizes(self) -> dict[str, object]:
        """A batch of 0 is none."""
        return {"batch": self.shape.batch or None} | {name: getattr(self.shape, name) for name in "mnk"}

    @property
    def about(self) -> Sequence[Hashable]:
        """What the row is about besides target and shape."""
        return ((self.module, self.discriminators),)

    @property
    def answer(self) -> tuple[object, ...]:
        """What the row answers: library, kernel, k_batch."""
        return self.library, self.kernel, self.k_batch
