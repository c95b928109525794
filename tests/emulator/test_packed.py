"""Packed operations, dot products and fma_mix against their definitions on each half."""

from __future__ import annotations

from collections.abc import Callable

import exact_float as ef
import pytest
from exact_float import BF16, F16, F32, Format
from step_support import emulator
from vector_support import DEFAULT_MODE, M16, M32, Lane, Op, check, saturated, signed

pytestmark = pytest.mark.amd

Want = Callable[..., int]


def _halves(lane: Lane, count: int, select: int) -> list[int]:
    values = (lane.a, lane.b, lane.c)[:count]
    return [value >> 16 * (select >> at & 1) & M16 for at, value in enumerate(values)]


def packed(name: str, want: Want, count: int, data: str, *, nan: bool = False, arch: str = "gfx942", extra: str = "",
           low: int = 0, high: int = 7, neg: tuple[int, int] = (0, 0), mode: int = DEFAULT_MODE) -> Op:  # fmt: skip
    """Both halves; `low` and `high` are op_sel and op_sel_hi, `neg` the bits of neg_lo and neg_hi."""

    def bits(value: int) -> str:
        return "[" + ",".join(str(value >> at & 1) for at in range(count)) + "]"

    def result(lane: Lane) -> int:
        parts = []
        for select, signs in ((low, neg[0]), (high, neg[1])):
            values = _halves(lane, count, select)
            parts.append(want(*(value ^ (signs >> at & 1) << 15 for at, value in enumerate(values))) & M16)
        return parts[0] | parts[1] << 16

    text = f"{name} " + ", ".join(("{d}", "{a}", "{b}", "{c}")[: count + 1])
    if (low, high) != (0, 7):
        text += f" op_sel:{bits(low)} op_sel_hi:{bits(high)}"
    if neg != (0, 0):
        text += f" neg_lo:{bits(neg[0])} neg_hi:{bits(neg[1])}"
    return Op(f"{text} {extra}".strip(), result, data, 1, (F16, F16) if nan else (), arch, mode)


def integer(name: str, want: Want, is_signed: bool, count: int = 2, clamp: bool = True) -> list[Op]:
    """Wrapping, with other halves, saturating."""

    def exact(*values: int) -> int:
        return want(*(signed(one, 16) if is_signed else one for one in values))

    made = [packed(name, exact, count, "u16"), packed(name, exact, count, "u16", low=0b101, high=0b010)]
    if clamp:
        limited = packed(
            name, lambda *values: saturated(exact(*values), 16, is_signed=is_signed), count, "u16", extra="clamp"
        )
        made.append(limited)
    return made


INTEGERS = [
    *integer("v_pk_add_u16", lambda a, b: a + b, False),
    *integer("v_pk_add_i16", lambda a, b: a + b, True),
    *integer("v_pk_sub_u16", lambda a, b: a - b, False),
    *integer("v_pk_sub_i16", lambda a, b: a - b, True),
    *integer("v_pk_mad_u16", lambda a, b, c: a * b + c, False, 3),
    *integer("v_pk_mad_i16", lambda a, b, c: a * b + c, True, 3),
    *integer("v_pk_mul_lo_u16", lambda a, b: a * b, False, clamp=False),
    *integer("v_pk_min_u16", min, False, clamp=False),
    *integer("v_pk_max_u16", max, False, clamp=False),
    *integer("v_pk_min_i16", min, True, clamp=False),
    *integer("v_pk_max_i16", max, True, clamp=False),
    *integer("v_pk_lshlrev_b16", lambda a, b: b << a % 16, False, clamp=False),
    *integer("v_pk_lshrrev_b16", lambda a, b: b >> a % 16, False, clamp=False),
    *integer("v_pk_ashrrev_i16", lambda a, b: b >> (a & 15), True, clamp=False),
]


def on(form: Format, function: Callable[..., int]) -> Want:
    """The function for a format."""
    return lambda *values: function(form, *values)


def _clamped(function: Want) -> Want:
    """Into 0…1, NaN as 0."""

    def result(*values: int) -> int:
        code = function(*values)
        return 0 if F16.is_nan(code) or code & F16.sign else min(code, F16.one)

    return result


def halves(name: str, want: Want, count: int) -> list[Op]:
    """Plain, with other halves and signs."""
    return [
        packed(name, want, count, "f16", nan=True),
        packed(name, want, count, "f16", nan=True, low=0b110, high=0b011, neg=(0b001, 0b110)),
    ]


def _accumulated(lane: Lane) -> int:
    parts = [ef.fma(F16, lane.a >> s & M16, lane.b >> s & M16, lane.d >> s & M16) for s in (0, 16)]
    return parts[0] | parts[1] << 16


def _extreme(most: bool) -> Want:
    return lambda a, b: ef.min_max(F16, a, b, most=most)


