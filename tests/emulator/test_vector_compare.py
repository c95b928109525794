"""v_cmp and v_cmpx of every type against the relation on exact values."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from exact_float import F16, F32, F64, Format, less
from step_support import assemble, emulator
from vector_support import DEFAULT_MODE, Lane, Op, check, lanes_of, signed, sources

from ckgen_emulator.bindings import Wave

pytestmark = pytest.mark.amd

INTEGERS = {"f": "", "lt": "<", "eq": "=", "le": "<=", "gt": ">", "ne": "<>", "ge": ">=", "t": "<=>"}
FLOATS = {
    "f": "", "lt": "<", "eq": "=", "le": "<=", "gt": ">", "lg": "<>", "ge": ">=", "o": "<=>",
    "u": "?", "nge": "<?", "nlg": "=?", "ngt": "<=?", "nle": ">?", "neq": "<>?", "nlt": ">=?", "tru": "<=>?",
}  # fmt: skip
"""Outcomes for which a comparison holds; ?: unordered."""

FORMATS: dict[str, Format] = {"f16": F16, "f32": F32, "f64": F64}


def outcome_of_floats(form: Format, a: int, b: int) -> str:
    """<, =, > or ?."""
    if form.is_nan(a) or form.is_nan(b):
        return "?"
    return "<" if less(form, a, b) else ">" if less(form, b, a) else "="


def _float(form: Format, holds: str) -> Callable[[Lane], tuple[int, int]]:
    mask = (1 << form.bits) - 1
    return lambda lane: (0, int(outcome_of_floats(form, lane.a2 & mask, lane.b2 & mask) in holds))


def _integer(bits: int, is_signed: bool, holds: str) -> Callable[[Lane], tuple[int, int]]:
    def result(lane: Lane) -> tuple[int, int]:
        a, b = (signed(x, bits) if is_signed else x & ((1 << bits) - 1) for x in (lane.a2, lane.b2))
        return 0, int(("<" if a < b else ">" if a > b else "=") in holds)

    return result


def _operands(bits: int) -> str:
    return "{s}, {a2}, {b2}" if bits == 64 else "{s}, {a}, {b}"


def relations() -> list[Op]:
    """Every relation of every type."""
    made = []
    for kind, form in FORMATS.items():
        for name, outcomes in FLOATS.items():
            made.append(Op(f"v_cmp_{name}_{kind} {_operands(form.bits)}", _float(form, outcomes), kind, 0))
    for bits in (16, 32, 64):
        for letter in "iu":
            for name, wanted in INTEGERS.items():
                want = _integer(bits, letter == "i", wanted)
                made.append(Op(f"v_cmp_{name}_{letter}{bits} {_operands(bits)}", want, f"u{bits}", 0))
    return made


def class_of(form: Format, code: int) -> int:
    """The bit's number."""
    if form.is_nan(code):
        return 0 if form.is_signalling(code) else 1
    negative = bool(code & form.sign)
    order = (
        form.is_infinite(code),
        not form.is_denormal(code) and not form.is_zero(code),
        form.is_denormal(code),
        True,
    )
    return (2 if negative else 9) + (1 if negative else -1) * order.index(True)


def _class(form: Format, mask: int, change: Callable[[int], int] = int) -> Callable[[Lane], tuple[int, int]]:
    whole = (1 << form.bits) - 1
    return lambda lane: (0, mask >> class_of(form, change(lane.a2 & whole)) & 1)


def _class_of_operand(kind: str, form: Format) -> Op:
    source = "{a2}" if kind == "f64" else "{a}"
    return Op(f"v_cmp_class_{kind} {{s}}, {source}, {{b}}", lambda lane: _class(form, lane.b)(lane), kind, 0)


