"""One measured fact of a table of ckgen's own: on this target, for these sizes, the instance of that name won."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ckgen.model.groups import Routing
from ckgen.model.tuned_row import TunedRow


@dataclass(frozen=True, slots=True)
class InstanceRow(TunedRow):
    """A row of a GEMM whose kernel is an instance's name: that tells the signature, Config and Backend.

    `signature` is the canonical name in the row's own cell, equal to the kernel's.
    """

    signature: str

    @property
    def about(self) -> Sequence[Hashable]:
        """The signature."""
        return (self.signature,)


@dataclass(frozen=True, slots=True)
class GroupedInstanceRow(InstanceRow):
    """The same of a grouped GEMM: `shape` is the largest M, N and K of the groups, as in keys of tables.

    `groups` is what the row says of each, for those who measure it again; empty: nothing.
    """

    op: ClassVar[str] = "grouped_gemm"
    groups: str


@dataclass(frozen=True, slots=True)
class MoeInstanceRow(InstanceRow):
    """The same of experts: M counts tokens, N and K are of the first product, the batch is Routing.lookup_key."""

    op: ClassVar[str] = "moe"

    @property
    def sizes(self) -> str:
        """What people read."""
        routing = Routing.of_lookup_key(self.shape.batch)
        sizes = f"tokens={self.shape.m} inter={self.shape.n} model={self.shape.k}"
        return f"{sizes} experts={routing.experts} top_k={routing.top_k}"

    @property
    def named_sizes(self) -> dict[str, object]:
        """The routing in place of its key."""
        routing = Routing.of_lookup_key(self.shape.batch)
        sizes: dict[str, object] = {name: getattr(self.shape, name) for name in "mnk"}
        return sizes | {"experts": routing.experts, "top_k": routing.top_k}
