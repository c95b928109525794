"""Small float formats by their definition: every code's value, and encoding by search among those values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

U32 = NDArray[np.uint32]
F64 = NDArray[np.float64]

EVEN, UP, DOWN, ZERO = range(4)


@dataclass(frozen=True)
class Format:
    """`top`: what the highest codes are: ieee (infinity, NaN), nan (one NaN), fnuz (NaN is -0's code), finite."""

    exponent_bits: int
    mantissa_bits: int
    bias: int
    top: str

    @property
    def bits(self) -> int:
        """Width."""
        return 1 + self.exponent_bits + self.mantissa_bits

    @property
    def sign(self) -> int:
        """Code of the sign bit."""
        return 1 << (self.bits - 1)

    @property
    def finite_codes(self) -> int:
        """How many codes without a sign are finite."""
        lost = {"ieee": 1 << self.mantissa_bits, "nan": 1, "fnuz": 0, "finite": 0}[self.top]
        return self.sign - lost

    @property
    def nan(self) -> int:
        """The NaN that conversions give, without its sign; the largest value where there is none."""
        quiet = self.finite_codes + (1 << (self.mantissa_bits - 1))
        return {"ieee": quiet, "nan": self.sign - 1, "fnuz": self.sign, "finite": self.sign - 1}[self.top]


F16 = Format(5, 10, 15, "ieee")
BF16 = Format(8, 7, 127, "ieee")
FP8 = {"gfx942": Format(4, 3, 8, "fnuz"), "gfx950": Format(4, 3, 7, "nan")}
BF8 = {"gfx942": Format(5, 2, 16, "fnuz"), "gfx950": Format(5, 2, 15, "ieee")}
FP6 = Format(2, 3, 1, "finite")
BF6 = Format(3, 2, 3, "finite")
FP4 = Format(2, 1, 1, "finite")


@cache
def magnitudes(form: Format) -> F64:
    """Values of the finite codes from 0 on, and one more step: where overflow begins to round to."""
    codes = np.arange(form.finite_codes + 1)
    exponent, mantissa = codes >> form.mantissa_bits, codes & ((1 << form.mantissa_bits) - 1)
    fraction = mantissa / 2.0**form.mantissa_bits + (exponent > 0)
    values: F64 = np.ldexp(fraction, np.maximum(exponent, 1) - form.bias)
    return values


def decode(form: Format, codes: U32) -> F64:
    """Values of codes; NaNs are NaN."""
    magnitude = codes & (form.sign - 1)
    values = magnitudes(form)[np.minimum(magnitude, form.finite_codes)]
    if form.top == "ieee":
        values = np.where(magnitude == form.finite_codes, np.inf, values)
    values = np.where(magnitude > form.finite_codes, np.nan, values)
    if form.top == "nan":
        values = np.where(magnitude == form.finite_codes, np.nan, values)
    signed = np.where(codes & form.sign, -values, values)
    return np.where(codes == form.sign, np.nan, signed) if form.top == "fnuz" else signed


def encode(form: Format, values: F64, rounding: int = EVEN, saturate: bool = False) -> U32:
    """Codes of values; `saturate` gives the largest value on overflow (infinities too, up to 8 bits)."""
    table = magnitudes(form)
    low, high, part = _between(table, values)
    negative = np.signbit(values)
    middle = np.where(part == 0.5, low % 2 == 1, part > 0.5)
    away = {EVEN: middle, ZERO: part < 0, UP: (part > 0) & ~negative, DOWN: (part > 0) & negative}[rounding]
    inward = np.full(values.shape, False)
    if rounding != EVEN:
        inward = ~{UP: ~negative, DOWN: negative, ZERO: part < 0}[rounding]
    return _finish(form, values, np.where(away, high, low), saturate, inward)


def encode_stochastic(form: Format, values: F64, random: U32, saturate: bool, source_mantissa: int = 23) -> U32:
    """Up where the part between two neighbours, cut to the bits that are dropped, and that many random bits reach 1."""
    low, high, part = _between(magnitudes(form), values)
    dropped = source_mantissa - form.mantissa_bits
    up = np.floor(part * 2.0**dropped) + (random >> np.uint32(32 - dropped)) >= 2.0**dropped
    return _finish(form, values, np.where(up, high, low), saturate, np.full(values.shape, False))


def _between(table: F64, values: F64) -> tuple[NDArray[np.int64], NDArray[np.int64], F64]:
    """Neighbouring codes and how far between them, 0…1, the magnitude lies."""
    size = np.where(np.isfinite(values), np.abs(values), 0)
    low = np.clip(np.searchsorted(table, size, side="right") - 1, 0, len(table) - 2)
    part = (size - table[low]) / (table[low + 1] - table[low])
    return low, low + 1, part


def _finish(form: Format, values: F64, codes: NDArray[np.int64], saturate: bool, inward: NDArray[np.bool_]) -> U32:
    clamp = np.full(values.shape, saturate or form.top == "finite")
    infinite = np.isinf(values)
    largest, beyond = form.finite_codes - 1, form.finite_codes if form.top == "ieee" else form.nan
    over = (codes >= form.finite_codes) | infinite | (np.abs(values) >= 2 * magnitudes(form)[-1])
    stays = (clamp & (~infinite | (form.bits <= 8))) | (inward & ~infinite)
    codes = np.where(over, np.where(stays, largest, beyond), codes)
    codes = np.where(np.isnan(values), form.nan, codes)
    if form.top == "fnuz":
        signed = np.where(np.signbit(values) & (codes != 0) & (codes != form.nan), codes | form.sign, codes)
    else:
        signed = np.where(np.signbit(values), codes | form.sign, codes)
    return signed.astype(np.uint32)
