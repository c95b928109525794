"""The vector ALU as a whole: source and result modifiers, MODE, and that every operation is tested somewhere."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import exact_float as ef
import pytest
import test_packed
import test_vector_compare
import test_vector_divide
import test_vector_float
import test_vector_int
import test_vector_math
from exact_float import F16, F32, F64, Env, Format
from step_support import assemble, emulator
from vector_support import DEFAULT_MODE, M16, Lane, Op, check

from ckgen_emulator.bindings import Wave

pytestmark = pytest.mark.amd

FLUSH_F32, FLUSH_F16 = 0x30, 0xC0
IEEE, DX10_CLAMP = 0x200, 0x100
ELSEWHERE = (
    "v_cvt_", "v_mfma", "v_smfmac", "v_mov_", "v_read", "v_writelane", "v_permlane", "v_swap", "v_accvgpr", "v_mbcnt",
    "v_nop", "v_prng",
)  # fmt: skip
"""Conversions, moves across lanes and matrix operations have tests of their own."""


def clamped(form: Format, code: int, keeps_nan: bool = False) -> int:
    """Into 0…1."""
    if form.is_nan(code):
        return code if keeps_nan else 0
    return 0 if code & form.sign else min(code, form.one)


def one(form: Format, kind: str, text: str, want: Callable[[int, int], int], mode: int = DEFAULT_MODE) -> Op:
    """An operation on two sources."""
    mask = (1 << form.bits) - 1
    return Op(
        text, lambda lane: want(lane.a2 & mask, lane.b2 & mask), kind, 2 if form is F64 else 1, (form,), mode=mode
    )


def _signs(form: Format) -> Callable[[int, int], int]:
    return lambda a, b: ef.add(form, a & ~form.sign | form.sign, b ^ form.sign)


def _clamp(form: Format, keeps_nan: bool = False) -> Callable[[int, int], int]:
    return lambda a, b: clamped(form, ef.add(form, a, b), keeps_nan)


MODIFIERS = [
    one(F32, "f32", "v_add_f32_e64 {d}, -|{a}|, -{b}", _signs(F32)),
    one(F16, "f16", "v_add_f16_e64 {d}, -|{a}|, -{b}", _signs(F16)),
    one(F64, "f64", "v_add_f64 {d2}, -|{a2}|, -{b2}", _signs(F64)),
    one(F32, "f32", "v_add_f32_e64 {d}, {a}, {b} clamp", _clamp(F32)),
    one(F16, "f16", "v_add_f16_e64 {d}, {a}, {b} clamp", _clamp(F16)),
    one(F64, "f64", "v_add_f64 {d2}, {a2}, {b2} clamp", _clamp(F64)),
    one(F32, "f32", "v_add_f32_e64 {d}, {a}, {b} clamp", _clamp(F32, True), DEFAULT_MODE & ~DX10_CLAMP),
    one(F32, "f32", "v_max_f32_e64 {d}, {a}, {b} clamp",
        lambda a, b: clamped(F32, ef.min_max(F32, a, b, most=True))),
]  # fmt: skip


def _scaled(form: Format, factor: Fraction) -> Callable[[int, int], int]:
    """omod; denormals are flushed wherever it works, and -0 becomes 0."""

    def result(a: int, b: int) -> int:
        env = Env(ef.EVEN, True, True)
        code = ef.mul(form, ef.mul(form, a, b, env), form.nearest(factor), env)
        return 0 if form.is_zero(code) else code

    return result


SCALED = [
    one(form, kind, f"v_mul_{kind}{'' if form is F64 else '_e64'} {operands} {text}", _scaled(form, factor),
        DEFAULT_MODE & ~IEEE & ~flush)
    for form, kind, operands, flush in (
        (F32, "f32", "{d}, {a}, {b}", FLUSH_F32), (F64, "f64", "{d2}, {a2}, {b2}", FLUSH_F16),
        (F16, "f16", "{d}, {a}, {b}", FLUSH_F16),
    )
    for text, factor in (("mul:2", Fraction(2)), ("mul:4", Fraction(4)), ("div:2", Fraction(1, 2)))
]  # fmt: skip
UNSCALED = [
    one(F32, "f32", "v_mul_f32_e64 {d}, {a}, {b} mul:2", lambda a, b: ef.mul(F32, a, b), mode)
    for mode in (DEFAULT_MODE, DEFAULT_MODE & ~IEEE)
]  # denormals are kept


def _flushing(form: Format, most: bool) -> Callable[[int, int], int]:
    return lambda a, b: ef.min_max(form, form.flushed(a), form.flushed(b), most=most)


FLUSHING = [
    one(F32, "f32", "v_max_f32 {d}, {a}, {b}", _flushing(F32, True), DEFAULT_MODE & ~FLUSH_F32),
    one(F32, "f32", "v_min_f32 {d}, {a}, {b}", _flushing(F32, False), DEFAULT_MODE & ~FLUSH_F32),
    one(F16, "f16", "v_max_f16 {d}, {a}, {b}", _flushing(F16, True), DEFAULT_MODE & ~FLUSH_F16),
    one(F64, "f64", "v_min_f64 {d2}, {a2}, {b2}", _flushing(F64, False), DEFAULT_MODE & ~FLUSH_F16),
]
PARTS = [
    Op(
        "v_add_f16_sdwa {d}, {a}, {b} dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:WORD_0",
        lambda lane: lane.d & M16 | ef.add(F16, lane.a >> 16, lane.b & M16) << 16, "f16", nan=(F16, F16),
    ),
    Op(
        "v_mul_f16_sdwa {d}, -{a}, |{b}| dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_0 src1_sel:WORD_1",
        lambda lane: ef.mul(F16, lane.a & M16 ^ F16.sign, lane.b >> 16 & 0x7FFF), "f16", nan=(F16,),
    ),
    Op("v_fma_f16 {d}, {a}, {b}, {c} op_sel:[1,0,1,1]",
       lambda lane: lane.d & M16 | ef.fma(F16, lane.a >> 16, lane.b & M16, lane.c >> 16) << 16, "f16", nan=(F16, F16)),
    Op("v_max3_f16 {d}, {a}, {b}, {c} op_sel:[0,1,0,0]", lambda lane: lane.d & 0xFFFF0000 | _max3(lane), "f16"),
    Op("v_add_f32 {d}, {sa}, {b}", lambda lane: ef.add(F32, lane.a, lane.b), "f32", nan=(F32,)),
    Op("v_fma_f32 {d}, {a}, 4.0, {c}", lambda lane: ef.fma(F32, lane.a, 0x40800000, lane.c), "f32", nan=(F32,)),
    Op("v_mul_f16 {d}, 0.15915494, {b}", lambda lane: ef.mul(F16, 0x3118, lane.b & M16), "f16", nan=(F16,)),
    Op("v_fma_f64 {d2}, {a2}, -2.0, {c2}", lambda lane: ef.fma(F64, lane.a2, 0xC0 << 56, lane.c2), "f64", 2, (F64,)),
]  # fmt: skip


def _max3(lane: Lane) -> int:
    values = [lane.a & M16, lane.b >> 16, lane.c & M16]
    return ef.min_max(F16, ef.min_max(F16, values[0], values[1], most=True), values[2], most=True)


OPS = MODIFIERS + SCALED + UNSCALED + FLUSHING + PARTS


@pytest.mark.parametrize(
    "ops", [MODIFIERS, SCALED, UNSCALED, FLUSHING, PARTS], ids=["modifiers", "omod", "no-omod", "flushing", "parts"]
)
def test_modifiers(ops: list[Op]) -> None:
    check(ops)


def test_dpp_keeps_lanes_without_a_source() -> None:
    """row_shr:1: lane 0 of each row of 16 has none, and keeps its old value unless bound_ctrl makes it 0."""
    wave = Wave()
    wave.vectors[0], wave.vectors[1] = range(100, 164), range(64)
    wave.vectors[2] = wave.vectors[3] = 7
    code = assemble(
        "v_add_u32_dpp v2, v0, v1 row_shr:1 row_mask:0xf bank_mask:0xf\n"
        "v_add_u32_dpp v3, v0, v1 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0",
        "gfx942",
    )
    assert not emulator("gfx942").step(code, wave).findings
    shifted = [100 + lane - 1 + lane for lane in range(64)]
    assert wave.vectors[2].tolist() == [shifted[lane] if lane % 16 else 7 for lane in range(64)]
    assert wave.vectors[3].tolist() == [shifted[lane] if lane % 16 else lane for lane in range(64)]


def test_every_operation_is_executed_by_a_test() -> None:
    modules = (
        test_vector_int, test_vector_float, test_vector_math, test_vector_divide, test_packed, test_vector_compare,
    )  # fmt: skip
    tested = {op.name for module in modules for op in module.OPS} | {op.name for op in OPS}
    tested |= test_vector_divide.SEQUENCED | {op.name.replace("v_cmp_", "v_cmpx_") for op in test_vector_compare.CMPX}
    known = {name for arch in ("gfx942", "gfx950") for name, runs in emulator(arch).opcodes().items() if runs}
    mine = {name for name in known if name.startswith("v_") and not name.startswith(ELSEWHERE)}
    assert not mine - tested
