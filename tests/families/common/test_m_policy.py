"""AITER's rounding of M, from modules.json, against a transcription of what its sources do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckgen.families.gemm.modules import modules, roundings
from plan_support import aiter_kernel_m, aiter_split_k_m, real_plan

TOP = 100_000
SIZES = sorted({*range(1, 4_400), *(m + by for m in range(4_480, TOP + 1, 128) for by in (-1, 0, 1))})
"""Every M up to beyond the finest grids; both sides of every M that a wider grid, a power of two or a bound is at."""
PYTHON = ("a8w8_bpreshuffle", "a8w8_blockscale", "a8w8_blockscale_bpreshuffle", "a4w4_blockscale", "bf16", "mxfp8")


def up_to(m: int, step: int) -> int:
    return m if m % step == 0 else m - m % step + step


def fine(m: int) -> int:
    if m <= 256:
        return up_to(m, 16)
    if m <= 1024:
        return up_to(m, 32)
    return up_to(m, 64) if m <= 4096 else up_to(m, 128)


def doubled(m: int) -> int:
    power = 1
    while power < m:
        power *= 2
    return power


def coarse(m: int, n: int) -> int:
    return 8192 if m > 8192 and n > 4096 else doubled(m)


def in_cpp(m: int) -> int | None:
    if 2 <= m <= 16:
        return 16
    if m <= 16384:
        return doubled(m)
    return 20480 if m <= 20480 else None


def once(*sizes: int | None) -> tuple[int, ...]:
    found: list[int] = []
    for size in sizes:
        if size is not None and size not in found:
            found.append(size)
    return tuple(found)


def test_n_matters_only_on_which_side_of_4096_it_is() -> None:
    assert {band.n_over for rounding in roundings().values() for band in rounding.bands} == {0, 4096}


@pytest.mark.parametrize("n", [4096, 4097])
def test_roundings_equal_a_plain_transcription(n: int) -> None:
    """The other modules share these modules' roundings (next test)."""
    for m in SIZES:
        in_python = once(m, fine(m), coarse(m, n))
        for module in ("a8w8_bpreshuffle", "a8w8_blockscale"):
            assert aiter_kernel_m(module, m, n, 1024) == aiter_split_k_m(module, m, n, 1024) == in_python
        assert aiter_kernel_m("a8w8", m, n, 1024) == once(m, in_cpp(m))
        assert aiter_split_k_m("a8w8", m, n, 1024) == in_python
        assert aiter_kernel_m("batched_a8w8", m, n, 1024) == once(m, in_cpp(m))
        assert aiter_split_k_m("batched_a8w8", m, n, 1024) == (m,)


def test_every_module_has_one_of_the_roundings_above() -> None:
    tested = {modules()[name].kernel_m for name in ("a8w8", "a8w8_bpreshuffle", "batched_a8w8", "a8w8_blockscale")}
    assert {module.kernel_m for module in modules().values()} <= tested


def test_every_real_n_and_k_is_of_a_class_above() -> None:
    sizes = {(unit.module, n, k) for unit in real_plan().units for table in unit.tables for n, k, _ in table.groups}
    assert len(sizes) > 100
    for module, n, k in sizes:
        like = 4096 if n <= 4096 else 4097
        for m in (1, 2, 16, 17, 257, 1025, 4097, 8192, 8193, 16_385, 20_481, TOP):
            assert aiter_kernel_m(module, m, n, k) == aiter_kernel_m(module, m, like, 1024)
            assert aiter_split_k_m(module, m, n, k) == aiter_split_k_m(module, m, like, 1024)


@given(st.sampled_from(sorted(modules())), st.integers(1, 2**31), st.integers(1, 2**20))
def test_every_module_follows_its_own_lookup(module: str, m: int, n: int) -> None:
    in_python = once(m, fine(m), coarse(m, n))
    kernel, split = aiter_kernel_m(module, m, n, 1), aiter_split_k_m(module, m, n, 1)
    assert kernel == (in_python if module in PYTHON else once(m, in_cpp(m)))
    assert split == ((m,) if module.startswith("batched") else in_python)


def test_the_grid_of_the_fine_rounding_has_681_sizes() -> None:
    assert len({fine(m) for m in range(1, 80_001)}) == 681
    assert {aiter_kernel_m("a8w8_blockscale", m, 1, 1)[1:2] or (m,) for m in range(1, 80_001, 16)} == {
        (fine(m),) for m in range(1, 80_001, 16)
    }


def test_a_huge_m_is_rounded_down_where_the_peer_does() -> None:
    assert aiter_kernel_m("a8w8_blockscale", 100_000, 8192, 1024) == (100_000, 100_096, 8192)
    assert aiter_kernel_m("a8w8", 20_481, 8192, 1024) == (20_481,)
