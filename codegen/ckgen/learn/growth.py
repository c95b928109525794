"""How far a tree grows, and what it is written as."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ckgen.families.common.decision_rule import Leaf

Fitted = Mapping[str, Any]
"""A rule's `leaves` and `tree`, as parse_rule reads them."""


@dataclass(frozen=True, slots=True)
class Growth:
    """How far a tree grows.

    leaves: at most so many. least: examples of a leaf. unsure: a leaf whose most frequent winner has a smaller share of
    its examples has no answer, and the tiers below it do; where costs are known, one whose kernel loses a larger part
    in the geometric mean.
    """

    leaves: int = 48
    least: int = 3
    unsure: float = 0.25


def leaf_document(leaf: Leaf) -> dict[str, Any]:
    """As parse_rule reads it."""
    splits = {"k_batch": leaf.k_batch} if leaf.k_batch > 1 else {}
    return {"library": leaf.library, "kernel": leaf.kernel} | splits
