"""The values that operands of a GEMM are drawn from; large operands repeat what was drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from math import prod
from typing import TypeVar
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from ckgen.families.common.storage import Values, decode, encode
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.dtype import DType
from ckgen.model.tuned_row import Shape

LARGEST = {DType.INT8: 10.0, DType.INT4: 8.0}
"""Of operands; 2 for all other types."""
MOST_DRAWN = 2_097_143
"""Values of larger operands come again after so many, a prime: never at the same place of a row, or of a tile."""
T = TypeVar("T", bound=np.generic)
_repeating: WeakValueDictionary[int, Values] = WeakValueDictionary()
"""By id those arrays that repeat their first MOST_DRAWN values, in the order of their memory."""
A, B, A1, B1, D = range(5)
"""Of operands, what their values are drawn by beside the seed where they are large: B is the same beside any A."""


@dataclass(frozen=True, slots=True)
class OfType:
    """Values of a type up to its largest in magnitude; floats are multiples of 2^-bits."""

    dtype: DType
    bits: int

    def drawn(self, random: np.random.Generator, sizes: tuple[int, ...]) -> Values:
        """[sizes]."""
        if self.dtype in LARGEST:
            most = int(LARGEST[self.dtype])
            return random.integers(-most, most + (self.dtype is not DType.INT4), sizes).astype(np.float64)
        if self.dtype.bits <= 8:
            return random.choice(_small_values(self.dtype, self.bits), sizes)
        rounded = np.rint(np.ldexp(random.uniform(-2.0, 2.0, sizes), self.bits)) / 2.0**self.bits
        return decode(encode(rounded, self.dtype))


@dataclass(frozen=True, slots=True)
class Integers:
    """Integers up to `most` in magnitude."""

    most: int

    def drawn(self, random: np.random.Generator, sizes: tuple[int, ...]) -> Values:
        """[sizes]."""
        return random.integers(-self.most, self.most + 1, sizes).astype(np.float64)


class Source:
    """Draws the operands of one problem: small ones from `random`, large ones by their own seed. Not for several
    threads."""

    def __init__(self, signature: GemmSignature, shape: Shape, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self._layout, self._shape, self._seed = signature.layout, shape, seed

    def values(self, kind: OfType | Integers, *sizes: int, of: int = D, is_row_major: bool = True) -> Values:
        """[sizes]."""
        if prod(sizes) > MOST_DRAWN:
            return _large(kind, (self._seed, of), sizes, is_row_major)
        return kind.drawn(self.random, sizes)

    def a(self, kind: OfType | Integers, of: int = A) -> Values:
        """[batch, M, K]."""
        sizes = max(self._shape.batch, 1), self._shape.m, self._shape.k
        return self.values(kind, *sizes, of=of, is_row_major=self._layout.a_is_row_major)

    def b(self, kind: OfType | Integers, of: int = B) -> Values:
        """[batch, K, N]."""
        sizes = max(self._shape.batch, 1), self._shape.k, self._shape.n
        return self.values(kind, *sizes, of=of, is_row_major=self._layout.b_is_row_major)


def elementwise(values: Values, make: Callable[[Values], npt.NDArray[T]]) -> npt.NDArray[T]:
    """What `make` makes of each value, as they lie in memory; of large operands it is asked for what repeats alone."""
    if not _repeats(values):
        return make(values)
    turned = not values.flags.c_contiguous
    lying = np.swapaxes(values, -1, -2) if turned else values
    found = np.resize(make(drawn_of(values)), lying.shape)
    return np.swapaxes(found, -1, -2) if turned else found


def drawn_of(values: Values) -> Values:
    """Those that all others repeat, flat."""
    return values.ravel("K")[:MOST_DRAWN] if _repeats(values) else values.ravel("K")


def _repeats(values: Values) -> bool:
    """Whether it is a large operand as its Source gave it, which nobody writes."""
    return _repeating.get(id(values)) is values


@lru_cache(maxsize=4)
def _large(
    kind: OfType | Integers, seeds: tuple[int, ...], sizes: tuple[int, ...], is_row_major: bool
) -> Values:  # fmt: skip
    """More than MOST_DRAWN values: read-only, and kept, as neighbouring problems have the same B.

    They lie in memory as kernels read them, so that nothing is turned over to be stored.
    """
    values = _drawn(kind, seeds)
    *batches, lines, length = sizes
    found = np.resize(values, sizes if is_row_major else (*batches, length, lines))
    found.flags.writeable = False
    given = found if is_row_major else np.swapaxes(found, -1, -2)
    _repeating[id(given)] = given
    return given


@lru_cache(maxsize=4)
def _drawn(kind: OfType | Integers, seeds: tuple[int, ...]) -> Values:
    """MOST_DRAWN values, which operands of any sizes repeat."""
    return kind.drawn(np.random.default_rng(seeds), (MOST_DRAWN,))


@cache
def _small_values(dtype: DType, bits: int) -> Values:
    """Every value of a narrow float from -2 to 2 that is a multiple of 2^-bits."""
    codes = np.arange(1 << dtype.bits, dtype=np.uint8).view(encode(np.zeros(1), dtype).dtype)
    decoded = decode(codes)
    decoded = decoded[np.abs(decoded) <= 2]
    found: Values = decoded[np.ldexp(decoded, bits) % 1 == 0]
    return found
