"""One measured fact of attention: on this target, for these sizes, that kernel won."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar

from ckgen.model.diagnostic import Location
from ckgen.model.fmha_shape import SIZES, FmhaShape
from ckgen.model.op_words import FmhaEntry
from ckgen.model.target import Target


@dataclass(frozen=True, slots=True)
class FmhaRow:
    """A row of a table of attention, adapted. Its kernel is an instance's name, which tells the signature.

    `direction`: forward or backward. `masked`: the row has a mask. `k_batch` counts splits of the keys; None: as many
    as cost least. `us` is microseconds, None where not said.
    """

    op: ClassVar[str] = "fmha"
    module: ClassVar[str] = ""
    library: ClassVar[str] = ""
    error_ratio: ClassVar[float | None] = None
    location: Location
    layer: int
    target: Target
    direction: FmhaEntry
    shape: FmhaShape
    masked: bool
    kernel: str
    k_batch: int | None
    us: float | None

    @property
    def cu_num(self) -> int:
        """The target's."""
        return self.target.cu_num

    @property
    def about(self) -> Sequence[Hashable]:
        """Its kernel's name tells the signature, no cell does."""
        return ()

    @property
    def sizes(self) -> str:
        """What people read."""
        names = (*SIZES, "page_size") if self.shape.page_size else SIZES
        return " ".join(f"{name}={getattr(self.shape, name)}" for name in names)

    @property
    def named_sizes(self) -> dict[str, object]:
        """All fields of the shape."""
        return {one.name: getattr(self.shape, one.name) for one in fields(self.shape)}

    @property
    def answer(self) -> tuple[object, ...]:
        """What the row answers: kernel, k_batch."""
        return self.kernel, self.k_batch
