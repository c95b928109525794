"""The three steps of a division: each by its definition, and LLVM's sequence of them against the exact quotient."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import exact_float as ef
import pytest
from exact_float import F16, F32, F64, Env, Format
from step_support import assemble, emulator
from vector_support import DEFAULT_MODE, Lane, Op, check, sources

from ckgen_emulator.bindings import VCC, Wave

pytestmark = pytest.mark.amd


LIMITS = {F32: (96, 23, 64), F64: (768, 53, 128)}
"""Of div_scale: apart exponents, the largest exponent of a tiny numerator, by how much it shifts (CDNA3 ISA)."""


def _scale(form: Format, s0: int, s1: int, s2: int) -> tuple[int, int]:
    """The result and VCC as the CDNA3 ISA's pseudocode has them, but for a huge denominator, which goes down, not up.

    An underflow to 0 is as a denormal quotient.
    """
    apart, tiny, shift = LIMITS[form]
    if form.is_zero(s1) or form.is_zero(s2):
        return form.nan, 0
    quotient, reciprocal = ef.divide(form, s2, s1), ef.divide(form, form.one, s1)
    small_quotient = form.is_denormal(quotient) or form.is_zero(quotient)
    if _exponent(form, s2) - _exponent(form, s1) >= apart:
        return (_shifted(form, s0, shift) if s0 == s1 else s0), 1
    if form.is_denormal(s1):
        return _shifted(form, s0, shift), 0
    if form.is_denormal(reciprocal) and small_quotient:
        return (_shifted(form, s0, -shift) if s0 == s1 else s0), 1
    if form.is_denormal(reciprocal):
        return _shifted(form, s0, -shift), 0
    if small_quotient:
        return (_shifted(form, s0, shift) if s0 == s2 else s0), 1
    return (_shifted(form, s0, shift) if _exponent(form, s2) <= tiny else s0), 0


def _exponent(form: Format, code: int) -> int:
    return (code & form.infinity) >> form.mantissa_bits


def _shifted(form: Format, code: int, by: int) -> int:
    """Times 2^by; denormals are kept."""
    changes = not (form.is_zero(code) or form.is_infinite(code))
    return form.nearest(form.value(code) * Fraction(2) ** by) if changes else code


def _scales(form: Format) -> list[Op]:
    """Of the denominator, of the numerator, and of neither."""
    kind, wide = ("f32", "") if form is F32 else ("f64", "2")

    def want(first: str) -> Callable[[Lane], tuple[int, int]]:
        mask = (1 << form.bits) - 1
        return lambda lane: _scale(form, getattr(lane, f"{first}2") & mask, lane.b2 & mask, lane.a2 & mask)

    return [
        Op(
            f"v_div_scale_{kind} {{d{wide}}}, {{s}}, {{{first}{wide}}}, {{b{wide}}}, {{a{wide}}}",
            want(first),
            f"{kind} quotients",
            form.bits // 32,
            (form,),
        )
        for first in "bac"
    ]


SCALES = [*_scales(F32), *_scales(F64)]


def test_scales_on_both_sides_of_each_threshold() -> None:
    check(SCALES)


@pytest.mark.parametrize(
    ("form", "mode", "env"),
    [
        (F32, DEFAULT_MODE, ef.DEFAULT),
        (F64, DEFAULT_MODE, ef.DEFAULT),
    ],
    ids=["f32", "f64"],
)
def test_division_sequence(form: Format, mode: int, env: Env) -> None:
    """LLVM's expansion of an IEEE division (AMDGPUISelLowering's LowerFDIV32 and LowerFDIV64) gives the quotient."""
    lines = SEQUENCES[form]
    code = assemble(lines, "gfx942")
    kind = "f32" if form is F32 else "f64"
    wrong = []
    for data in (*sources(kind), *sources(f"{kind} quotients")):
        wave = Wave()
        wave.mode = mode
        wave.vectors[0:4], wave.vectors[4:8] = data[0], data[1]
        assert not emulator("gfx942").step(code, wave).findings
        for lane in range(64):
            a, b, got = (
                int(wave.vectors[row, lane]) | (int(wave.vectors[row + 1, lane]) << 32 if form is F64 else 0)
                for row in (0, 4, 30)
            )
            want = ef.divide(form, a, b, env)
            if got != want and not (form.is_nan(got) and form.is_nan(want)):
                wrong.append(f"{a:x} / {b:x} = {got:x}, not {want:x}")
    assert not wrong, f"{len(wrong)}: " + "\n".join(wrong[:20])


@pytest.mark.parametrize("form", LIMITS, ids=["f32", "f64"])
@pytest.mark.parametrize("rounding", range(4))
def test_a_sum_of_zero_has_the_sign_that_rounding_gives_it(form: Format, rounding: int) -> None:
    kind, last = ("f32", 0) if form is F32 else ("f64", 1)
    wave = Wave()
    wave.mode = DEFAULT_MODE | rounding << 2 * last
    for first, code in ((0, form.one), (4, form.one), (8, form.one | form.sign)):
        wave.vectors[first : first + 2].T[:] = code & 0xFFFFFFFF, code >> 32
    wave.set_pair(VCC, 0xFF)
    operands = ", ".join(f"v[{first}:{first + 1}]" if last else f"v{first}" for first in (30, 0, 4, 8))
    assert not emulator("gfx942").step(assemble(f"v_div_fmas_{kind} {operands}", "gfx942"), wave).findings
    assert set(wave.vectors[30 + last].tolist()) == {0x80000000 if rounding == 2 else 0}


@pytest.mark.parametrize("form", LIMITS, ids=["f32", "f64"])
def test_estimates_from_2_on_are_scaled_up_and_smaller_ones_down(form: Format) -> None:
    """By their exponent, as the ISA's pseudocode has it."""
    wave, shift = Wave(), LIMITS[form][2]
    estimates = [Fraction(sign * value, 8) for value in (4, 7, 8, 15, 16, 17, 32) for sign in (1, -1)]
    for lane, estimate in enumerate(estimates):
        code = form.nearest(estimate)
        wave.vectors[8:10, lane] = code & 0xFFFFFFFF, code >> 32
    wave.set_pair(VCC, 2**64 - 1)
    kind, dwords = ("f32", 1) if form is F32 else ("f64", 2)
    operands = ", ".join(f"v[{first}:{first + dwords - 1}]" for first in (30, 0, 4, 8))
    assert not emulator("gfx942").step(assemble(f"v_div_fmas_{kind} {operands}", "gfx942"), wave).findings
    for lane, estimate in enumerate(estimates):
        got = sum(int(wave.vectors[30 + part, lane]) << 32 * part for part in range(dwords))
        assert got == form.nearest(estimate * Fraction(2) ** (shift if abs(estimate) >= 2 else -shift)), estimate


