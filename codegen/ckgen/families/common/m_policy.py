"""The peer's rounding of M: which measured sizes its two lookups try, in order, as the data of its modules say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class RoundingBand:
    """One line of a rounding of M: taken if its bounds hold; `to` is m, multiple, value or power_of_2 (of `of`)."""

    to: str
    of: int
    m_over: int
    m_up_to: int | None
    n_over: int


@dataclass(frozen=True, slots=True)
class Rounding:
    """A rounding of M by its name: bands are tried in order, none that fits means no candidate."""

    name: str
    bands: tuple[RoundingBand, ...]


class Rounded(Protocol):
    """A module, as the peer rounds M for it: what is tried in order for the kernel and for k_batch."""

    @property
    def kernel_m(self) -> tuple[Rounding, ...]:
        """For the kernel."""
        ...

    @property
    def split_k_m(self) -> tuple[Rounding, ...]:
        """For k_batch."""
        ...


def read_roundings(data: Mapping[str, Any]) -> dict[str, Rounding]:
    """Roundings as modules.json and module.json write them."""
    return {name: Rounding(name, tuple(map(_rounding_band, bands))) for name, bands in data.items()}


def kernel_sizes(module: Rounded, m: int, n: int) -> tuple[int, ...]:
    """The sizes whose rows may choose the kernel; K takes no part in any rounding so far."""
    return _candidates(module.kernel_m, m, n)


def split_sizes(module: Rounded, m: int, n: int) -> tuple[int, ...]:
    """The sizes whose rows may choose k_batch, which the peer's Python side looks up for itself."""
    return _candidates(module.split_k_m, m, n)


def rounded_m(rounding: Rounding, m: int, n: int = 1) -> int | None:
    """What a rounding makes of M; None where no band of it fits."""
    return _round(rounding.bands, m, n)


def _candidates(roundings: Iterable[Rounding], m: int, n: int) -> tuple[int, ...]:
    rounded = (_round(rounding.bands, m, n) for rounding in roundings)
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


def _rounding_band(entry: Mapping[str, Any]) -> RoundingBand:
    return RoundingBand(
        to=entry["to"],
        of=entry.get("of", 0),
        m_over=entry.get("m_over", 0),
        m_up_to=entry.get("m_up_to"),
        n_over=entry.get("n_over", 0),
    )
