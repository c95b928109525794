"""AITER's rounding of M, from modules.json, against a transcription of what its sources do."""

from __future__ import annotations

import pytest

from ckgen.families.gemm.modules import modules, roundings
from plan_support import aiter_kernel_m, aiter_split_k_m, real_plan

TOP = 100_000


def padded(m: int, n: int, level: int) -> int:
    """getPaddedM: level 0 rounds to a grid that widens with M, level 1 to a power of two, with one exception."""
    if level == 0:
        step = 16 if m <= 256 else 32 if m <= 1024 else 64 if m <= 4096 else 128
        return -(-m // step) * step
    if m > 8192 and n > 4096:
        return 8192
    power = 1
    while power < m:
        power *= 2
    return power


def of_rowwise(m: int) -> list[int]:
    """The a8w8 and batched ops in C++: 16 for up to 16, powers of two up to 16384, 20480 up to there, then none."""
    if 1 < m <= 16:
        return [m, 16]
    if m <= 16_384:
        return [m, padded(m, 0, 1)]
    return [m, 20_480] if m <= 20_480 else [m]


def distinct(sizes: list[int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(sizes))


def test_n_matters_only_on_which_side_of_4096_it_is() -> None:
    assert {band.n_over for rounding in roundings().values() for band in rounding.bands} == {0, 4096}


@pytest.mark.parametrize("module", ["a8w8", "a8w8_bpreshuffle", "batched_a8w8", "a8w8_blockscale"])
def test_every_m_is_rounded_as_the_peer_rounds_it(module: str) -> None:
    """Both classes of N; the other modules share these modules' roundings (next test)."""
    for n in (4096, 4097):
        for m in range(1, TOP + 1):
            by_python = [m, padded(m, n, 0), padded(m, n, 1)]
            rowwise = module in ("a8w8", "batched_a8w8")
            assert aiter_kernel_m(module, m, n, 1024) == distinct(of_rowwise(m) if rowwise else by_python)
            split = [m] if module == "batched_a8w8" else by_python
            assert aiter_split_k_m(module, m, n, 1024) == distinct(split)


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
