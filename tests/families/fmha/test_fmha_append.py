from __future__ import annotations

import math

import numpy as np
import pytest

from ckgen.families.elements import decode, encode
from ckgen.families.fmha.append import make_rotary, rotate, stored
from ckgen.families.fmha.enums import FmhaRope
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


@pytest.mark.parametrize("to", [DType.FP8_OCP, DType.FP8_FNUZ])
def test_8_bit_caches_hold_quotients(to: DType) -> None:
    x, rotary = rows(32, 2, 16) * 300, make_rotary(FmhaRope.HALF, 40, 16)
    descale = np.array([1.5])
    found = stored(x, 3, rotary, descale, DType.BF16, to)
    turned = rotate(x, 3, rotary, DType.FP32).c / 1.5
    largest = 448 if to is DType.FP8_OCP else 240
    assert np.array_equal(found.c, np.clip(turned, -largest, largest)) and np.abs(found.c).max() == largest
    rounded = decode(encode(np.clip(turned, -largest, largest), to))
    assert found.excess(rounded) < 1 < found.excess(decode(encode(np.clip(turned * 1.1, -largest, largest), to)))


def test_what_neither_rotates_nor_narrows_is_exact() -> None:
    x = rows(4, 2, 16)
    found = stored(x, 3, None, None, DType.BF16, DType.BF16)
    assert found.excess(x) == 0 and found.excess(x + 1e-9) > 1
