"""Transcendental operations against extended precision."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import exact_float as ef
import numpy as np
import pytest
from exact_float import F16, F32, F64, Env, Format
from step_support import assemble, emulator
from vector_support import Lane, Op, check, sources

from ckgen_emulator.bindings import Wave

pytestmark = pytest.mark.amd

Wide = np.longdouble
FLUSHED = Env(ef.EVEN, True, True)


def _exact(value: np.longdouble) -> Fraction:
    return Fraction(*value.as_integer_ratio())


def _real(form: Format, name: str, code: int) -> Any:
    """The function's value at a finite code, to 64 bits."""
    exact = form.value(code)
    x = Wide(exact.numerator) / Wide(exact.denominator) if form is not F64 else Wide(float(exact))
    turns = abs(exact - round(exact))
    two_pi = Wide(2) * Wide("3.14159265358979323846264338327950288")
    with np.errstate(all="ignore"):
        match name:
            case "exp":
                return np.exp2(x)
            case "log":
                return np.log2(x)
            case "rsq":
                return 1 / np.sqrt(x)
            case "sin":
                return np.sin(two_pi * (x - np.rint(x))) if turns not in (0, Fraction(1, 2)) else Wide(0)
            case _:
                return np.cos(two_pi * (x - np.rint(x))) if turns != Fraction(1, 4) else Wide(0)


def _root(value: Fraction) -> Fraction:
    """Its root, cut to 1200 places and made odd there where it does not end."""
    scaled = value * 2**2400
    whole = math.isqrt(floor_of := scaled.numerator // scaled.denominator)
    return Fraction(whole if whole * whole == floor_of == scaled else whole | 1, 2**1200)


def function(form: Format, name: str, code: int) -> int:
    """The correctly rounded value: special cases, else the real function. f32's denormals are zeros throughout."""
    env = FLUSHED if form is F32 else ef.DEFAULT
    code = env.enter(form, code)
    negative = bool(code & form.sign)
    if form.is_nan(code):
        return form.nan
    if name in ("sin", "cos"):
        if form.is_infinite(code):
            return form.nan
        if abs(form.value(code)) > 256:
            return 0 if name == "sin" else form.one
        if form.is_zero(code) and name == "sin":
            return code
    elif form.is_infinite(code):
        infinite = {"exp": 0 if negative else form.infinity, "log": form.infinity, "sqrt": form.infinity}
        return form.nan if negative and name not in ("exp", "rcp") else infinite.get(name, code & form.sign)
    elif form.is_zero(code) and name != "exp":
        return {"log": form.sign | form.infinity, "sqrt": code}.get(name, code & form.sign | form.infinity)
    elif negative and name in ("log", "rsq", "sqrt"):
        return form.nan
    if name == "rcp":
        return ef.divide(form, form.one, code, env)
    if name == "sqrt":
        return env.leave(form, _root(form.value(code)), 0)
    value = _real(form, name, code)
    if np.isinf(value):
        return form.infinity
    if value == 0:
        return 0
    return env.leave(form, _exact(Wide(value)), 0)


def _op(form: Format, text: str, name: str) -> Op:
    mask = (1 << form.bits) - 1
    kind = {F16: "f16", F32: "f32", F64: "f64"}[form]
    return Op(text, lambda lane: function(form, name, lane.a2 & mask), kind, 2 if form is F64 else 1, (form,))


NAMES = ("exp", "log", "rcp", "rsq", "sqrt", "sin", "cos")
HALVES = [_op(F16, f"v_{name}_f16 {{d}}, {{a}}", name) for name in NAMES]
SINGLES = [_op(F32, f"v_{name}_f32 {{d}}, {{a}}", name) for name in NAMES] + [
    _op(F32, f"v_{full}_f32 {{d}}, {{a}}", name)
    for full, name in (("exp_legacy", "exp"), ("log_legacy", "log"), ("rcp_iflag", "rcp"))
]
DENSE = [replace(_op(F32, f"v_{name}_f32 {{d}}, {{a}}", name), data="near_zero") for name in NAMES] + [
    replace(_op(F32, f"v_{name}_f32 {{d}}, {{a}}", name), data="turns") for name in ("sin", "cos")
]
DOUBLES = [_op(F64, f"v_{name}_f64 {{d2}}, {{a2}}", name) for name in ("rcp", "sqrt")]
# Two roundings, so only near.
NEAR = [Op("v_rsq_f64 {d2}, {a2}", lambda lane: lane.d2, "f64", 2)]


def test_f16_functions() -> None:
    check(HALVES)


def test_f32_functions() -> None:
    check(SINGLES + DENSE)


def test_f64_functions() -> None:
    check(DOUBLES)


def test_f64_reciprocal_root_is_within_two_places() -> None:
    wave = Wave()
    for data in sources("f64"):
        wave.vectors[0:4] = data[0]
        assert not emulator("gfx942").step(assemble("v_rsq_f64 v[16:17], v[0:1]", "gfx942"), wave).findings
        for lane in range(64):
            code = int(wave.vectors[0, lane]) | int(wave.vectors[1, lane]) << 32
            got = int(wave.vectors[16, lane]) | int(wave.vectors[17, lane]) << 32
            want = function(F64, "rsq", code)
            assert abs(got - want) <= 2 or (F64.is_nan(got) and F64.is_nan(want)), f"{code:x}: {got:x}, not {want:x}"


def _preop(lane: Lane) -> int:
    """53 places of 2/pi, from 53 * segment on for arguments below 2^54, further for larger ones."""
    exponent = lane.a2 >> 52 & 0x7FF
    shift = lane.b % 32 * 53 + max(0, exponent - 1077)
    window = TWO_OVER_PI * 2 ** (shift + 53) // 1 % 2**53
    if shift + 53 > 1201:  # the hardware's table ends
        return -1
    value = Fraction(window) * Fraction(2) ** (-53 - shift + (128 if exponent >= 1968 else 0))
    return F64.nearest(value) if value else 0


def _two_over_pi() -> Fraction:
    """By Machin's formula, to 2000 places."""
    one = 1 << 2000

    def arctan_of_inverse(x: int) -> int:
        total, power, n = 0, one // x, 1
        while power:
            total += power // n if n % 4 == 1 else -(power // n)
            power, n = power // (x * x), n + 2
        return total

    return Fraction(2 * one, 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239)))


TWO_OVER_PI = _two_over_pi()


def _segment(number: int) -> Op:
    def result(lane: Lane) -> int:
        return _preop(Lane(lane.wide_a, number, 0, 0, 0))

    return Op(f"v_trig_preop_f64 {{d2}}, {{a2}}, {number}", result, "f64", 2)


TRIGONOMETRY = [_segment(number) for number in (0, 1, 2)]


def test_trigonometric_segments() -> None:
    assert math.isclose(float(TWO_OVER_PI), 2 / math.pi)
    check(TRIGONOMETRY)


OPS = [*HALVES, *SINGLES, *DOUBLES, *NEAR, *TRIGONOMETRY]
