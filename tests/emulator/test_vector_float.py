"""f32, f16 and f64 arithmetic of the vector ALU against exact rationals rounded once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor, trunc

import exact_float as ef
import pytest
from exact_float import F16, F32, F64, Env, Format
from vector_support import DEFAULT_MODE, M16, Lane, Op, check, signed

pytestmark = pytest.mark.amd

OP3 = "{d}, {a}, {b}, {c}"
OP2 = "{d}, {a}, {b}"
OP1 = "{d}, {a}"
KIND = {F16: "f16", F32: "f32", F64: "f64"}


def codes(form: Format, lane: Lane) -> list[int]:
    """The sources' codes."""
    mask = (1 << form.bits) - 1
    return [value & mask for value in (lane.a2, lane.b2, lane.c2)]


def op(
    form: Format,
    text: str,
    want: Callable[..., int],
    *,
    keeps: bool = False,
    mode: int = DEFAULT_MODE,
    arch: str = "gfx942",
) -> Op:
    """An operation on as many sources as the text names; an f16 result's upper half becomes 0, or is kept."""
    if form is F64:
        text = text.replace("{d}", "{d2}").replace("{a}", "{a2}").replace("{b}", "{b2}").replace("{c}", "{c2}")
    count = sum(name in text for name in ("{a", "{b", "{c"))

    def result(lane: Lane) -> int:
        code = want(*codes(form, lane)[:count])
        return code | (lane.d & 0xFFFF0000 if keeps else 0)

    return Op(text, result, KIND[form], 2 if form is F64 else 1, (form,), arch=arch, mode=mode)


def arithmetic(form: Format, name: str, env: Env, mode: int) -> list[Op]:
    """What rounds."""

    def reverse(a: int, b: int) -> int:
        return ef.sub(form, b, a, env)

    def bind(function: Callable[..., int]) -> Callable[..., int]:
        return lambda *values: function(form, *values, env)

    made = [
        op(form, f"v_add_{name} {OP2}", bind(ef.add), mode=mode),
        op(form, f"v_mul_{name} {OP2}", bind(ef.mul), mode=mode),
        op(form, f"v_fma_{name} {OP3}", bind(ef.fma), mode=mode, keeps=form is F16),
    ]
    if form is not F64:
        made += [
            op(form, f"v_sub_{name} {OP2}", bind(ef.sub), mode=mode),
            op(form, f"v_subrev_{name} {OP2}", reverse, mode=mode),
        ]
    return made if env == ef.DEFAULT else [replace(one, stride=4) for one in made]


def unary(form: Format, name: str) -> list[Op]:
    """To integral values, and a value's parts."""

    def integral(whole: Callable[[Fraction], int]) -> Callable[[int], int]:
        return lambda a: ef.to_integral(form, a, whole)

    def fract(a: int) -> int:
        if form.is_nan(a) or form.is_infinite(a):
            return form.nan
        value = form.value(a)
        part = value - floor(value)
        return min(form.nearest(part), form.one - 1) if part else 0

    def split(a: int) -> tuple[int, int]:
        if form.is_nan(a) or form.is_infinite(a) or form.is_zero(a):
            return a, 0
        size = abs(form.value(a))
        exponent = size.numerator.bit_length() - size.denominator.bit_length() + 1
        exponent -= size < Fraction(2) ** (exponent - 1)
        return form.nearest(size / Fraction(2) ** exponent) | a & form.sign, exponent

    exp = "i16" if form is F16 else "i32"
    whole = M16 if form is F16 else 0xFFFFFFFF
    exponent = op(form, f"v_frexp_exp_{exp}_{name} {OP1}", lambda a: split(a)[1] & whole)
    exponent = Op(exponent.text.replace("{d2}", "{d}"), exponent.want, KIND[form])
    return [
        op(form, f"v_trunc_{name} {OP1}", integral(trunc)),
        op(form, f"v_ceil_{name} {OP1}", integral(ceil)),
        op(form, f"v_floor_{name} {OP1}", integral(floor)),
        op(form, f"v_rndne_{name} {OP1}", integral(round)),
        op(form, f"v_fract_{name} {OP1}", fract),
        op(form, f"v_frexp_mant_{name} {OP1}", lambda a: split(a)[0]),
        exponent,
    ]


def ldexp(form: Format, text: str, bits: int, env: Env = ef.DEFAULT, mode: int = DEFAULT_MODE) -> Op:
    """a * 2^b."""

    def result(lane: Lane) -> int:
        a, by = codes(form, lane)[0], signed(lane.b, bits)
        a = env.enter(form, a)
        if form.is_nan(a):
            return form.nan
        if form.is_infinite(a) or form.is_zero(a):
            return a
        return env.leave(form, form.value(a) * Fraction(2) ** max(-3000, min(3000, by)), 0)

    return Op(text, result, KIND[form], 2 if form is F64 else 1, (form,), mode=mode)


