from __future__ import annotations

import numpy as np
import pytest

from ckgen.families.fmha.append_operands import (
    NOT_NEW,
    appended,
    make_append_operands,
    new_elements,
    paged_elements,
)
from ckgen.families.fmha.signature import parse_canonical
from ckgen.model.fmha_shape import FmhaShape

SHAPE = FmhaShape(3, 4, 2, 5, 40, 32, 16, page_size=16, pages=12, seqlen_new=5, rotary_dim=8)
BEFORE, ADDED = (0, 35, 14), (5, 0, 3)


def test_new_rows_go_behind_each_sequence() -> None:
    operands = make_append_operands(parse_canonical("fmha_bf16_append_varlen_rope_half"), SHAPE, 1, BEFORE, ADDED)
    places = new_elements(operands, 32)
    assert places.shape == (3, 40, 2, 32) and (places != NOT_NEW).sum() == 8 * 2 * 32
    assert (places[2, :14] == NOT_NEW).all() and (places[2, 14:17] >= 0).all() and (places[1] == NOT_NEW).all()
    flat = operands.k_new.reshape(-1)
    assert np.array_equal(flat[places[2, 14:17]], operands.k_new[2, :3])
    found = appended(operands)
    assert np.isinf(found.k.bound[2, 3:]).all() and np.isinf(found.q.bound[1]).all()
    assert np.array_equal(found.k.c[0, 0], operands.k_new[0, 0])  # position 0 does not turn
    assert not np.array_equal(found.k.c[2, 0, :, :8], operands.k_new[2, 0, :, :8])
    assert np.array_equal(found.k.c[2, 0, :, 8:], operands.k_new[2, 0, :, 8:])
    assert np.array_equal(found.v.c[2, :3], operands.v_new[2, :3]) and operands.rotated == ADDED


@pytest.mark.parametrize("words", ["blocktable", "pagelist_vectorized"])
def test_every_new_element_has_one_place_in_pages(words: str) -> None:
    operands = make_append_operands(parse_canonical(f"fmha_bf16_append_{words}"), SHAPE, 1, (0, 35, 14), (5, 5, 5))
    assert [len(pages) for pages in operands.pages] == [1, 3, 2] and operands.after == (5, 40, 19)
    for of_v, dims in ((False, 32), (True, 16)):
        found = paged_elements(operands, dims, of_v=of_v)
        placed = np.sort(found[found != NOT_NEW])
        assert np.array_equal(placed, np.arange(3 * 5 * 2 * dims))
        pages = {number for numbers in operands.pages for number in numbers}
        assert {int(page) for page in np.nonzero(found != NOT_NEW)[0]} <= pages


def test_descales_of_pages_are_those_of_the_rows() -> None:
    signature = parse_canonical("fmha_bf16_fp8_ocp_bf16_append_kvblockscale_blocktable")
    operands = make_append_operands(signature, SHAPE, 1, (0, 35, 14), (5, 5, 5))
    found = appended(operands)
    assert operands.v_descale is not None
    for position, row in ((14, 0), (15, 1), (16, 2)):
        scale = operands.v_descale[operands.pages[2][position // 16], 1]
        assert found.v.c[2, row, 1] == pytest.approx(operands.v_new[2, row, 1] / scale)
