from __future__ import annotations

from ckgen.model.finding import RuleFinding
from ckgen.rules.checks import exceeds, no_multiple, not_among


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