def ldexps(form: Format, name: str) -> list[Op]:
    """Small and large powers."""
    d, a = ("{d2}", "{a2}") if form is F64 else ("{d}", "{a}")
    start = f"v_ldexp_{name}{'_e64' if form is F16 else ''} {d}, {a}, "
    powers = [_ldexp_by(form, f"{start}{power}", power) for power in (-16, -5, -1, 0, 3, 24)]
    return [ldexp(form, start + "{b}", 16 if form is F16 else 32), *powers]


def _ldexp_by(form: Format, text: str, power: int) -> Op:
    inner = ldexp(form, text, 32)

    def result(lane: Lane) -> int:
        want = inner.want(Lane(lane.wide_a, power & 0xFFFFFFFF, 0, 0, 0))
        assert isinstance(want, int)
        return want

    return Op(text, result, KIND[form], inner.dwords, (form,))


def ordering(form: Format, name: str, *, ieee: bool = True) -> list[Op]:
    """Minima and maxima: which source it is matters to the bit, NaNs included."""
    mode = DEFAULT_MODE if ieee else DEFAULT_MODE & ~0x200

    def pick(most: bool) -> Callable[..., int]:
        def chosen(first: int, *rest: int) -> int:
            for other in rest:
                first = ef.min_max(form, first, other, most=most, ieee=ieee)
            return first

        return chosen

    made = [
        op(form, f"v_min_{name} {OP2}", pick(False), mode=mode),
        op(form, f"v_max_{name} {OP2}", pick(True), mode=mode),
    ]
    if form is not F64:
        keeps = form is F16
        made += [
            op(form, f"v_min3_{name} {OP3}", pick(False), mode=mode, keeps=keeps),
            op(form, f"v_max3_{name} {OP3}", pick(True), mode=mode, keeps=keeps),
        ]
        if ieee:
            made.append(op(form, f"v_med3_{name} {OP3}", lambda a, b, c: ef.med3(form, a, b, c), keeps=keeps))
    return [Op(one.text, one.want, one.data, one.dwords, (), mode=one.mode) for one in made]


def _nan3(most: bool) -> Callable[..., int]:
    def chosen(a: int, b: int, c: int) -> int:
        return ef.minimum_maximum(F32, ef.minimum_maximum(F32, a, b, most=most), c, most=most)

    return chosen


GFX950 = [
    op(F32, f"v_minimum3_f32 {OP3}", _nan3(False), arch="gfx950"),
    op(F32, f"v_maximum3_f32 {OP3}", _nan3(True), arch="gfx950"),
]


def _mad(a: int, b: int, c: int) -> int:
    return ef.add(F16, ef.mul(F16, a, b), c)


def _mac(lane: Lane) -> int:
    return _mad(lane.a & M16, lane.b & M16, lane.d & M16)


def _mad32(a: int, b: int, c: int, env: Env) -> int:
    return ef.add(F32, ef.mul(F32, a, b, env), c, env)


def older(env: Env, mode: int) -> list[Op]:
    """What only gfx90a has."""

    def mac(lane: Lane) -> int:
        return _mad32(lane.a, lane.b, lane.d, env)

    def at(text: str, want: Callable[..., int]) -> Op:
        return op(F32, text, want, mode=mode, arch="gfx90a")

    return [
        at(f"v_mad_f32 {OP3}", lambda a, b, c: _mad32(a, b, c, env)),
        at("v_madmk_f32 {d}, {a}, 0x3eaaaaab, {b}", lambda a, b: _mad32(a, 0x3EAAAAAB, b, env)),
        at("v_madak_f32 {d}, {a}, {b}, 0xc0490fdb", lambda a, b: _mad32(a, b, 0xC0490FDB, env)),
        Op("v_mac_f32 {d}, {a}, {b}", mac, "f32", nan=(F32,), arch="gfx90a", mode=mode),
    ]


