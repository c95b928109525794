"""The conditions that a rule may be made of: every feature, of every tile that some kernel has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ckgen.families.common.decision_rule import Asked, Comparison, Condition, Feature, value_of

if TYPE_CHECKING:
    import numpy.typing as npt

_PLAIN = (Feature.M, Feature.N, Feature.K, Feature.MN)


@dataclass(frozen=True, slots=True)
class FeatureOfTile:
    """A feature with the tile that it is of, 0 x 0 where it has none."""

    feature: Feature
    tile_m: int = 0
    tile_n: int = 0

    def value(self, asked: Asked) -> int:
        """As the rule will see it."""
        return value_of(self.feature, asked, self.tile_m, self.tile_n)

    def at_most(self, limit: int) -> Condition:
        """Holds up to the limit."""
        return Condition(self.feature, Comparison.AT_MOST, limit, self.tile_m, self.tile_n)


def features_of(tiles: Sequence[tuple[int, int]]) -> tuple[FeatureOfTile, ...]:
    """Sizes, and of each tile how many there are, in how many waves, and what of them is filled and padded."""
    found = [FeatureOfTile(feature) for feature in _PLAIN]
    for feature in (Feature.TILES, Feature.WAVES, Feature.FILL):
        found += [FeatureOfTile(feature, *tile) for tile in tiles]
    found += [FeatureOfTile(Feature.PAD, tile_m) for tile_m in sorted({tile_m for tile_m, _ in tiles})]
    return tuple(found)


def matrix(features: Sequence[FeatureOfTile], asked: Sequence[Asked]) -> npt.NDArray[Any]:
    """A row for each problem, a column for each feature."""
    import numpy as np

    return np.array([[feature.value(one) for feature in features] for one in asked], dtype=np.float64)
