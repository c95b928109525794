"""Kinds of few rows: their level is fitted alone, and their twins in or without batches stand in for them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ckgen.cli.predict_input import weighed_sets
from ckgen.families.gemm.predicted.constants import LEAST_ROWS, constants_for, mean_of_others, shipped, standing_in
from ckgen.predict.arrays import Weighed
from ckgen.predict.fit import fit
from ckgen.predict.level import LEAST

KIND = ("gfx942", "batched_bf16", "bf16")


@pytest.fixture(scope="module")
def few() -> Weighed:
    ((one,),) = weighed_sets({"arch": KIND[0], "module": KIND[1], "tables": ()})
    return one


def longer(one: Weighed, factor: float, rows: int) -> Weighed:
    return Weighed(
        replace(one.found, rows=tuple(replace(row, us=row.us * factor) for row in one.found.rows[:rows])), one.chip
    )


def test_of_few_rows_the_level_is_fitted(few: Weighed) -> None:
    assert LEAST <= len(few.found.rows) < LEAST_ROWS
    usual, other = fit([few]), fit([longer(few, 1.5, 99)])
    assert usual is not None and other is not None
    assert (other.latency / usual.latency, usual.cache / other.cache) == pytest.approx((1.5, 1.5), rel=1e-3)
    rows = few.found.rows
    won = few.predicted(usual)[np.arange(len(rows)), [row.winner for row in rows]]
    assert np.median(won / [row.us for row in rows]) == pytest.approx(1.0, abs=0.02)
    assert usual == constants_for(*KIND).constants, "what ships"
    base = mean_of_others(*KIND).constants
    assert usual.pipelines == base.pipelines and usual.apart == base.apart


def test_of_fewer_there_is_none(few: Weighed) -> None:
    assert fit([longer(few, 1.0, LEAST)]) is not None
    assert fit([longer(few, 1.0, LEAST - 1)]) is None


def test_layers_that_are_held_out_have_no_part_in_it(few: Weighed) -> None:
    layer = (8192, 1024)
    held = [replace(row, us=row.us * 9) if row.layer[1:] == layer else row for row in few.found.rows]
    assert fit([Weighed(replace(few.found, rows=tuple(held)), few.chip)], frozenset({layer})) == fit(
        [few], frozenset({layer})
    )


def test_the_same_kernels_in_batches_stand_in() -> None:
    own = {one.kind: one for one in shipped()}
    for module, twin in (("a8w8", "batched_a8w8"), ("batched_a8w8", "a8w8")):
        assert standing_in("gfx942", module, "int8").constants == own["gfx942", twin, "int8"].constants
    ranked = own["gfx950", "a8w8", "int8"].constants
    assert ranked.kernels and not standing_in("gfx950", "batched_a8w8", "int8").constants.kernels