ACCUMULATING = [
    Op("v_fmac_f32 {d}, {a}, {b}", lambda lane: ef.fma(F32, lane.a, lane.b, lane.d), "f32", nan=(F32,)),
    Op("v_fmac_f32_e64 {d}, -{a}, |{b}|",
       lambda lane: ef.fma(F32, lane.a ^ F32.sign, lane.b & ~F32.sign, lane.d), "f32", nan=(F32,)),
    Op("v_fmac_f64 {d2}, {a2}, {b2}", lambda lane: ef.fma(F64, lane.a2, lane.b2, lane.d2), "f64", 2, (F64,)),
    Op("v_mac_f16 {d}, {a}, {b}", _mac, "f16", nan=(F16,)),
    op(F16, f"v_mad_f16 {OP3}", _mad, keeps=True),
    op(F16, f"v_mad_legacy_f16 {OP3}", _mad),
    op(F16, f"v_fma_legacy_f16 {OP3}", lambda a, b, c: ef.fma(F16, a, b, c)),
    op(F16, "v_madmk_f16 {d}, {a}, 0x3555, {b}", lambda a, b: _mad(a, 0x3555, b)),
    op(F16, "v_madak_f16 {d}, {a}, {b}, 0xc123", lambda a, b: _mad(a, b, 0xC123)),
    op(F32, "v_fmamk_f32 {d}, {a}, 0x3eaaaaab, {b}", lambda a, b: ef.fma(F32, a, 0x3EAAAAAB, b)),
    op(F32, "v_fmaak_f32 {d}, {a}, {b}, 0xc0490fdb", lambda a, b: ef.fma(F32, a, b, 0xC0490FDB)),
    op(F32, f"v_mul_legacy_f32 {OP2}",
       lambda a, b: 0 if F32.is_zero(a) or F32.is_zero(b) else ef.mul(F32, a, b)),
    Op("v_pack_b32_f16 {d}, {a}, {b} op_sel:[1,0,0]", lambda lane: lane.a >> 16 | (lane.b & M16) << 16, "f16"),
]  # fmt: skip


def _face(x: int, y: int, z: int) -> int:
    sizes = [0.0 if F32.is_zero(one) else float(F32.value(one)) for one in (x, y, z)]
    ax, ay, az = map(abs, sizes)
    if az >= ax and az >= ay:
        return 5 if sizes[2] < 0 else 4
    return (3 if sizes[1] < 0 else 2) if ay >= ax else 1 if sizes[0] < 0 else 0


def _cube(name: str, values: Callable[[int, int, int], Sequence[int]]) -> Op:
    """`values`: the result for each face; infinities and NaNs are left alone by graphics."""

    def result(x: int, y: int, z: int) -> int:
        return values(x, y, z)[_face(x, y, z)]

    return op(F32, f"v_{name}_f32 {OP3}", result)


def _minus(code: int) -> int:
    return code ^ F32.sign


def _double(code: int) -> int:
    return ef.add(F32, code, code)


CUBE = [
    _cube("cubeid", lambda x, y, z: [F32.nearest(Fraction(n)) if n else 0 for n in range(6)]),
    _cube("cubesc", lambda x, y, z: [_minus(z), z, x, x, x, _minus(x)]),
    _cube("cubetc", lambda x, y, z: [_minus(y), _minus(y), z, _minus(z), _minus(y), _minus(y)]),
    _cube("cubema", lambda x, y, z: [_double(one) for one in (x, x, y, y, z, z)]),
]


def mode_bits(env: Env, wide: bool) -> int:
    """MODE with the env in f32's fields, or in those of f16 and f64; the other pair as it starts."""
    denormals = (not env.flush_inputs) | (not env.flush_results) << 1
    if wide:
        return 0x300 | env.rounding << 2 | denormals << 6 | 0x30
    return 0x300 | env.rounding | denormals << 4 | 0xC0


ENVS = [
    ef.DEFAULT, Env(ef.UP), Env(ef.DOWN), Env(ef.ZERO), Env(ef.EVEN, True, True), Env(ef.EVEN, True, False),
    Env(ef.ZERO, False, True),
]  # fmt: skip
ROUNDING = [
    one
    for form, name in ((F32, "f32"), (F16, "f16"), (F64, "f64"))
    for env in ENVS
    for one in arithmetic(form, name, env, mode_bits(env, form is not F32))
]
ROUNDING += [one for env in ENVS[::4] for one in older(env, mode_bits(env, wide=False))]
UNARY = [*unary(F32, "f32"), *unary(F16, "f16"), *unary(F64, "f64")]
LDEXP = [*ldexps(F32, "f32"), *ldexps(F16, "f16"), *ldexps(F64, "f64")]
ORDERING = [
    *ordering(F32, "f32"), *ordering(F16, "f16"), *ordering(F64, "f64"), *ordering(F32, "f32", ieee=False),
    *ordering(F16, "f16", ieee=False), *GFX950,
]  # fmt: skip

OPS = ROUNDING + UNARY + LDEXP + ORDERING + ACCUMULATING + CUBE


@pytest.mark.parametrize(
    "ops", [ROUNDING, UNARY, LDEXP, ORDERING, ACCUMULATING], ids=["rounding", "unary", "ldexp", "ordering", "fused"]
)
def test_floats(ops: list[Op]) -> None:
    check(ops)


def test_cube_faces() -> None:
    check([Op(one.text, one.want, "cube", nan=(F32,)) for one in CUBE])
