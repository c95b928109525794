"""IEEE arithmetic on codes by its definition: exact rationals, rounded once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

EVEN, UP, DOWN, ZERO = range(4)


@dataclass(frozen=True)
class Format:
    """A binary format; codes are ints."""

    exponent_bits: int
    mantissa_bits: int

    @cached_property
    def bits(self) -> int:
        """Width."""
        return 1 + self.exponent_bits + self.mantissa_bits

    @cached_property
    def sign(self) -> int:
        """The sign bit."""
        return 1 << (self.bits - 1)

    @cached_property
    def infinity(self) -> int:
        """Infinity's code."""
        return ((1 << self.exponent_bits) - 1) << self.mantissa_bits

    @cached_property
    def quiet(self) -> int:
        """The bit that makes a NaN quiet."""
        return 1 << (self.mantissa_bits - 1)

    @cached_property
    def nan(self) -> int:
        """A quiet NaN."""
        return self.infinity | self.quiet

    @cached_property
    def bias(self) -> int:
        """Of the exponent."""
        return (1 << (self.exponent_bits - 1)) - 1

    @cached_property
    def lowest(self) -> int:
        """Exponent of the last place of denormals."""
        return 1 - self.bias - self.mantissa_bits

    @cached_property
    def one(self) -> int:
        """1.0."""
        return self.bias << self.mantissa_bits

    def is_nan(self, code: int) -> bool:
        """Any NaN."""
        return code & ~self.sign > self.infinity

    def is_signalling(self, code: int) -> bool:
        """A NaN that is not quiet."""
        return self.is_nan(code) and not code & self.quiet

    def is_infinite(self, code: int) -> bool:
        """Either infinity."""
        return code & ~self.sign == self.infinity

    def is_denormal(self, code: int) -> bool:
        """Neither zero nor normal."""
        return 0 < code & ~self.sign < 1 << self.mantissa_bits

    def is_zero(self, code: int) -> bool:
        """Either zero."""
        return code & ~self.sign == 0

    def flushed(self, code: int) -> int:
        """Denormals as zeros of their sign."""
        return code & self.sign if self.is_denormal(code) else code

    def value(self, code: int) -> Fraction:
        """A finite code's value."""
        exponent = (code & self.infinity) >> self.mantissa_bits
        mantissa = code & ((1 << self.mantissa_bits) - 1)
        whole = mantissa | (1 << self.mantissa_bits if exponent else 0)
        numerator, denominator = _scaled(-whole if code & self.sign else whole, max(exponent, 1) - 1 + self.lowest)
        return Fraction(numerator, denominator)

    def nearest(self, value: Fraction, rounding: int = EVEN) -> int:
        """The code of a value that is not 0."""
        sign, size = (self.sign, -value) if value < 0 else (0, value)
        above, below = size.numerator, size.denominator
        exponent = above.bit_length() - below.bit_length()
        one, least = _scaled(below, exponent)
        exponent -= above * least < one
        place = max(exponent - self.mantissa_bits, self.lowest)
        one, least = _scaled(below, place)
        whole, rest = divmod(above * least, one)
        away = rounding == (DOWN if sign else UP)
        up = rest > 0 if away else rounding == EVEN and (2 * rest > one or (2 * rest == one and whole % 2 == 1))
        code = whole + up + ((place - self.lowest) << self.mantissa_bits)  # the hidden bit counts up the exponent
        if code >= self.infinity:
            code = self.infinity if away or rounding == EVEN else self.infinity - 1
        return sign | code


def _scaled(whole: int, exponent: int) -> tuple[int, int]:
    """whole · 2^exponent, as a numerator and a denominator."""
    return (whole << exponent, 1) if exponent >= 0 else (whole, 1 << -exponent)


F16, BF16, F32, F64 = Format(5, 10), Format(8, 7), Format(8, 23), Format(11, 52)


@dataclass(frozen=True)
class Env:
    """How a format's arithmetic rounds, and which denormals become zero."""

    rounding: int = EVEN
    flush_inputs: bool = False
    flush_results: bool = False

    def enter(self, form: Format, code: int) -> int:
        """A source as arithmetic sees it."""
        return form.flushed(code) if self.flush_inputs else code

    def leave(self, form: Format, value: Fraction, zero: int) -> int:
        """A result; `zero` is what an exact 0 gives."""
        code = form.nearest(value, self.rounding) if value else zero
        return code & form.sign if self.flush_results and self._tiny(form, value) else code

    def _tiny(self, form: Format, value: Fraction) -> bool:
        """Below the normal numbers: f32 and f64 as x86 has it, rounded as if exponents had no end; f16 as rounded."""
        if form is F16 or not value:
            return form.is_denormal(form.nearest(value, self.rounding)) if value else False
        above = form.nearest(value * Fraction(2) ** 64, self.rounding)
        return abs(form.value(above)) < Fraction(2) ** (65 - form.bias)


