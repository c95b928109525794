"""ckgen's rules against the device ops' own host code, over many random problems of each kind of instance."""

from __future__ import annotations

from collections import Counter

import pytest
from ck_header_bugs import UPSTREAM, header_bugs
from ck_host_units import KINDS, REFUSED, HostUnit, Kind
from ck_problems import random_problems

from ckgen.families.common.device.unit import Use
from ckgen.families.gemm.device.ck_variants import Spec, variant_of
from ckgen.families.gemm.enums import Quant
from ckgen.families.gemm.problem_rules import supports
from ckgen.model.tuned_row import Shape

pytestmark = [pytest.mark.amd, pytest.mark.cpp, pytest.mark.slow]

COUNT = 20_000
ALL = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.label)


def shape_of(kind: Kind, row: list[int]) -> Shape:
    m, n, k, batch, _ = row
    return Shape(batch if kind.instance.signature.batched else 0, m, n, k)


@ALL
def test_rules_agree_with_the_op(kind: Kind) -> None:
    problems = random_problems(kind, COUNT, seed=20261)
    answers, in_cpp = HostUnit.of(kind).ask(problems), HostUnit.of(kind).supported(problems)
    bugs = [bug for bug in header_bugs() if kind.instance.module in bug.modules]
    seen: Counter[bool] = Counter()
    for row, answer, cpp_rule in zip(problems.tolist(), answers.tolist(), in_cpp.tolist(), strict=True):
        finding = supports(kind.instance.constraints, shape_of(kind, row), row[4])
        assert cpp_rule == (finding.index if finding else 0), f"Python and C++ differ on {row}"
        seen[finding is None] += 1
        if finding is None:
            assert answer >= 0, f"ckgen supports {row}, the op answers {answer}"
        elif answer != REFUSED:
            assert any(bug.covers(kind, row) for bug in bugs), f"the op takes {row} ({answer}), ckgen: {finding.text}"
    assert min(seen[True], seen[False]) > COUNT // 5, "the problems must try both answers"


def reachable(kind: Kind) -> set[int]:
    """Block scale takes K in groups of 128: a K tile of that size has no tail."""
    whole = kind.instance.signature.quant is Quant.BLOCKSCALE and kind.instance.config.macro_tile.k <= 128
    k_padded = {Spec.K, Spec.MK, Spec.NK, Spec.MNK} if kind.instance.module == "a8w8_blockscale" else set()
    return {i for i, variant in enumerate(kind.variants) if not (whole and variant.spec in k_padded)}


@ALL
def test_the_op_takes_the_variant_that_the_rules_name(kind: Kind) -> None:
    problems = random_problems(kind, COUNT, seed=20262)
    used: set[int] = set()
    for row, answer in zip(problems.tolist(), HostUnit.of(kind).ask(problems).tolist(), strict=True):
        if answer < 0:
            continue
        expected = variant_of(kind.instance, Use(shape_of(kind, row), row[4]))
        assert expected == kind.variants[answer], row
        used.add(answer)
    assert used == reachable(kind), "every variant is reached"


@pytest.mark.parametrize("bug", header_bugs(), ids=lambda bug: bug.id)
def test_each_exception_is_needed(bug) -> None:  # type: ignore[no-untyped-def]
    """The op still takes what it should not; where a newer tree refuses it, the exception goes."""
    assert (UPSTREAM / bug.document).is_file()
    taken = 0
    for kind in KINDS:
        if kind.instance.module in bug.modules:
            problems = random_problems(kind, COUNT, seed=20261)
            answers = HostUnit.of(kind).ask(problems)
            taken += sum(bug.covers(kind, row) for row in problems[answers >= 0].tolist())
    assert taken > 0
