"""A layer of experts, or one of its products, on a device: what the walk asks of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ckgen.families.common.problem_finding import ProblemFinding
from ckgen.families.gemm.decode_dialect import CALLER
from ckgen.families.gemm.enums import MoePart
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.query import GemmQuery
from ckgen.families.gemm.row_key import RowKey
from ckgen.families.moe.problem_rules import alike_experts, check_routing, supports_routing
from ckgen.families.moe.row_key import routing_key
from ckgen.model.groups import NO_ROUTING, Routing
from ckgen.model.tuned_row import Shape


@dataclass(frozen=True, slots=True)
class MoeQuery(GemmQuery):
    """M counts tokens, which are sorted with `block_m`, or any where that is 0; N and K are of the first product.

    The routing becomes the batch of `shape`, as in keys.
    """

    routing: Routing = NO_ROUTING
    block_m: int = 0

    def key_shape(self) -> Shape:
        """With the routing."""
        return replace(self.shape, batch=self.routing.lookup_key)

    @property
    def row_key(self) -> RowKey:
        """The routing."""
        return routing_key(self.shape.batch)

    def illegal(self) -> ProblemFinding | None:
        """The first rule that makes the sizes or the routing illegal."""
        return check_routing(self.signature, self.shape, self.routing)

    def supported(self, instance: Instance, k_batch: int) -> ProblemFinding | None:
        """The first demand on sizes, routing or order of tokens that fails."""
        return supports_routing(instance, self.shape, self.routing, self.block_m, k_batch, self.wishes)

    @property
    def cost_shape(self) -> Shape:
        """A batch that is alike."""
        return alike_experts(self.signature, self.shape, self.routing)

    def subject(self) -> str:
        """Its words begin with the op."""
        return self.signature.describe()

    def sizes_text(self) -> str:
        """Sizes, routing and order."""
        blocks = f" block_m={self.block_m}" if self.block_m else ""
        return f"{replace(self.shape, batch=0)} {self.routing}{blocks}"

    def sizes_document(self) -> dict[str, Any]:
        """M, N, K, the routing and block_m."""
        sizes = {"M": self.shape.m, "N": self.shape.n, "K": self.shape.k}
        return sizes | {"experts": self.routing.experts, "top_k": self.routing.top_k, "block_m": self.block_m}

    def declined(self, instance: Instance) -> ProblemFinding | None:
        """By the row of a product's rows of B and K, whatever M and the routing; of a layer by either."""
        shape = self.shape
        for part in instance.parts or (instance,):
            moe, is_turned = part.signature.moe, bool(instance.parts) and part.signature.moe.part is MoePart.DOWN
            n, k = (shape.k, shape.n) if is_turned else (shape.n, shape.k)
            rows = n * (2 if moe.gated else 1)
            found = self.external_of(part.signature, Shape(0, 1, rows, k))
            if found is not None and found[1].library == CALLER:
                return ProblemFinding("moe.declined", rows, k)
        return None