def _extremum(most: bool) -> Want:
    def result(a: int, b: int, c: int) -> int:
        return ef.minimum_maximum(F16, ef.minimum_maximum(F16, a, b, most=most), c, most=most)

    return result


def _flushed(a: int, b: int, c: int) -> int:
    return ef.fma(F16, a, b, c, ef.Env(ef.EVEN, True, True))


HALVES = [
    *halves("v_pk_add_f16", on(F16, ef.add), 2),
    *halves("v_pk_mul_f16", on(F16, ef.mul), 2),
    *halves("v_pk_fma_f16", on(F16, ef.fma), 3),
    packed("v_pk_fma_f16", _clamped(on(F16, ef.fma)), 3, "f16", extra="clamp"),
    packed("v_pk_fma_f16", _flushed, 3, "f16", nan=True, mode=DEFAULT_MODE & ~0xC0),
    Op("v_pk_fmac_f16 {d}, {a}, {b}", _accumulated, "f16", nan=(F16, F16)),
    packed("v_pk_min_f16", _extreme(False), 2, "f16"),
    packed("v_pk_max_f16", _extreme(True), 2, "f16", neg=(0b10, 0b01)),
    packed("v_pk_minimum3_f16", _extremum(False), 3, "f16", arch="gfx950"),
    packed("v_pk_maximum3_f16", _extremum(True), 3, "f16", arch="gfx950"),
]


def pair(text: str, want: Want, count: int, low: int = 0, high: int = 7, neg: tuple[int, int] = (0, 0)) -> Op:
    """Two f32 in register pairs."""

    def result(lane: Lane) -> int:
        parts = []
        for select, signs in ((low, neg[0]), (high, neg[1])):
            wide = (lane.a2, lane.b2, lane.c2)[:count]
            values = [value >> 32 * (select >> at & 1) & M32 for at, value in enumerate(wide)]
            parts.append(want(*(value ^ (signs >> at & 1) << 31 for at, value in enumerate(values))))
        return parts[0] | parts[1] << 32

    return Op(text, result, "f32", 2, (F32, F32))


PAIRS = [
    pair("v_pk_add_f32 {d2}, {a2}, {b2}", on(F32, ef.add), 2),
    pair("v_pk_mul_f32 {d2}, {a2}, {b2} op_sel:[1,0] op_sel_hi:[0,1]", on(F32, ef.mul), 2, 0b01, 0b10),
    pair("v_pk_mul_f32 {d2}, {a2}, {b2} op_sel_hi:[1,0]", on(F32, ef.mul), 2, 0, 0b01),
    pair("v_pk_fma_f32 {d2}, {a2}, {b2}, {c2}", on(F32, ef.fma), 3),
    pair("v_pk_fma_f32 {d2}, {a2}, {b2}, {c2} op_sel:[0,1,0] op_sel_hi:[1,1,0] neg_lo:[1,0,0] neg_hi:[0,0,1]",
         on(F32, ef.fma), 3, 0b010, 0b011, (0b001, 0b100)),
    pair("v_pk_fma_f32 {d2}, {sa2}, {b2}, {c2}", on(F32, ef.fma), 3),
    Op("v_pk_mul_f32 {d2}, {a2}, 0.5 op_sel_hi:[1,0]",
       lambda lane: ef.mul(F32, lane.a, 0x3F000000) | ef.mul(F32, lane.a2 >> 32, 0x3F000000) << 32,
       "f32", 2, (F32, F32)),
    Op("v_pk_mov_b32 {d2}, {a2}, {b2} op_sel:[1,0]", lambda lane: lane.a2 >> 32 | lane.b << 32, "u64", 2),
    Op("v_pk_mov_b32 {d2}, {a2}, {b2} op_sel:[0,1]", lambda lane: lane.a | lane.b2 >> 32 << 32, "u64", 2),
]  # fmt: skip


def mixed(text: str, sources: Callable[[Lane], tuple[int, int, int]], place: str, mode: int = DEFAULT_MODE) -> Op:
    """The sources as f32 codes; rounded to f32, then where the result is f16 again."""

    def result(lane: Lane) -> int:
        code = ef.fma(F32, *sources(lane))
        half = ef.converted(F32, F16, code)
        return {"f32": code, "lo": lane.d & 0xFFFF0000 | half, "hi": lane.d & M16 | half << 16}[place]

    return Op(text, result, "f16", nan=(F32,) if place == "f32" else (F16, F16), mode=mode)


def wide(code: int) -> int:
    """An f16 as f32."""
    return ef.converted(F16, F32, code & M16)


