"""Target: a plain ordered value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckgen.model.target import Target

TARGETS = st.builds(Target, st.sampled_from(["gfx90a", "gfx942", "gfx950", "x86_64_v3"]), st.integers(1, 512))


def test_text_is_gfx_and_count() -> None:
    assert str(Target("gfx942", 304)) == "gfx942:304"


def test_counts_order_as_numbers() -> None:
    assert Target("gfx942", 80) < Target("gfx942", 304) < Target("gfx950", 128)


def test_targets_are_frozen() -> None:
    with pytest.raises(AttributeError):
        Target("gfx942", 304).cu_num = 80  # type: ignore[misc]


@given(TARGETS, TARGETS)
def test_equal_text_is_equal_target(one: Target, other: Target) -> None:
    assert (str(one) == str(other)) == (one == other)
    assert (one == other) <= (hash(one) == hash(other))