DEFAULT = Env()


def fma(form: Format, a: int, b: int, c: int, env: Env = DEFAULT) -> int:
    """a * b + c, rounded once."""
    a, b, c = (env.enter(form, one) for one in (a, b, c))
    product = (a ^ b) & form.sign
    if any(map(form.is_nan, (a, b, c))):
        return form.nan
    if form.is_infinite(a) or form.is_infinite(b):
        against = form.is_infinite(c) and (c & form.sign) != product
        return form.nan if against or form.is_zero(a) or form.is_zero(b) else product | form.infinity
    if form.is_infinite(c):
        return c
    alike = product == c & form.sign and (form.is_zero(a) or form.is_zero(b))
    zero = product if alike else form.sign if env.rounding == DOWN else 0
    return env.leave(form, form.value(a) * form.value(b) + form.value(c), zero)


def add(form: Format, a: int, b: int, env: Env = DEFAULT) -> int:
    """a + b."""
    a = env.enter(form, a)
    if form.is_zero(a) and form.is_zero(env.enter(form, b)) and (a ^ b) & form.sign == 0:
        return a & form.sign
    return fma(form, a, form.one, b, env)


def sub(form: Format, a: int, b: int, env: Env = DEFAULT) -> int:
    """a - b."""
    return add(form, a, b ^ form.sign, env)


def mul(form: Format, a: int, b: int, env: Env = DEFAULT) -> int:
    """a * b."""
    a, b = env.enter(form, a), env.enter(form, b)
    sign = (a ^ b) & form.sign
    if form.is_nan(a) or form.is_nan(b):
        return form.nan
    if form.is_infinite(a) or form.is_infinite(b):
        return form.nan if form.is_zero(a) or form.is_zero(b) else sign | form.infinity
    return env.leave(form, form.value(a) * form.value(b), sign)


def divide(form: Format, a: int, b: int, env: Env = DEFAULT) -> int:
    """a / b."""
    a, b = env.enter(form, a), env.enter(form, b)
    sign = (a ^ b) & form.sign
    both = (form.is_zero(a) and form.is_zero(b)) or (form.is_infinite(a) and form.is_infinite(b))
    if form.is_nan(a) or form.is_nan(b) or both:
        return form.nan
    if form.is_infinite(a) or form.is_zero(b):
        return sign | form.infinity
    if form.is_infinite(b):
        return sign
    return env.leave(form, form.value(a) / form.value(b), sign)


def converted(source: Format, target: Format, code: int, env: Env = DEFAULT) -> int:
    """A code in another format."""
    sign = target.sign if code & source.sign else 0
    if source.is_nan(code):
        return target.nan
    if source.is_infinite(code):
        return sign | target.infinity
    return env.leave(target, source.value(code), sign)


def to_integral(form: Format, a: int, whole: Callable[[Fraction], int]) -> int:
    """`whole` of a value, with the sign of `a` where that is 0."""
    if form.is_nan(a) or form.is_infinite(a) or form.is_zero(a):
        return a
    value = whole(form.value(a))
    return form.nearest(Fraction(value)) if value else a & form.sign


def _key(form: Format, code: int) -> int:
    return -(code & ~form.sign) - 1 if code & form.sign else code


def min_max(form: Format, a: int, b: int, *, most: bool, ieee: bool = True) -> int:
    """v_min, v_max: numbers win over NaNs; in IEEE mode a signalling NaN comes out quiet."""
    for one in (a, b):
        if ieee and form.is_signalling(one):
            return one | form.quiet
    if form.is_nan(a):
        return b
    if form.is_nan(b):
        return a
    return (max if most else min)(a, b, key=lambda code: _key(form, code))


def minimum_maximum(form: Format, a: int, b: int, *, most: bool) -> int:
    """IEEE 754-2019: NaNs win."""
    for test in (form.is_signalling, form.is_nan):
        for one in (a, b):
            if test(one):
                return one | form.quiet
    return (max if most else min)(a, b, key=lambda code: _key(form, code))


def med3(form: Format, a: int, b: int, c: int) -> int:
    """What is greatest without the first that equals the greatest of all (zeros are equal); with a NaN, min3."""
    if any(map(form.is_nan, (a, b, c))):
        return min_max(form, min_max(form, a, b, most=False), c, most=False)
    most = max(a, b, c, key=lambda code: _key(form, code))
    rest = ((b, c), (a, c), (a, b))
    without = next(pair for one, pair in zip((a, b, c), rest, strict=True) if not _differ(form, one, most))
    return max(*without, key=lambda code: _key(form, code))


def _differ(form: Format, a: int, b: int) -> bool:
    return less(form, a, b) or less(form, b, a)


def less(form: Format, a: int, b: int) -> bool:
    """a < b of numbers; zeros are equal."""
    return _key(form, a if not form.is_zero(a) else 0) < _key(form, b if not form.is_zero(b) else 0)
