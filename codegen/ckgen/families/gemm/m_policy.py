"""The peer's rounding of M: which measured sizes its two lookups try, in order, as the data of its modules say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from ckgen.families.gemm.modules import GemmModule, RoundingBand, modules, roundings
from ckgen.families.moe.module import MoeModule, moe_module


@cache
def all_roundings() -> Mapping[str, tuple[RoundingBand, ...]]:
    """Every rounding by name, those of MoE tables among them."""
    return {**roundings(), **moe_module().roundings}


def rounded_module(name: str) -> GemmModule | MoeModule:
    """The module of that name, which says what its lookups round with."""
    moe = moe_module()
    return moe if name == moe.module.name else modules()[name]


def aiter_kernel_m(module: str, m: int, n: int, k: int) -> tuple[int, ...]:
    """The sizes whose rows may choose the kernel; K takes no part in any rounding so far."""
    return _candidates(rounded_module(module).kernel_m, m, n)


def aiter_split_k_m(module: str, m: int, n: int, k: int) -> tuple[int, ...]:
    """The sizes whose rows may choose k_batch, which the peer's Python side looks up for itself."""
    return _candidates(rounded_module(module).split_k_m, m, n)


def _candidates(names: Iterable[str], m: int, n: int) -> tuple[int, ...]:
    rounded = (_round(all_roundings()[name], m, n) for name in names)
    return tuple(dict.fromkeys(size for size in rounded if size is not None))


def _round(bands: Iterable[RoundingBand], m: int, n: int) -> int | None:
    for band in bands:
        if m > band.m_over and n > band.n_over and (band.m_up_to is None or m <= band.m_up_to):
            return _apply(band, m)
    return None


def _apply(band: RoundingBand, m: int) -> int:
    match band.to:
        case "m":
            return m
        case "value":
            return band.of
        case "multiple":
            return -(-m // band.of) * band.of
        case "power_of_2":
            return 1 << (m - 1).bit_length()
    raise ValueError(f"modules.json: unknown rounding '{band.to}'")
