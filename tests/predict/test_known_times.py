"""Factors of single kernels: of the times that a set knows of all kernels, without the layers that are held out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ckgen.cli.predict_input import weighed_sets
from ckgen.families.gemm.predicted.constants import fitted_that_chooses
from ckgen.families.gemm.predicted.gpu_time import GpuConstants, Own
from ckgen.families.gemm.predicted.gpu_work import kernel_of
from ckgen.model.tuned_row import Shape
from ckgen.paths import root
from ckgen.predict.arrays import Weighed
from ckgen.predict.known_times import with_own_factors
from ckgen.predict.measured import with_timed_problems

TABLE = root() / "tuning" / "ckgen" / "hopper_fp8_tuned_gemm.csv"
OWN = (Own(), Own(launch=1.2), Own(matrix=1.3, store=0.8), Own(launch=0.9, tile=1.5))
NOBODY: frozenset[tuple[int, int]] = frozenset()


@pytest.fixture(scope="module")
def plain() -> Weighed:
    """The H200's rows, in which no loser's time is known."""
    ((_, one),) = weighed_sets({"arch": "sm_90a", "module": "a8w8_blockscale", "tables": (TABLE,)})
    return one


def without_own(one: Weighed) -> GpuConstants:
    fitted = fitted_that_chooses(*one.found.kind)
    assert fitted is not None
    return replace(fitted.constants, own={})


def timed(one: Weighed, own: dict[str, Own], slower: float = 1.0) -> Weighed:
    """All kernels took what they are predicted to with such factors; in every second layer so much more."""
    us = one.predicted(replace(without_own(one), own=own))
    names = [(instance.name, k_batch) for instance, k_batch in one.found.candidates]
    layers = second_layers(one)
    lost = {
        replace(row.shape, batch=1): {
            name: float(time) * (slower if (row.shape.n, row.shape.k) in layers and at == 0 else 1.0)
            for at, (name, time) in enumerate(zip(names, times, strict=True))
        }
        for row, times in zip(one.found.rows, us, strict=True)
    }
    return Weighed(one.found, one.chip, lost)


def second_layers(one: Weighed) -> frozenset[tuple[int, int]]:
    return frozenset(sorted({(row.shape.n, row.shape.k) for row in one.found.rows})[::2])


def test_factors_by_which_times_were_made_are_found_again(plain: Weighed) -> None:
    kernels = [kernel_of(instance.config) for instance, _ in plain.found.candidates]
    own = dict(zip(kernels, OWN, strict=False))
    known, constants = timed(plain, own), without_own(plain)
    found = with_own_factors([known], NOBODY, constants)
    near = known.took <= 1.5 * known.fastest[:, None]
    for column, kernel in enumerate(kernels[: len(OWN)]):
        rows = np.nonzero(near[:, column])[0]
        assert len(rows) > 50, kernel
        times = known.of_candidate(column, rows, found)
        assert np.abs(np.log(times / known.took[rows, column])).max() < 0.02, kernel
    assert found.kernels == constants.kernels and found.matrix == constants.matrix


def test_layers_that_are_held_out_have_no_part_in_them(plain: Weighed) -> None:
    held, constants = second_layers(plain), without_own(plain)
    usual, slower = (with_own_factors([timed(plain, {}, by)], held, constants) for by in (1.0, 1.4))
    assert usual == slower
    assert with_own_factors([timed(plain, {}, 1.4)], NOBODY, constants) != usual


def test_a_kernel_of_few_times_has_none(plain: Weighed) -> None:
    assert with_own_factors([plain], NOBODY, without_own(plain)).own == {}


def test_timed_problems_of_the_layers_of_a_set_are_rows_of_it(plain: Weighed) -> None:
    """Their winner is the fastest of the set's own kernels; other layers and sizes that have a row add none."""
    first, *_ = plain.found.rows
    (fast, _), (slow, _) = plain.found.candidates[3], plain.found.candidates[1]
    times = {(fast.name, 1): 5.0, (slow.name, 1): 6.0, ("another", 1): 1.0}
    new = Shape(1, 77, first.shape.n, first.shape.k)
    known = {new: times, replace(new, n=8): times, replace(first.shape, batch=1): times, replace(new, m=78): {}}
    found = with_timed_problems(plain.found, known)
    assert found.rows[:-1] == plain.found.rows
    added = found.rows[-1]
    assert (added.shape, added.us, added.winner, added.file) == (replace(new, batch=0), 5.0, 3, first.file)
