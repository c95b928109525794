from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckgen.families.fmha.enums import FmhaKvLayout
from ckgen.families.fmha.page_form import PageForm, cache_sizes
from ckgen.families.fmha.pages import block_table, page_list, read_pages, store_pages

LENGTHS, PAGES = (21, 0, 8, 17), ((5, 0, 9), (), (2,), (7, 1, 4))
FORMS = [PageForm(8, layout, of_v) for layout in FmhaKvLayout for of_v in (False, True)]


def stored(form: PageForm) -> tuple[np.ndarray, np.ndarray]:
    rows = np.arange(4 * 21 * 3 * 16, dtype=np.float32).reshape(4, 21, 3, 16).astype(np.float16)
    cache = np.full(cache_sizes(10, 3, 16, 2, form), -1, np.float16)
    store_pages(rows, PAGES, cache, form)
    return rows, cache


@pytest.mark.parametrize("form", FORMS)
def test_every_element_lies_where_the_definition_says(form: PageForm) -> None:
    rows, cache = stored(form)
    for b, j, g, d in ((0, 0, 0, 0), (0, 20, 2, 15), (2, 7, 1, 9), (3, 16, 0, 8), (3, 9, 2, 7)):
        page, row = PAGES[b][j // 8], j % 8
        if form.layout is FmhaKvLayout.LINEAR:
            found = cache[page, row, g, d]
        elif form.of_v:
            found = cache[page, g, row // 8, d, row % 8]
        else:
            found = cache[page, g, d // 8, row, d % 8]
        assert found == rows[b, j, g, d]


@pytest.mark.parametrize("form", FORMS)
def test_pages_are_read_as_they_are_written(form: PageForm) -> None:
    rows, cache = stored(form)
    found = read_pages(cache, PAGES, form)
    assert [len(of_sequence) for of_sequence in found] == [24, 0, 8, 24]
    for of_sequence, own, length in zip(found, rows, LENGTHS, strict=True):
        assert np.array_equal(of_sequence[:length], own[:length])
    assert (cache[[3, 6, 8]] == -1).all()


def test_a_row_behind_the_last_stays_as_it_is() -> None:
    form = PageForm(8)
    _, cache = stored(form)
    assert (cache[9, 5:] == -1).all() and (cache[9, :5] != -1).all()


@given(st.lists(st.integers(0, 40), max_size=5), st.sampled_from((1, 3, 16)), st.randoms(use_true_random=False))
def test_both_lists_name_the_same_pages(lengths: list[int], page_size: int, random) -> None:
    counts = [-(-length // page_size) for length in lengths]
    order = random.sample(range(sum(counts) + 3), sum(counts))
    pages = [[order.pop() for _ in range(count)] for count in counts]
    table, found = block_table(pages), page_list(pages, lengths, page_size)
    for b, (numbers, length) in enumerate(zip(pages, lengths, strict=True)):
        own = found.pages[found.indptr[b] : found.indptr[b + 1]].tolist()
        assert own == numbers == table[b, : len(numbers)].tolist() and (table[b, len(numbers) :] == -1).all()
        assert max(len(own) - 1, 0) * page_size + found.last_page[b] == length


def test_vectors_divide_what_they_run_along() -> None:
    with pytest.raises(ValueError, match="12 is not a whole number of vectors of 8"):
        cache_sizes(1, 1, 12, 2, PageForm(8, FmhaKvLayout.VECTORIZED))
    with pytest.raises(ValueError, match="8 is not a whole number of vectors of 16"):
        cache_sizes(1, 1, 16, 1, PageForm(8, FmhaKvLayout.VECTORIZED, of_v=True))
