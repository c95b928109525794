from __future__ import annotations

import math

import numpy as np
import pytest

from ckgen.families.fmha.append import append, make_rotary, rotate
from ckgen.families.fmha.enums import FmhaRope
from ckgen.families.gemm.reference import decode, encode
from ckgen.model.dtype import DType

ROPES = [FmhaRope.INTERLEAVED, FmhaRope.HALF]


def rows(*sizes: int, seed: int = 0) -> np.ndarray:
    return decode(encode(np.random.default_rng(seed).uniform(-2, 2, sizes), DType.BF16))


@pytest.mark.parametrize("rope", ROPES)
def test_pairs_turn_by_their_position(rope: FmhaRope) -> None:
    x, rotary = rows(3, 2, 12), make_rotary(rope, 20, 8)
    found = rotate(x, 5, rotary, DType.BF16)
    for i, t in ((0, 0), (2, 3), (1, 2)):
        angle = (5 + i) / 10000 ** (2 * t / 8)
        places = (2 * t, 2 * t + 1) if rope is FmhaRope.INTERLEAVED else (t, t + 4)
        turned = complex(*x[i, 1, places]) * complex(math.cos(angle), math.sin(angle))
        assert found.c[i, 1, places] == pytest.approx([turned.real, turned.imag], abs=1e-6)
    assert np.array_equal(found.c[..., 8:], x[..., 8:])


@pytest.mark.parametrize("dtype", [DType.BF16, DType.FP16, DType.FP32])
@pytest.mark.parametrize("rope", ROPES)
def test_fp32_arithmetic_is_within_the_bound(rope: FmhaRope, dtype: DType) -> None:
    x, rotary = rows(64, 4, 32), make_rotary(rope, 80, 32)
    wrong = make_rotary(FmhaRope.HALF if rope is FmhaRope.INTERLEAVED else FmhaRope.INTERLEAVED, 80, 32)

    def computed(by: FmhaRope, first: int) -> np.ndarray:
        cos, sin = (table[first : first + 64, None].astype(np.float32) for table in (rotary.cos, rotary.sin))
        single = x.astype(np.float32)
        a, b = (0, 1) if by is FmhaRope.INTERLEAVED else (0, 16)
        step = 2 if by is FmhaRope.INTERLEAVED else 1
        first_half, second = (single[..., at : at + 16 * step : step][..., :16] for at in (a, b))
        result = single.copy()
        result[..., a : a + 16 * step : step] = first_half * cos - second * sin
        result[..., b : b + 16 * step : step] = second * cos + first_half * sin
        return decode(encode(result.astype(np.float64), dtype))

    found = rotate(x, 7, rotary, dtype)
    assert 0 < found.excess(computed(rope, 7)) < 1
    assert found.excess(computed(rope, 8)) > 1 and found.excess(computed(wrong.rope, 7)) > 1


def test_new_rows_go_behind_each_sequence() -> None:
    cache, new = rows(3, 9, 2, 4), rows(3, 2, 2, 4, seed=1)
    found, lengths = append(cache, new, (0, 4, 7), None, DType.BF16)
    assert lengths == (2, 6, 9)
    for b, first in enumerate((0, 4, 7)):
        wanted = np.concatenate([cache[b, :first], new[b], cache[b, first + 2 :]])
        assert np.array_equal(found.c[b], wanted) and found.excess(found.c) == 0
    turned, _ = append(cache, new, (0, 4, 7), make_rotary(FmhaRope.HALF, 9, 4), DType.BF16)
    assert np.array_equal(turned.c[0, 0], new[0, 0]) and not np.array_equal(turned.c[1, 4], new[1, 0])
    assert np.array_equal(turned.c[1, :4], cache[1, :4])


def test_a_full_cache_is_refused() -> None:
    with pytest.raises(ValueError, match="10 rows do not fit into 9"):
        append(rows(1, 9, 1, 4), rows(1, 2, 1, 4), (8,), None, DType.BF16)