@pytest.mark.parametrize("form", LIMITS, ids=["f32", "f64"])
def test_a_denormal_quotient_is_rounded_once(form: Format) -> None:
    """Halves of its last place, plus or minus products that a sum of twice the bits holds in part or not at all."""
    last, shift = Fraction(2) ** form.lowest, LIMITS[form][2]
    width = 53 if form is F32 else 113
    wave, lanes = Wave(), []
    for halves in (5, 7, -5, -7):
        c = halves * last / 2 * 2**shift
        place = abs(c) * Fraction(2) ** (3 - width) / abs(halves)  # the wide sum's last
        for part in (Fraction(255, 256), Fraction(257, 256), Fraction(1, 256), Fraction(511, 256)):
            for sign in (1, -1):
                half = Fraction(2) ** ((place.numerator.bit_length() - place.denominator.bit_length()) // 2)
                lanes.append((sign * part * half, place / half, c))
    for lane, values in enumerate(lanes):
        for first, value in zip((0, 4, 8), values, strict=True):
            code = form.nearest(value)
            assert form.value(code) == value
            wave.vectors[first : first + 2, lane] = code & 0xFFFFFFFF, code >> 32
    wave.set_pair(VCC, 2**64 - 1)
    kind, dwords = ("f32", 1) if form is F32 else ("f64", 2)
    operands = ", ".join(f"v[{first}:{first + dwords - 1}]" for first in (30, 0, 4, 8))
    assert not emulator("gfx942").step(assemble(f"v_div_fmas_{kind} {operands}", "gfx942"), wave).findings
    for lane, (a, b, c) in enumerate(lanes):
        got = sum(int(wave.vectors[30 + part, lane]) << 32 * part for part in range(dwords))
        assert got == form.nearest((a * b + c) / 2**shift), (a, b, c)


SEQUENCES = {
    F32: """
v_div_scale_f32 v8, s[2:3], v4, v4, v0
v_div_scale_f32 v9, vcc, v0, v4, v0
v_rcp_f32 v10, v8
s_nop 0
v_fma_f32 v11, -v8, v10, 1.0
v_fma_f32 v12, v11, v10, v10
v_mul_f32 v13, v9, v12
v_fma_f32 v14, -v8, v13, v9
v_fma_f32 v15, v14, v12, v13
v_fma_f32 v16, -v8, v15, v9
s_nop 4
v_div_fmas_f32 v17, v16, v12, v15
v_div_fixup_f32 v30, v17, v4, v0
""",
    F64: """
v_div_scale_f64 v[8:9], s[2:3], v[4:5], v[4:5], v[0:1]
v_div_scale_f64 v[10:11], vcc, v[0:1], v[4:5], v[0:1]
v_rcp_f64 v[12:13], v[8:9]
s_nop 0
v_fma_f64 v[14:15], -v[8:9], v[12:13], 1.0
v_fma_f64 v[16:17], v[12:13], v[14:15], v[12:13]
v_fma_f64 v[18:19], -v[8:9], v[16:17], 1.0
v_fma_f64 v[20:21], v[16:17], v[18:19], v[16:17]
v_mul_f64 v[22:23], v[10:11], v[20:21]
v_fma_f64 v[24:25], -v[8:9], v[22:23], v[10:11]
s_nop 4
v_div_fmas_f64 v[26:27], v[24:25], v[20:21], v[22:23]
v_div_fixup_f64 v[30:31], v[26:27], v[4:5], v[0:1]
""",
}


def _fixup(lane: Lane) -> int:
    """The sign and special cases of c / b; else |a| with that sign."""
    a, b, c = lane.a & 0xFFFF, lane.b & 0xFFFF, lane.c & 0xFFFF
    ordinary = not any(F16.is_nan(x) or F16.is_infinite(x) or F16.is_zero(x) for x in (b, c))
    quotient = F16.infinity if F16.is_nan(a) else a & ~F16.sign
    return quotient | (b ^ c) & F16.sign if ordinary else ef.divide(F16, c, b)


def _kept(want: Callable[[Lane], int]) -> Callable[[Lane], int]:
    return lambda lane: want(lane) | lane.d & 0xFFFF0000


FIXUPS = [
    Op("v_div_fixup_f16 {d}, {a}, {b}, {c}", _kept(_fixup), "f16", nan=(F16, F16)),
    Op("v_div_fixup_legacy_f16 {d}, {a}, {b}, {c}", _fixup, "f16", nan=(F16,)),
]


def test_f16_fixup() -> None:
    check(FIXUPS)


OPS = [*SCALES, *FIXUPS]
SEQUENCED = {line.split()[0] for text in SEQUENCES.values() for line in text.splitlines() if line}
