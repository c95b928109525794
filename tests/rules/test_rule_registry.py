"""The registry: ids, contracts, order, and which rules judge whom."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ckgen.model.backend import Backend
from ckgen.model.finding import Finding
from ckgen.rules import all_rules
from ckgen.rules.registry import exceeds, no_multiple, not_among, rule


def test_rules_are_listed_by_id_with_contract_and_source() -> None:
    rules = all_rules()
    assert [one.id for one in rules] == sorted({one.id for one in rules})
    for one in rules:
        assert one.id.split(".")[0] == one.backend.value
        assert one.contract.endswith(".") and one.source


def test_an_id_is_given_once_and_belongs_to_its_backend() -> None:
    taken = all_rules()[0]
    for rule_id, backend in ((taken.id, taken.backend), ("ck.new", Backend.CK_TILE)):
        with pytest.raises(ValueError, match="is taken or not of backend"):
            rule(rule_id, backend=backend, source="test")(taken.check)


def test_a_finding_reads_as_a_sentence() -> None:
    assert str(Finding("ck.x", "bytes of LDS", 3, 2)) == "ck.x: bytes of LDS (3, limit 2)"


def test_helpers_at_their_limits() -> None:
    assert exceeds(2, 2, "") is None
    assert exceeds(3, 2, "bytes") == Finding("", "bytes", 3, 2)
    assert no_multiple(4, 2, "") is None
    assert all(no_multiple(*bad, "") for bad in ((3, 2), (0, 2), (-2, 2), (2, 0)))
    assert not_among("a", ("a",), "") is None
    found = not_among("b", (), "")
    assert found is not None and found.limit == "none"


def test_the_order_of_rules_does_not_depend_on_hash_seeds() -> None:
    program = "from ckgen.rules import all_rules; print([r.id for r in all_rules()])"
    outputs = set()
    for seed in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        outputs.add(done.stdout)
    assert len(outputs) == 1
