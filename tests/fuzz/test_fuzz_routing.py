"""Where tokens go, and how they lie when they are sorted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ckgen.fuzz.case import Case, Route
from ckgen.fuzz.routing import ids_of, sorted_tokens
from ckgen.model.groups import Routing

CASE = Case("moe_fp32_rcr_down", "x86_64_v3:2", m=400, experts=8, top_k=2, seed=1)


@pytest.mark.parametrize("route", [*Route])
def test_each_token_goes_to_different_experts(route: Route) -> None:
    ids = ids_of(replace(CASE, route=route))
    assert ids.shape == (400, 2) and ids.min() >= 0 and ids.max() < 8
    assert (ids[:, 0] != ids[:, 1]).all()


def test_routes_are_what_they_say() -> None:
    rows = {route: sorted(np.bincount(ids_of(replace(CASE, route=route)).reshape(-1), minlength=8)) for route in Route}
    assert rows[Route.UNIFORM][0] > 60
    assert rows[Route.SKEWED][0] < 10 and rows[Route.SKEWED][-1] > 250
    assert rows[Route.ONE] == [0] * 6 + [400] * 2
    assert rows[Route.SOME][:4] == [0] * 4 and rows[Route.SOME][4] > 100


def test_sorted_tokens_are_padded_to_blocks() -> None:
    ids = np.array([[2, 0], [2, 1], [2, 0]], np.int32)
    weights = np.arange(1, 7, dtype=np.float32).reshape(3, 2)
    entries, own, experts, valid = sorted_tokens(ids, weights, Routing(4, 2), 2)
    slot, padding = 1 << 24, 2 << 24 | 3
    assert entries.tolist() == [slot, slot | 2, slot | 1, padding, 0, 1, 2, padding]
    assert own.tolist() == [2, 6, 4, 0, 1, 3, 5, 0]
    assert experts.tolist() == [0, 1, 2, 2] and valid.tolist() == [8, 3]
