from __future__ import annotations

import numpy as np
import pytest

from ckgen.families.fmha.dropout import Dropout, drawn_bytes, philox

ZEROS, ONES = [0] * 4, [0xFFFFFFFF] * 4
PI = [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344]
PUBLISHED = [
    (7, ZEROS, 0, [0x5F6FB709, 0x0D893F64, 0x4F121F81, 0x4F730A48]),
    (7, ONES, 2**64 - 1, [0x5207DDC2, 0x45165E59, 0x4D8EE751, 0x8C52F662]),
    (7, PI, 0x299F31D0_A4093822, [0x4DFCCABA, 0x190A87F0, 0xC47362BA, 0xB6B5242A]),
    (10, ZEROS, 0, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    (10, PI, 0x299F31D0_A4093822, [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]),
]


@pytest.mark.parametrize(("rounds", "counter", "seed", "wanted"), PUBLISHED)
def test_philox_gives_the_published_words(rounds: int, counter: list[int], seed: int, wanted: list[int]) -> None:
    assert philox(np.array(counter, np.uint32), seed, rounds).tolist() == wanted


def test_an_element_draws_the_byte_that_the_definition_names() -> None:
    seed, offset, plane = 0x0123456789ABCDEF, 2**64 - 70, 5
    found = drawn_bytes(seed, offset, plane, (70, 90))
    for i, j in ((0, 0), (7, 31), (8, 0), (15, 33), (16, 5), (31, 64), (32, 40), (69, 89)):
        n = (offset + 64 * plane + 32 * (i // 8 % 2) + j % 32) % 2**64
        counter = np.array([n & 0xFFFFFFFF, n >> 32, i // 32, j // 32], np.uint32)
        of_call = philox(counter, seed).astype("<u4").tobytes()
        assert found[i, j] == of_call[8 * (i // 16 % 2) + i % 8]


def test_no_byte_is_drawn_twice() -> None:
    """All bytes of two planes of whole tiles, as 16-byte calls, are the calls of as many counters."""
    planes = [drawn_bytes(1, 0, plane, (64, 64)) for plane in (0, 1)]
    calls = {
        plane[32 * a + 8 * half + np.r_[0:8, 16:24], column].tobytes()
        for plane in planes
        for a in (0, 1)
        for half in (0, 1)
        for column in range(64)
    }
    assert len(calls) == 2 * 64 * 64 // 16


def test_a_part_of_a_plane_draws_the_same() -> None:
    assert np.array_equal(drawn_bytes(3, 9, 2, (40, 50))[:13, :7], drawn_bytes(3, 9, 2, (13, 7)))


@pytest.mark.parametrize(("p_drop", "most"), [(0.0, 255), (0.5, 127), (0.1, 229), (0.999, 0)])
def test_the_threshold(p_drop: float, most: int) -> None:
    dropout = Dropout(float(np.float32(p_drop)), seed=4)
    assert dropout.most_kept == most
    share = dropout.keeps(0, 0, 1, (256, 256)).mean()
    assert share == pytest.approx((most + 1) / 256, abs=0.01)


def test_given_bytes_are_taken() -> None:
    given = np.arange(2 * 3 * 4 * 5, dtype=np.uint8).reshape(2, 3, 4, 5)
    kept = Dropout(0.75, rand_val=given).keeps(1, 0, 3, (2, 5))
    assert np.array_equal(kept, given[1, 0, :2] <= 63)
