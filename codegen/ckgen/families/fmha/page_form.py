"""The sizes of K and V in pages, as `ckgen/fmha.hpp` lays them out; what calls need without NumPy."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.families.fmha.enums import FmhaKvLayout

VECTOR_BYTES = 16


@dataclass(frozen=True, slots=True)
class PageForm:
    """One of K's or V's pages: page_size rows of heads_k heads."""

    page_size: int
    layout: FmhaKvLayout = FmhaKvLayout.LINEAR
    of_v: bool = False


def cache_sizes(count: int, heads: int, dims: int, item_bytes: int, form: PageForm) -> tuple[int, ...]:
    """The axes of a cache; ValueError where a vector of 16 bytes does not divide them."""
    if form.layout is FmhaKvLayout.LINEAR:
        return (count, form.page_size, heads, dims)
    vector = VECTOR_BYTES // item_bytes
    divided = form.page_size if form.of_v else dims
    if divided % vector:
        raise ValueError(f"{divided} is not a whole number of vectors of {vector}")
    inner = (form.page_size // vector, dims) if form.of_v else (dims // vector, form.page_size)
    return (count, heads, *inner, vector)