CLASSES = [_class_of_operand(kind, form) for kind, form in FORMATS.items()
] + [
    Op(f"v_cmp_class_{kind} {{s}}, {'{a2}' if kind == 'f64' else '{a}'}, {1 << bit}",
       _class(form, 1 << bit), kind, 0)
    for kind, form in FORMATS.items() for bit in range(7)
] + [
    Op("v_cmp_class_f32 {s}, -|{a}|, {b}",
       lambda lane: _class(F32, lane.b, lambda code: code | F32.sign)(lane), "f32", 0),
]  # fmt: skip
FLUSHED = [
    Op("v_cmp_lt_f32 {s}, {a}, {b}",
       lambda lane: (0, int(less(F32, F32.flushed(lane.a), F32.flushed(lane.b))
                            and not F32.is_nan(lane.a) and not F32.is_nan(lane.b))),
       "f32", 0, mode=DEFAULT_MODE & ~0x30),
    Op("v_cmp_lt_f64 {s}, {a2}, {b2}", _float(F64, "<"), "f64", 0, mode=DEFAULT_MODE & ~0x30),
]  # fmt: skip
OTHERS = [
    Op("v_cmp_lt_f32 {s}, |{a}|, -{b}",
       lambda lane: (0, int(outcome_of_floats(F32, lane.a & ~F32.sign, lane.b ^ F32.sign) == "<")), "f32", 0),
    Op("v_cmp_gt_i32 {s}, {sa}, {b}", _integer(32, True, ">"), "u32", 0),
    Op("v_cmp_ge_u64 {s}, 5, {b2}", lambda lane: (0, int(lane.b2 <= 5)), "u64", 0),
    Op("v_cmp_lt_f64 {s}, 0.5, {b2}",
       lambda lane: (0, int(outcome_of_floats(F64, F64.nearest(F64.value(F64.one) / 2), lane.b2) == "<")), "f64", 0),
    Op("v_cmp_eq_u32_sdwa {s}, {a}, {b} src0_sel:BYTE_1 src1_sel:WORD_0",
       lambda lane: (0, int((lane.a >> 8 & 0xFF) == (lane.b & 0xFFFF))), "u32", 0),
]  # fmt: skip
OPS = [*relations(), *CLASSES, *FLUSHED, *OTHERS]


@pytest.mark.parametrize(
    "ops", [relations(), CLASSES, FLUSHED, OTHERS], ids=["relations", "classes", "flushed", "operands"]
)
def test_masks(ops: list[Op]) -> None:
    check(ops)


def _line(op: Op) -> tuple[str, str]:
    """v_cmpx into VCC and into s[20:21]."""
    operands = op.text.split(", ", 1)[1].format(a="v0", b="v4", a2="v[0:1]", b2="v[4:5]", sb="s0", m="")
    name = op.name.replace("v_cmp_", "v_cmpx_")
    return f"{name}_e32 vcc, {operands}", f"{name}_e64 s[20:21], {operands}"


CMPX = [*relations(), *CLASSES[:3]]


def test_cmpx_writes_exec_too() -> None:
    text = "\n".join(f".p2align 4\n{line}" for op in CMPX for line in _line(op))
    code = assemble(text, "gfx942")
    wrong = []
    for at, op in enumerate(CMPX):
        for form, register in ((0, 106), (1, 20)):
            wave = Wave()
            data = sources(op.data)[4]
            wave.vectors[0:4], wave.vectors[4:8] = data[0], data[1]
            wave.exec_mask = active = 0xFF00_FFFF_0F0F_7FFE
            want = 0
            for number, lane in enumerate(lanes_of(wave.vectors, 0)):
                result = op.want(lane)
                assert isinstance(result, tuple)
                want |= (result[1] & active >> number) << number
            start = (2 * at + form) << 4
            emulator("gfx942").step(code[start : start + 16], wave)
            if (wave.exec_mask, wave.pair(register)) != (want, want):
                wrong.append(f"{_line(op)[form]}: {wave.exec_mask:x} {wave.pair(register):x}, not {want:x}")
    assert not wrong, "\n".join(wrong)


def test_every_comparison_is_executed_here() -> None:
    tested = {op.name for op in OPS} | {op.name.replace("v_cmp_", "v_cmpx_") for op in CMPX}
    known = {name for arch in ("gfx942", "gfx950") for name, runs in emulator(arch).opcodes().items() if runs}
    assert {name for name in known if name.startswith("v_cmp")} == tested
