"""The values that operands of a GEMM are drawn from; large operands repeat what was drawn."""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np

from ckgen.families.common.storage import Values, decode, encode
from ckgen.model.dtype import DType

LARGEST = {DType.INT8: 10.0, DType.INT4: 8.0}
"""Of operands; 2 for all other types."""
MOST_DRAWN = 8_388_593
"""Values of larger operands come again after so many, a prime: never at the same place of a row, or of a tile."""


def drawn(random: np.random.Generator, dtype: DType, bits: int, sizes: tuple[int, ...]) -> Values:
    """Values of a type up to its largest in magnitude, [sizes]; floats are multiples of 2^-bits."""
    if dtype in LARGEST:
        most = int(LARGEST[dtype])
        return random.integers(-most, most + (dtype is not DType.INT4), sizes).astype(np.float64)
    if dtype.bits <= 8:
        return random.choice(_small_values(dtype, bits), sizes)
    rounded = np.rint(np.ldexp(random.uniform(-2.0, 2.0, sizes), bits)) / 2.0**bits
    return decode(encode(rounded, dtype))


def integers(random: np.random.Generator, most: int, sizes: tuple[int, ...]) -> Values:
    """Integers up to `most` in magnitude, [sizes]."""
    return random.integers(-most, most + 1, sizes).astype(np.float64)


@lru_cache(maxsize=2)
def large(dtype: DType, bits: int, seeds: tuple[int, ...], sizes: tuple[int, ...], is_row_major: bool) -> Values:
    """As `drawn`, of more than MOST_DRAWN values: read-only, and kept, as neighbouring problems have the same B.

    It lies in memory as kernels read it, so that nothing is turned over to be stored.
    """
    random = np.random.default_rng((*seeds, *sizes))
    return _repeated(drawn(random, dtype, bits, (MOST_DRAWN,)), sizes, is_row_major)


@lru_cache(maxsize=2)
def large_integers(most: int, seeds: tuple[int, ...], sizes: tuple[int, ...], is_row_major: bool) -> Values:
    """As `integers`, and as `large`."""
    random = np.random.default_rng((*seeds, *sizes))
    return _repeated(integers(random, most, (MOST_DRAWN,)), sizes, is_row_major)


def _repeated(values: Values, sizes: tuple[int, ...], is_row_major: bool) -> Values:
    *batches, lines, length = sizes
    found = np.resize(values, sizes if is_row_major else (*batches, length, lines))
    found.flags.writeable = False
    return found if is_row_major else np.swapaxes(found, -1, -2)


@cache
def _small_values(dtype: DType, bits: int) -> Values:
    """Every value of a narrow float from -2 to 2 that is a multiple of 2^-bits."""
    codes = np.arange(1 << dtype.bits, dtype=np.uint8).view(encode(np.zeros(1), dtype).dtype)
    decoded = decode(codes)
    decoded = decoded[np.abs(decoded) <= 2]
    found: Values = decoded[np.ldexp(decoded, bits) % 1 == 0]
    return found
