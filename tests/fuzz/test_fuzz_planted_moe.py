"""Experts as `ckgen fuzz` judges them: results that are wrong on purpose are told, at every problem that it draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ckgen.families.common.sensitivity import Sensitivity
from ckgen.families.common.storage import Storage, Values, encode
from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.moe.problem_rules import check_routing
from ckgen.families.moe.reference import MoeOperands, Weights, expect
from ckgen.fuzz.case import Data
from ckgen.fuzz.decide import signature_of
from ckgen.fuzz.draw import case_of
from ckgen.fuzz.moe import MoeWork, operands_of, routing_of, wrong_layer
from ckgen.fuzz.prepare import inputs_of
from ckgen.fuzz.space import Space
from ckgen.model.tuned_row import Shape

CASES, SEED, MOST_WORK, TILE = 60, 7, 1 << 21, 16


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Space:
    return inputs_of(("moe",), tmp_path_factory.mktemp("moe")).space()


def problems(space: Space, data: Data) -> Iterator[MoeOperands]:
    """Those of legal, small cases."""
    found = 0
    for index in range(20 * CASES):
        case = replace(case_of(space, SEED, index), data=data)
        signature = signature_of(space, case)
        if not isinstance(signature, GemmSignature):
            continue
        legal = signature.op is Op.MOE and min(case.m, case.n, case.k) > 0
        if not legal or check_routing(signature, Shape(0, case.m, case.n, case.k), routing_of(case)) is not None:
            continue
        decision: Any = SimpleNamespace(signature=signature)
        if not MoeWork(case, decision).is_small(MOST_WORK, 1 << 21, 1 << 37):
            continue
        yield operands_of(signature, case)
        found += 1
        if found == CASES:
            return
    raise AssertionError(f"only {found} cases")


def result(operands: MoeOperands) -> Storage:
    """What a kernel gives that errs nowhere."""
    return encode(expect(operands).c, operands.signature.c)


def planted(operands: MoeOperands) -> Iterator[tuple[str, Storage]]:
    """Wrong results by what is wrong; few of them are right after all."""
    right, c = result(operands), operands.signature.c
    exact = np.asarray(right, np.float64)
    half, step = operands.size.k // 2, min(32, operands.size.k)
    for what, columns in (("a split", slice(half, None)), ("a step of K", slice(-step, None))):
        a = operands.a.copy()
        a[:, columns] = 0
        yield f"{what} is dropped", result(replace(operands, a=a))
    if operands.w1 is not None and operands.w2 is not None:
        values = operands.w2.values.copy()
        values[:, -min(32, values.shape[1]) :] = 0
        yield "a step of down is dropped", result(replace(operands, w2=replace(operands.w2, values=values)))
    places = np.argwhere(exact)
    if len(places):
        one = tuple(places[len(places) // 2])
        zeroed, flipped = right.copy(), exact.copy()
        zeroed[tuple(slice(at // TILE * TILE, (at // TILE + 1) * TILE) for at in one)] = 0
        flipped[one] = -flipped[one]
        yield "a tile is zero", zeroed
        yield "a sign is flipped", encode(flipped, c)
        yield "all is 1.004 times as much", encode(1.004 * exact, c)
    if operands.a_scale is not None and operands.a_scale.size > 1:
        yield "two scales of A are swapped", result(replace(operands, a_scale=swapped(operands.a_scale)))
    used = int(operands.ids[0, 0])
    for name in ("w1", "w2"):
        weights: Weights | None = getattr(operands, name)
        if weights is not None and weights.scales is not None and weights.scales[used].size > 1:
            scales = weights.scales.copy()
            scales[used] = swapped(scales[used])
            change: Any = {name: replace(weights, scales=scales)}
            yield f"two scales of {name} are swapped", result(replace(operands, **change))
    if operands.size.routing.experts > 1:
        other = (operands.ids + 1) % operands.size.routing.experts
        yield "experts are others", result(replace(operands, ids=other.astype(np.int32)))
    if operands.size.routing.top_k > 1 and operands.signature.moe.part.value != "gate_up":
        weights_of = operands.weights.copy()
        weights_of[0, [0, 1]] = weights_of[0, [1, 0]]
        yield "two routing weights are swapped", result(replace(operands, weights=weights_of))


def swapped(scales: Values) -> Values:
    """The first two that differ are exchanged."""
    found = scales.reshape(-1).copy()
    other = int(np.argmax(found != found[0]))
    found[[0, other]] = found[[other, 0]]
    return found.reshape(scales.shape)


@pytest.fixture(scope="module")
def exact(space: Space) -> list[MoeOperands]:
    return list(problems(space, Data.INTEGERS))


def test_every_planted_error_is_told(exact: list[MoeOperands]) -> None:
    """Wrong results that are right after all are no errors: few are."""
    told: Counter[str] = Counter()
    same: Counter[str] = Counter()
    missed = []
    for operands in exact:
        expected, right = expect(operands), result(operands)
        assert not wrong_layer(expected, right)
        for what, found in planted(operands):
            if np.array_equal(found, right):
                same[what] += 1
            elif wrong_layer(expected, found):
                told[what] += 1
            else:
                missed.append((what, operands.signature.canonical(), operands.size))
    assert not missed
    assert len(told) >= 10 and sum(same.values()) < 0.05 * sum(told.values()), (told, same)


@pytest.mark.parametrize("adds_in_c", [False, True])
def test_the_last_bit_of_an_element_counts(exact: list[MoeOperands], adds_in_c: bool) -> None:
    """However the slots of a token are added; the few elements of which C's type holds no sum have a bound."""
    for operands in exact:
        expected, right = expect(operands, adds_in_c), result(operands)
        tiny = np.abs(expected.c) * 2.0**-60
        is_one = (expected.bound <= tiny) & (expected.c != 0)
        assert is_one.sum() >= 0.85 * (expected.c != 0).sum(), (operands.signature.canonical(), operands.size)
        if is_one.any():
            off = right.copy()
            off.view(f"u{off.itemsize}")[tuple(np.argwhere(is_one)[-1])] ^= 1
            assert wrong_layer(expected, off)
        assert Sensitivity.of(expected.c, expected.bound).median < 2.0**-60 or not expected.c.any()


def test_four_bounds_of_the_largest_element_of_a_tile_are_told_on_random_data(space: Space) -> None:
    for operands in problems(space, Data.RANDOM):
        expected = expect(operands)
        c, bound = expected.c[:TILE, :TILE], expected.bound[:TILE, :TILE]
        if not np.isfinite(bound).all():
            continue
        largest = np.unravel_index(np.abs(c).argmax(), c.shape)
        off = expected.c.copy()
        off[largest] += 4 * bound[largest]
        assert wrong_layer(expected, off.astype(np.float32))
        assert not wrong_layer(expected, result(operands))
