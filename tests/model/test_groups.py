"""Sizes of groups: what is asked of them, over those that do something."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckgen.model.groups import MOST, Groups, GroupSize, Routing

SIZES = st.lists(st.builds(GroupSize, *[st.integers(0, 90)] * 3), max_size=7)


@given(SIZES, st.integers(1, 9), st.integers(1, 9))
def test_groups_that_do_nothing_do_not_count(sizes: list[GroupSize], tile_m: int, tile_n: int) -> None:
    groups, busy = Groups.of(sizes), [size for size in sizes if size.m and size.n]
    assert groups.is_valid and (groups.count, groups.busy, groups.are_on_device) == (len(sizes), len(busy), False)
    for axis in ("m", "n", "k"):
        values = [getattr(size, axis) for size in busy]
        common = [d for d in range(1, 91) if all(value % d == 0 for value in values)]
        assert getattr(groups.largest, axis) == max(values, default=0)
        assert getattr(groups.smallest, axis) == min(values, default=0)
        assert getattr(groups.divisor, axis) == (max(common) if any(values) else 0)
    assert groups.rows == sum(size.m for size in busy)
    assert groups.largest_a == max((size.m * size.k for size in busy), default=0)
    assert groups.largest_b == max((size.n * size.k for size in busy), default=0)
    assert groups.largest_c == max((size.m * size.n for size in busy), default=0)
    cells = {(at, m // tile_m, n // tile_n) for at, s in enumerate(busy) for m in range(s.m) for n in range(s.n)}
    assert groups.tiles(tile_m, tile_n) == len(cells)


def test_rows_on_the_device_are_known_only_as_a_bound() -> None:
    groups = Groups.on_device(5, 100, 48, 64)
    assert (groups.count, groups.busy, groups.rows, groups.are_on_device) == (5, 5, 500, True)
    assert groups.largest == GroupSize(100, 48, 64)
    assert groups.smallest == groups.divisor == GroupSize(1, 48, 64)
    assert groups.tiles(64, 32) == 5 * 2 * 2
    assert str(groups) == "5 groups of at most 100x48x64 on the device"
    nothing = Groups.on_device(0, 100, 48, 64)
    assert nothing.is_valid and nothing.busy == nothing.rows == 0 and nothing.divisor == GroupSize(0, 0, 0)


def test_sizes_that_are_negative_or_beyond_64_bits_are_not_valid() -> None:
    assert not Groups.of([GroupSize(1, 1, 1), GroupSize(1, -1, 1)]).is_valid
    assert not Groups.of([GroupSize(2**40, 1, 2**23)]).is_valid
    assert Groups.of([GroupSize(2**40, 1, 2**22)]).is_valid
    assert not Groups.of([GroupSize(2**62, 1, 0)] * 2).is_valid
    assert Groups.of([GroupSize(2**62, 1, 0)] * 2).rows == MOST
    assert not Groups.on_device(-1, 1, 1, 1).is_valid


def test_the_greatest_size_is_that_of_a_signed_number_of_64_bits() -> None:
    assert struct.unpack("<q", struct.pack("<q", MOST)) == (MOST,)
    with pytest.raises(struct.error):
        struct.pack("<q", MOST + 1)


SEVENTH = MOST // 7
REACHING = {
    "rows": lambda less: [GroupSize(2**62, 1, 0), GroupSize(2**62 - 1 - less, 1, 0)],
    "A": lambda less: [GroupSize(7, 1, SEVENTH - less)],
    "B": lambda less: [GroupSize(1, 7, SEVENTH - less)],
    "C": lambda less: [GroupSize(7, SEVENTH - less, 0)],
}
"""Sizes that only one sum or product makes the greatest number."""


@pytest.mark.parametrize("of", REACHING)
def test_sums_and_products_are_valid_below_the_greatest_number(of: str) -> None:
    assert SEVENTH * 7 == MOST
    groups = Groups.of(REACHING[of](0))
    found = {"rows": groups.rows, "A": groups.largest_a, "B": groups.largest_b, "C": groups.largest_c}
    assert [name for name, value in found.items() if value == MOST] == [of]
    assert not groups.is_valid and Groups.of(REACHING[of](1)).is_valid


def test_products_saturate_each_on_its_own() -> None:
    groups = Groups.of([GroupSize(2**40, 2**10, 2**30)])
    assert (groups.largest_a, groups.largest_b, groups.largest_c, groups.rows) == (MOST, 2**40, 2**50, 2**40)
    assert (groups.tiles(1, 1), Groups.of([GroupSize(2**40, 2**40, 1)]).tiles(1, 1)) == (2**50, MOST)
    assert (Groups.on_device(4, 2**61 - 1, 1, 1).rows, Groups.on_device(4, 2**61, 1, 1).rows) == (2**63 - 4, MOST)


@pytest.mark.parametrize("size", [GroupSize(-1, 1, 1), GroupSize(1, -1, 1), GroupSize(1, 1, -1)])
def test_a_group_with_a_negative_size_does_nothing(size: GroupSize) -> None:
    groups = Groups.of([size, GroupSize(2, 3, 4)])
    assert (groups.count, groups.busy, groups.largest, groups.is_valid) == (2, 1, GroupSize(2, 3, 4), False)
    assert Groups.on_device(-1, 2, 3, 4).busy == 0


def test_a_routing_is_a_batch_of_its_own() -> None:
    assert Routing(256, 8).lookup_key == 256 << 16 | 8
    assert len({Routing(e, k).lookup_key for e in range(1, 60) for k in range(1, 60)}) == 59 * 59


@given(st.integers(0, 2**47 - 1), st.integers(0, 2**16 - 1))
def test_a_routing_is_found_again_in_its_key(experts: int, top_k: int) -> None:
    assert Routing.of_lookup_key(Routing(experts, top_k).lookup_key) == Routing(experts, top_k)
    assert Routing.of_lookup_key(0xABCD0005 << 16 | 0xFFFF) == Routing(0xABCD0005, 0xFFFF)
