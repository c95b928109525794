"""Profiles of Hypothesis: `recorded`, few examples and always the same ones, or `explore`, many fresh ones."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("recorded", deadline=None, derandomize=True, database=None, print_blob=True)
settings.register_profile("explore", deadline=None, max_examples=5000, print_blob=True)
settings.load_profile("recorded")


def examples(count: int) -> int:
    """`count` where the profile's own number is the usual 100, else in proportion."""
    return max(1, count * settings.default.max_examples // 100)
