from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckgen.families.fmha.enums import FmhaCorner
from ckgen.families.fmha.mask import FmhaMask, Visible, parse_mask
from ckgen.families.fmha.mask_runs import picture, runs
from ckgen.model.errors import UsageError
from ckgen.model.fmha_shape import FmhaShape

masks = st.builds(
    FmhaMask, st.sampled_from(FmhaCorner), st.integers(-1, 9), st.integers(-1, 9), st.sampled_from((0, 0, 1, 2, 5, 12))
)
problems = st.builds(Visible, masks, st.integers(0, 14), st.integers(0, 14))


def by_definition(visible: Visible) -> np.ndarray:
    """The formula of fmha.hpp, element by element."""
    mask = visible.mask
    shift = 0 if mask.corner is FmhaCorner.TOP_LEFT else visible.length_k - visible.length_q
    found = np.zeros((visible.length_q, visible.length_k), bool)
    for i in range(visible.length_q):
        for j in range(visible.length_k):
            right = mask.right < 0 or j <= i + shift + mask.right
            left = mask.left < 0 or j >= i + shift - mask.left
            found[i, j] = (left and right) or (j < mask.sink_tokens and right)
    return found


@given(problems)
def test_rows_see_what_the_definition_says(visible: Visible) -> None:
    wanted = by_definition(visible)
    assert np.array_equal(visible.array(), wanted)
    assert all(visible.sees(i, j) == wanted[i, j] for i, j in np.ndindex(wanted.shape))
    for row in range(-2, visible.length_q + 2):
        parts = visible.columns(row)
        assert all(parts) and all(a.stop < b.start for a, b in pairwise(parts))


@given(problems)
def test_blind_rows_see_nothing(visible: Visible) -> None:
    blind = [row for rows in visible.blind_rows() for row in rows]
    assert blind == np.flatnonzero(~by_definition(visible).any(axis=1)).tolist()


@given(problems, st.integers(-2, 14), st.integers(0, 9))
def test_a_tile_needs_the_columns_that_any_of_its_rows_sees(visible: Visible, first: int, rows: int) -> None:
    tile = range(first, first + rows)
    wanted = by_definition(visible)[max(first, 0) : max(first + rows, 0)].any(axis=0)
    assert [column for part in visible.columns_of(tile) for column in part] == np.flatnonzero(wanted).tolist()


@given(problems)
def test_runs_are_all_rows(visible: Visible) -> None:
    found, wanted = runs(visible), by_definition(visible)
    assert [row for run in found for row in run.rows] == list(range(visible.length_q))
    assert sum(run.count for run in found) == wanted.sum()
    for run in found:
        for i in run.rows:
            text = str(run) if run.of_first else ""
            seen = np.zeros(visible.length_k, bool)
            for part in filter(None, text.split(" and ")):
                first, last = (eval(end, {"i": i}) for end in part.split(".."))
                seen[first : last + 1] = True
            assert np.array_equal(seen, wanted[i]), (run, i)


def test_runs_do_not_depend_on_lengths() -> None:
    found = runs(parse_mask("b:4095,0,4").over(2**31 - 1, 2**31 - 1))
    assert [str(run) for run in found] == ["0..i", "0..3 and i-4095..i"]
    assert found[0].rows == range(4100)


def test_a_picture_of_a_small_mask() -> None:
    assert picture(parse_mask("t:1,0,1").over(4, 3)) == ["#..", "##.", "###", "#.#"]
    assert picture(parse_mask("causal").over(41, 3)) == []


def test_names_of_masks() -> None:
    assert parse_mask("causal") == parse_mask("bottomright") == parse_mask("b:-1,0") == FmhaMask.of(FmhaShape(), True)
    assert parse_mask("none") == FmhaMask.of(FmhaShape(window_left=3), False)
    assert parse_mask("topleft") == parse_mask("t:-1,0")
    assert str(parse_mask("t:3,-1,2")) == "t:3,-1,2"


@pytest.mark.parametrize("text", ["", "left", "t:1", "t:1,2,", "b:1,2,-1", "b: 1,2", "x:1,2", "causal,2"])
def test_what_is_no_mask_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not none, causal"):
        parse_mask(text)


def test_windows_are_within_32_bits() -> None:
    for text, name, value in (
        ("b:-2,0", "left", -2),
        ("t:0,-2", "right", -2),
        (f"t:0,{2**31}", "right", 2**31),
        (f"b:0,0,{2**31}", "sink", 2**31),
    ):
        with pytest.raises(UsageError) as error:
            parse_mask(text)
        assert str(error.value) == f"mask '{text}': {name} is {value}, not within -1..{2**31 - 1}"
