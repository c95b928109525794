"""Groups of GEMMs on a device: what the walk asks of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ckgen.families.common.problem_finding import ProblemFinding
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.query import GemmQuery
from ckgen.families.grouped_gemm.problem_rules import alike_groups, check_groups, supports_groups
from ckgen.model.groups import Groups
from ckgen.model.tuned_row import Shape

NO_SHAPE = Shape(0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class GroupedGemmQuery(GemmQuery):
    """`shape` becomes the largest sizes of the groups. None: a problem without any, which is illegal."""

    groups: Groups | None = None

    def key_shape(self) -> Shape:
        """The largest sizes."""
        if self.groups is None:
            return GemmQuery.key_shape(self)
        largest = self.groups.largest
        return Shape(0, largest.m, largest.n, largest.k)

    def illegal(self) -> ProblemFinding | None:
        """The first rule that makes the groups illegal."""
        return check_groups(self.signature, self.groups)

    def supported(self, instance: Instance, k_batch: int) -> ProblemFinding | None:
        """The first demand that a group fails."""
        assert self.groups is not None
        return supports_groups(instance.constraints, self.groups, k_batch, self.wishes)

    @property
    def cost_shape(self) -> Shape:
        """A batch that is alike."""
        assert self.groups is not None
        return alike_groups(self.groups)

    def subject(self) -> str:
        """Its words begin with the op."""
        return self.signature.describe()

    def sizes_text(self) -> str:
        """The groups, or what stands in their place."""
        return str(self.groups or self.shape)

    def sizes_document(self) -> dict[str, Any]:
        """Each group's, or how many there are on the device and the most rows of one."""
        assert self.groups is not None
        sizes = [{"M": size.m, "N": size.n, "K": size.k} for size in self.groups.sizes]
        return {"count": self.groups.count, "most": sizes[0]} if self.groups.are_on_device else {"groups": sizes}
