"""Attention as `ckgen fuzz` judges it: results that are wrong on purpose are told, at every problem that it draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from planted_fmha import TILE, attention, planted

from ckgen.families.common.sensitivity import Sensitivity
from ckgen.families.common.storage import encode
from ckgen.families.fmha.enums import FmhaEntry
from ckgen.families.fmha.operands import FmhaOperands
from ckgen.families.fmha.problem import check_problem
from ckgen.families.fmha.reference import expect
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.fuzz.case import Data
from ckgen.fuzz.decide import signature_of
from ckgen.fuzz.draw import case_of
from ckgen.fuzz.fmha import FmhaWork, operands_of, wrong_attention
from ckgen.fuzz.fmha_sizes import shape_of
from ckgen.fuzz.space import Space

CASES, SEED, MOST_WORK = 60, 7, 1 << 21


def problems(space: Space, data: Data) -> Iterator[FmhaOperands]:
    """Those of legal, small cases."""
    found = 0
    for index in range(20 * CASES):
        case = replace(case_of(space, SEED, index), data=data)
        signature = signature_of(space, case)
        if not isinstance(signature, FmhaSignature):
            continue
        is_plain = signature.c.bits <= 32 and signature.traits.entry is FmhaEntry.FORWARD
        if not is_plain or check_problem(signature, shape_of(signature, case)) is not None:
            continue
        decision: Any = SimpleNamespace(signature=signature, query=SimpleNamespace(shape=shape_of(signature, case)))
        if min(case.m, case.n) < 1 or not FmhaWork(case, decision).is_small(MOST_WORK, 1 << 21, 1 << 37):
            continue
        yield operands_of(case, decision)
        found += 1
        if found == CASES:
            return
    raise AssertionError(f"only {found} cases")


@pytest.fixture(scope="module")
def exact(attention: Space) -> list[FmhaOperands]:
    return list(problems(attention, Data.INTEGERS))


def test_every_planted_error_is_told(exact: list[FmhaOperands]) -> None:
    """Wrong results that are right after all are no errors: few are."""
    told: Counter[str] = Counter()
    same: Counter[str] = Counter()
    missed = []
    for operands in exact:
        expected, right = expect(operands), attention(operands)
        lse = operands.signature.traits.lse
        assert not wrong_attention(expected, right.o, right.lse if lse else None)
        for what, found in planted(operands):
            if found.same(right if lse else replace(right, lse=found.lse)):
                same[what] += 1
            elif wrong_attention(expected, found.o, found.lse if lse else None):
                told[what] += 1
            else:
                missed.append((what, operands.signature.canonical(), operands.shape))
    assert not missed
    assert len(told) >= 12 and sum(same.values()) < 0.06 * sum(told.values()), (told, same)


def test_the_last_bit_of_an_element_counts(exact: list[FmhaOperands]) -> None:
    shares = []
    for operands in exact:
        expected, right = expect(operands), attention(operands)
        is_one = (expected.o.bound == 0) & (expected.o.c != 0)
        counted = np.isfinite(expected.o.bound) & (expected.o.c != 0)
        shares.append(is_one.sum() / max(counted.sum(), 1))
        if is_one.any():
            at = tuple(np.argwhere(is_one)[-1])
            off = right.o.copy()
            off.view(f"u{off.itemsize}")[at] ^= 1
            assert wrong_attention(expected, off, None).startswith("O[")
    assert np.median(shares) > 0.9, sorted(shares)


def test_the_bound_of_exact_data_is_a_rounding_or_two(exact: list[FmhaOperands]) -> None:
    """Of O's type, and of fp32 what its own operations lose: more where a bias and 8-bit operands make scores of some
    hundreds, whose last bits exp raises to a part of its result."""
    for operands in exact:
        expected = expect(operands).o
        signature = operands.signature
        ulp = {32: 2.0**-11, 16: 2.0**-6, 8: 2.0**-1}[signature.c.bits]
        ulp *= 4 if signature.a.bits == 8 and signature.c.bits == 32 else 1
        counted = np.isfinite(expected.bound)
        found = Sensitivity.of(expected.c[counted], expected.bound[counted])
        assert not found.worst > ulp, (signature.canonical(), found, operands.shape)


def test_four_bounds_of_the_largest_element_of_a_tile_are_told_on_random_data(attention: Space) -> None:
    for operands in problems(attention, Data.RANDOM):
        expected = expect(operands)
        tile = (slice(0, 1), slice(0, min(TILE, operands.lengths.q[0])), slice(0, 1), slice(0, TILE))
        c, bound = expected.o.c[tile], expected.o.bound[tile]
        if not np.isfinite(bound).all() or not bound.size:
            continue
        largest = np.unravel_index(np.abs(c).argmax(), c.shape)
        off = expected.o.c.copy()
        off[largest] += 4 * bound[largest] + 2.0**-60
        assert wrong_attention(expected, off.astype(np.float32), None) or np.abs(off[largest]) < 2.0**-60
        assert not wrong_attention(expected, encode(expected.o.c, operands.signature.c), None)