MIXED = [
    mixed("v_fma_mix_f32 {d}, {a}, {b}, {c}", lambda lane: (lane.a, lane.b, lane.c), "f32"),
    mixed("v_fma_mix_f32 {d}, {a}, -|{b}|, {c} op_sel:[1,0,0] op_sel_hi:[1,1,0]",
          lambda lane: (wide(lane.a >> 16), wide(lane.b) | F32.sign, lane.c), "f32"),
    mixed("v_fma_mixlo_f16 {d}, {a}, {b}, -{c} op_sel:[0,1,0] op_sel_hi:[1,1,1]",
          lambda lane: (wide(lane.a), wide(lane.b >> 16), wide(lane.c) ^ F32.sign), "lo"),
    mixed("v_fma_mixhi_f16 {d}, {a}, {b}, {c} op_sel_hi:[1,0,1]",
          lambda lane: (wide(lane.a), lane.b, wide(lane.c)), "hi"),
    mixed("v_fma_mix_f32 {d}, {a}, {b}, {c} op_sel_hi:[1,0,1]",
          lambda lane: (wide(F16.flushed(lane.a & M16)), lane.b, wide(F16.flushed(lane.c & M16))), "f32",
          DEFAULT_MODE & ~0x40),
]  # fmt: skip


def fields(value: int, bits: int, is_signed: bool) -> list[int]:
    """From the lowest."""
    parts = [value >> at & ((1 << bits) - 1) for at in range(0, 32, bits)]
    return [signed(part, bits) for part in parts] if is_signed else parts


def dot(name: str, bits: int, is_signed: bool, accumulates: bool = False) -> list[Op]:
    """Integer dot products: wrapping, saturating."""

    def exact(lane: Lane) -> int:
        addend = lane.d if accumulates else lane.c
        products = zip(fields(lane.a, bits, is_signed), fields(lane.b, bits, is_signed), strict=True)
        return sum(a * b for a, b in products) + (signed(addend, 32) if is_signed else addend)

    text = f"{name} {{d}}, {{a}}, {{b}}" + ("" if accumulates else ", {c}")
    wraps = Op(text, lambda lane: exact(lane) & M32, "u16")
    limited = Op(f"{text} clamp", lambda lane: saturated(exact(lane), 32, is_signed=is_signed), "u16")
    return [wraps] if accumulates else [wraps, limited]


def float_dot(form: Format, text: str, order: str, signs: int = 0, arch: str = "gfx942") -> Op:
    """Sums in `order` of the products 0 and 1 and the addend c or d, each rounded to f32."""

    def result(lane: Lane) -> int:
        def factor(value: int, half: str) -> int:
            return ef.converted(form, F32, value >> 16 * int(half) & M16)

        total = -1
        for term in order:
            if term in "cd":
                code = lane.c ^ (signs >> 2 & 1) << 31 if term == "c" else lane.d
                total = code if total < 0 else ef.add(F32, total, code)
            else:
                a, b = factor(lane.a, term), factor(lane.b, term)
                total = ef.mul(F32, a, b) if total < 0 else ef.fma(F32, a, b, total)
        return total

    return Op(text, result, "f16" if form is F16 else "bf16", nan=(F32,), arch=arch)


DOTS = [
    *dot("v_dot2_i32_i16", 16, True),
    *dot("v_dot2_u32_u16", 16, False),
    *dot("v_dot4_i32_i8", 8, True),
    *dot("v_dot4_u32_u8", 8, False),
    *dot("v_dot8_i32_i4", 4, True),
    *dot("v_dot8_u32_u4", 4, False),
    *dot("v_dot2c_i32_i16", 16, True, True),
    *dot("v_dot4c_i32_i8", 8, True, True),
    *dot("v_dot8c_i32_i4", 4, True, True),
    float_dot(F16, "v_dot2_f32_f16 {d}, {a}, {b}, {c}", "c01"),
    float_dot(F16, "v_dot2_f32_f16 {d}, {a}, {b}, {c} neg_lo:[0,0,1] neg_hi:[0,0,1]", "c01", signs=0b100),
    float_dot(F16, "v_dot2c_f32_f16 {d}, {a}, {b}", "d01"),
    float_dot(BF16, "v_dot2_f32_bf16 {d}, {a}, {b}, {c}", "01c", arch="gfx950"),
    float_dot(BF16, "v_dot2c_f32_bf16 {d}, {a}, {b}", "d01", arch="gfx950"),
]  # fmt: skip

OPS = INTEGERS + HALVES + PAIRS + MIXED + DOTS


@pytest.mark.parametrize(
    "ops", [INTEGERS, HALVES, PAIRS, MIXED, DOTS], ids=["integers", "halves", "pairs", "mixed", "dots"]
)
def test_packed(ops: list[Op]) -> None:
    check(ops)


def test_every_packed_operation_is_executed_here() -> None:
    known = {name for arch in ("gfx942", "gfx950") for name, runs in emulator(arch).opcodes().items() if runs}
    assert {name for name in known if name.startswith(("v_pk_", "v_dot", "v_fma_mix"))} == {op.name for op in OPS}
