from __future__ import annotations

from ckgen.model.finding import RuleFinding
from ckgen.rules.checks import broken, exceeds, first, no_multiple, not_among, tile_bytes


def test_a_finding_reads_as_a_sentence() -> None:
    assert str(RuleFinding("ck.x", "bytes of LDS", 3, 2)) == "ck.x: bytes of LDS (3, limit 2)"


def test_helpers_at_their_limits() -> None:
    assert exceeds(2, 2, "") is None
    assert exceeds(3, 2, "bytes") == RuleFinding("", "bytes", 3, 2)
    assert no_multiple(4, 2, "") is None
    assert all(no_multiple(*bad, "") for bad in ((3, 2), (0, 2), (-2, 2), (2, 0)))
    assert not_among("a", ("a",), "") is None
    found = not_among("b", (), "")
    assert found is not None and found.limit == "none"


def test_one_is_a_grain_and_a_measure() -> None:
    assert no_multiple(3, 1, "") is None and no_multiple(1, 1, "") is None


def test_the_first_finding_that_there_is() -> None:
    found = broken("bytes", 3, 2)
    assert first(None, found, broken("words", 4, 2)) is found
    assert first(None, None) is None


def test_bytes_of_packed_tiles() -> None:
    """Elements of 4 bits lie in pairs; 3 x 6 of 4 bits are 9 bytes."""
    assert [tile_bytes(3, 6, bits) for bits in (4, 8, 16, 32)] == [9, 18, 36, 72]
    assert tile_bytes(128, 64, 16) == 16384
