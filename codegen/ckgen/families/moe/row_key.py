"""What tells ladders of experts apart beside N and K: the routing, which stands in the batch of their keys."""

from __future__ import annotations

from ckgen.families.gemm.row_key import RowKey
from ckgen.model.groups import Routing


def routing_key(batch: int) -> RowKey:
    """That of a routing in one number; 0 where rows are for any routing."""
    if not batch:
        return RowKey()
    routing = Routing.of_lookup_key(batch)
    words = (("experts", routing.experts), ("top_k", routing.top_k))
    return RowKey(words, f"ckgen::Routing{{{routing.experts}, {routing.top_k}}}.lookup_key()")
