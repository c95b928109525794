"""Scalar instructions against their definitions, restated in Python's unbounded integers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from step_support import assemble, emulator

from ckgen_emulator.bindings import EXEC, M0, VCC, Wave

pytestmark = pytest.mark.amd

ARCH = "gfx942"
M32, M64 = 2**32 - 1, 2**64 - 1
EDGES32 = [0, 1, 2, 5, 31, 32, 63, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x12345678, 0xFFFF8000, 0x00100010]
EDGES64 = [0, 1, 0x8000000000000000, M64, 0x7FFFFFFFFFFFFFFF, 0x123456789ABCDEF0, 0xF0F0, 63, 2**32]
RANDOM = np.random.default_rng(1)

Result = tuple[int, int | None]
"""The destination's value, and SCC; None where SCC stays."""


def signed(value: int, bits: int = 32) -> int:
    return value - (1 << bits) if value >> (bits - 1) & 1 else value


def nonzero(value: int, mask: int = M32) -> Result:
    return value & mask, int(value & mask != 0)


def kept(value: int, mask: int = M32) -> Result:
    return value & mask, None


def overflow(exact: int) -> Result:
    return exact & M32, int(not -(2**31) <= exact < 2**31)


def lowest(value: int, bits: int, wanted: int) -> int:
    return next((at for at in range(bits) if value >> at & 1 == wanted), -1)


def highest(value: int, bits: int) -> int:
    return bits - value.bit_length() if value else -1


def sign_run(value: int, bits: int) -> int:
    text = f"{value:0{bits}b}"
    run = len(text) - len(text.lstrip(text[0]))
    return -1 if run == bits else run


def field(value: int, control: int, bits: int, sign: bool) -> int:
    offset, width = control & bits - 1, min(control >> 16 & 127, bits)
    source = signed(value, bits) if sign else value
    cut = source >> offset & (1 << width) - 1
    return signed(cut, width) if sign and width else cut


def groups(value: int, bits: int) -> int:
    return sum(15 << at for at in range(0, bits, 4) if value >> at & 15)


def quads(value: int, bits: int) -> int:
    return sum(1 << at // 4 for at in range(0, bits, 4) if value >> at & 15)


def reverse(value: int, bits: int) -> int:
    return int(f"{value:0{bits}b}"[::-1], 2)


LOGIC: dict[str, Callable[[int, int], int]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "andn2": lambda a, b: a & ~b,
    "orn2": lambda a, b: a | ~b,
    "nand": lambda a, b: ~(a & b),
    "nor": lambda a, b: ~(a | b),
    "xnor": lambda a, b: ~(a ^ b),
}

ONE32: dict[str, Callable[[int], Result]] = {
    "s_mov_b32": kept,
    "s_not_b32": lambda a: nonzero(~a),
    "s_wqm_b32": lambda a: nonzero(groups(a, 32)),
    "s_quadmask_b32": lambda a: nonzero(quads(a, 32)),
    "s_brev_b32": lambda a: kept(reverse(a, 32)),
    "s_bcnt0_i32_b32": lambda a: nonzero(32 - a.bit_count()),
    "s_bcnt1_i32_b32": lambda a: nonzero(a.bit_count()),
    "s_ff0_i32_b32": lambda a: kept(lowest(a, 32, 0)),
    "s_ff1_i32_b32": lambda a: kept(lowest(a, 32, 1)),
    "s_flbit_i32_b32": lambda a: kept(highest(a, 32)),
    "s_flbit_i32": lambda a: kept(sign_run(a, 32)),
    "s_sext_i32_i8": lambda a: kept(signed(a & 255, 8)),
    "s_sext_i32_i16": lambda a: kept(signed(a & 65535, 16)),
    "s_abs_i32": lambda a: nonzero(abs(signed(a))),
}
ONE64: dict[str, tuple[Callable[[int], Result], int]] = {
    "s_mov_b64": (lambda a: kept(a, M64), 64),
    "s_not_b64": (lambda a: nonzero(~a, M64), 64),
    "s_wqm_b64": (lambda a: nonzero(groups(a, 64), M64), 64),
    "s_quadmask_b64": (lambda a: nonzero(quads(a, 64), M64), 64),
    "s_brev_b64": (lambda a: kept(reverse(a, 64), M64), 64),
    "s_bcnt0_i32_b64": (lambda a: nonzero(64 - a.bit_count()), 32),
    "s_bcnt1_i32_b64": (lambda a: nonzero(a.bit_count()), 32),
    "s_ff0_i32_b64": (lambda a: kept(lowest(a, 64, 0)), 32),
    "s_ff1_i32_b64": (lambda a: kept(lowest(a, 64, 1)), 32),
    "s_flbit_i32_b64": (lambda a: kept(highest(a, 64)), 32),
    "s_flbit_i32_i64": (lambda a: kept(sign_run(a, 64)), 32),
}
TWO32: dict[str, Callable[[int, int, int], Result]] = {
    "s_add_u32": lambda a, b, c: (a + b & M32, (a + b) >> 32),
    "s_sub_u32": lambda a, b, c: (a - b & M32, int(b > a)),
    "s_add_i32": lambda a, b, c: overflow(signed(a) + signed(b)),
    "s_sub_i32": lambda a, b, c: overflow(signed(a) - signed(b)),
    "s_addc_u32": lambda a, b, c: (a + b + c & M32, (a + b + c) >> 32),
    "s_subb_u32": lambda a, b, c: (a - b - c & M32, int(b + c > a)),
    "s_min_i32": lambda a, b, c: (min(a, b, key=signed), int(signed(a) < signed(b))),
    "s_min_u32": lambda a, b, c: (min(a, b), int(a < b)),
    "s_max_i32": lambda a, b, c: (max(a, b, key=signed), int(signed(a) > signed(b))),
    "s_max_u32": lambda a, b, c: (max(a, b), int(a > b)),
    "s_cselect_b32": lambda a, b, c: kept(a if c else b),
    "s_lshl_b32": lambda a, b, c: nonzero(a << (b & 31)),
    "s_lshr_b32": lambda a, b, c: nonzero(a >> (b & 31)),
    "s_ashr_i32": lambda a, b, c: nonzero(signed(a) >> (b & 31)),
    "s_bfm_b32": lambda a, b, c: kept((1 << (a & 31)) - 1 << (b & 31)),
    "s_mul_i32": lambda a, b, c: kept(a * b),
    "s_mul_hi_u32": lambda a, b, c: kept(a * b >> 32),
    "s_mul_hi_i32": lambda a, b, c: kept(signed(a) * signed(b) >> 32),
    "s_bfe_u32": lambda a, b, c: nonzero(field(a, b, 32, False)),
    "s_bfe_i32": lambda a, b, c: nonzero(field(a, b, 32, True)),
    "s_absdiff_i32": lambda a, b, c: nonzero(abs(signed(a - b & M32))),
    "s_lshl1_add_u32": lambda a, b, c: ((a << 1) + b & M32, int((a << 1) + b >> 32 != 0)),
    "s_lshl4_add_u32": lambda a, b, c: ((a << 4) + b & M32, int((a << 4) + b >> 32 != 0)),
    "s_pack_ll_b32_b16": lambda a, b, c: kept(a & 0xFFFF | b << 16),
    "s_pack_lh_b32_b16": lambda a, b, c: kept(a & 0xFFFF | b & 0xFFFF0000),
    "s_pack_hh_b32_b16": lambda a, b, c: kept(a >> 16 | b & 0xFFFF0000),
    **{f"s_{name}_b32": lambda a, b, c, f=f: nonzero(f(a, b)) for name, f in LOGIC.items()},
}
TWO64: dict[str, Callable[[int, int, int], Result]] = {
    "s_cselect_b64": lambda a, b, c: kept(a if c else b, M64),
    **{f"s_{name}_b64": lambda a, b, c, f=f: nonzero(f(a, b), M64) for name, f in LOGIC.items()},
}
MIXED64: dict[str, Callable[[int, int], Result]] = {
    "s_lshl_b64": lambda a, b: nonzero(a << (b & 63), M64),
    "s_lshr_b64": lambda a, b: nonzero(a >> (b & 63), M64),
    "s_ashr_i64": lambda a, b: nonzero(signed(a, 64) >> (b & 63), M64),
    "s_bfe_u64": lambda a, b: nonzero(field(a, b, 64, False), M64),
    "s_bfe_i64": lambda a, b: nonzero(field(a, b, 64, True), M64),
}
COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "lg": lambda a, b: a != b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
}


@dataclass(frozen=True)
class Case:
    """An instruction with its operands' values; s[2:3] and s[4:5] are the sources, s[8:9] the destination."""

    a: int
    b: int
    scc: int


def outcome(code: bytes, case: Case, wide: bool) -> tuple[int, int]:
    wave = Wave()
    wave.set_pair(2, case.a)
    wave.set_pair(4, case.b)
    wave.scc = case.scc
    run = emulator(ARCH).step(code, wave)
    assert run.findings == ()
    return (wave.pair(8) if wide else int(wave.scalars[8])), wave.scc


def check(code: bytes, case: Case, expected: Result, wide: bool) -> None:
    value, scc = expected
    assert outcome(code, case, wide) == (value, case.scc if scc is None else scc), case


def pairs(edges: list[int], bits: int) -> list[tuple[int, int]]:
    return [*product(edges, edges), *((int(a), int(b)) for a, b in RANDOM.integers(0, 2**bits, (40, 2), np.uint64))]


@pytest.mark.parametrize("name", ONE32)
def test_one_source_of_32_bits(name: str) -> None:
    code = assemble(f"{name} s8, s2", ARCH)
    for a, b in pairs(EDGES32, 32):
        check(code, Case(a, 0, b & 1), ONE32[name](a), False)


@pytest.mark.parametrize("name", ONE64)
def test_one_source_of_64_bits(name: str) -> None:
    function, bits = ONE64[name]
    code = assemble(f"{name} {'s[8:9]' if bits == 64 else 's8'}, s[2:3]", ARCH)
    for a, b in pairs(EDGES64, 63):
        check(code, Case(a, 0, b & 1), function(a), bits == 64)


@pytest.mark.parametrize("name", TWO32)
def test_two_sources_of_32_bits(name: str) -> None:
    code = assemble(f"{name} s8, s2, s4", ARCH)
    for index, (a, b) in enumerate(pairs(EDGES32, 32)):
        check(code, Case(a, b, index & 1), TWO32[name](a, b, index & 1), False)


@pytest.mark.parametrize("name", TWO64)
def test_two_sources_of_64_bits(name: str) -> None:
    code = assemble(f"{name} s[8:9], s[2:3], s[4:5]", ARCH)
    for index, (a, b) in enumerate(pairs(EDGES64, 63)):
        check(code, Case(a, b, index & 1), TWO64[name](a, b, index & 1), True)


@pytest.mark.parametrize("name", MIXED64)
def test_64_bits_by_a_number(name: str) -> None:
    code = assemble(f"{name} s[8:9], s[2:3], s4", ARCH)
    for a, b in product(EDGES64, [0, 1, 31, 32, 63, 64, 0x100004, 0x200010, 0x400000, 0x40003F]):
        check(code, Case(a, b, 0), MIXED64[name](a, b), True)


@pytest.mark.parametrize("name", COMPARE)
@pytest.mark.parametrize("kind", ["i32", "u32"])
def test_comparisons(name: str, kind: str) -> None:
    convert = signed if kind == "i32" else int
    code = assemble(f"s_cmp_{name}_{kind} s2, s4", ARCH)
    for a, b in pairs(EDGES32, 32):
        assert outcome(code, Case(a, b, 0), False)[1] == COMPARE[name](convert(a), convert(b))
    for b in (0, 5, 0x7FFF, 0x8000, 0xFFFF):
        immediate = assemble(f"s_cmpk_{name}_{kind} s2, {b:#x}", ARCH)
        other = signed(b, 16) if kind == "i32" else b
        for a in EDGES32:
            assert outcome(immediate, Case(a, 0, 0), False)[1] == COMPARE[name](convert(a), other)


@pytest.mark.parametrize("name", ["eq", "lg"])
def test_comparisons_of_64_bits(name: str) -> None:
    code = assemble(f"s_cmp_{name}_u64 s[2:3], s[4:5]", ARCH)
    for a, b in pairs(EDGES64, 63):
        assert outcome(code, Case(a, b, 0), False)[1] == COMPARE[name](a, b)


def test_bits_are_tested_and_set() -> None:
    for bit in (0, 1, 31, 63):
        a = 0x8000000180000001
        assert outcome(assemble(f"s_bitcmp1_b64 s[2:3], {bit}", ARCH), Case(a, 0, 0), True)[1] == a >> bit & 1
        assert outcome(assemble(f"s_bitcmp0_b64 s[2:3], {bit}", ARCH), Case(a, 0, 0), True)[1] == 1 - (a >> bit & 1)
        low = a & M32
        assert outcome(assemble(f"s_bitcmp1_b32 s2, {bit}", ARCH), Case(low, 0, 0), False)[1] == low >> (bit & 31) & 1
        assert outcome(assemble(f"s_bitcmp0_b32 s2, {bit}", ARCH), Case(low, 0, 0), False)[1] != low >> (bit & 31) & 1
        code = assemble(f"s_mov_b64 s[8:9], s[2:3]\ns_bitset0_b64 s[8:9], {bit}\ns_bitset1_b64 s[8:9], 5", ARCH)
        assert outcome(code, Case(a, 0, 0), True)[0] == (a & ~(1 << bit)) | 32
        code = assemble(f"s_mov_b32 s8, s2\ns_bitset0_b32 s8, {bit}\ns_bitset1_b32 s8, 5", ARCH)
        assert outcome(code, Case(low, 0, 0), False)[0] == (low & ~(1 << (bit & 31))) | 32


def test_immediates_and_conditional_moves() -> None:
    code = assemble("s_movk_i32 s8, 0x8000", ARCH)
    assert outcome(code, Case(0, 0, 0), False)[0] == 0xFFFF8000
    for scc in (0, 1):
        code = assemble("s_mov_b32 s8, 7\ns_cmovk_i32 s8, 9", ARCH)
        assert outcome(code, Case(0, 0, scc), False)[0] == (9 if scc else 7)
        code = assemble("s_mov_b64 s[8:9], 7\ns_cmov_b64 s[8:9], s[2:3]", ARCH)
        assert outcome(code, Case(2**40, 0, scc), True)[0] == (2**40 if scc else 7)
        code = assemble("s_mov_b32 s8, 7\ns_cmov_b32 s8, s2", ARCH)
        assert outcome(code, Case(11, 0, scc), False)[0] == (11 if scc else 7)
    assert outcome(assemble("s_mov_b32 s8, s2\ns_addk_i32 s8, 0x7fff", ARCH), Case(M32 >> 1, 0, 0), False) == (
        0x80007FFE,
        1,
    )
    assert outcome(assemble("s_mov_b32 s8, s2\ns_mulk_i32 s8, 0xfffd", ARCH), Case(5, 0, 0), False)[0] == M32 - 14
    assert outcome(assemble("s_bitreplicate_b64_b32 s[8:9], s2", ARCH), Case(0x80000005, 0, 0), True)[0] == (
        0xC000000000000033
    )
    assert outcome(assemble("s_bfm_b64 s[8:9], s2, s4", ARCH), Case(40, 9, 0), True)[0] == (2**40 - 1) << 9
    for shift in (2, 3):
        code = assemble(f"s_lshl{shift}_add_u32 s8, s2, s4", ARCH)
        assert outcome(code, Case(0x60000001, 3, 0), False) == ((0x60000001 << shift) + 3 & M32, 1)


def test_constants_are_widened_by_the_operand_s_type() -> None:
    lines = ["s_mov_b32 s8, 1.0", "s_mov_b32 s9, -4.0", "s_mov_b64 s[10:11], -16", "s_mov_b64 s[12:13], 0.5"]
    lines += ["s_mov_b64 s[14:15], 0x80000001", "s_mov_b32 s16, 0xdeadbeef", "s_mov_b32 s17, 0.15915494"]
    lines += ["s_ashr_i64 s[18:19], 0x80000001, 1"]
    wave = Wave()
    emulator(ARCH).step(assemble("\n".join(lines), ARCH), wave)
    assert [hex(wave.scalars[index]) for index in (8, 9, 16, 17)] == [
        "0x3f800000",
        "0xc0800000",
        "0xdeadbeef",
        "0x3e22f983",
    ]
    assert wave.pair(10) == M64 - 15
    assert wave.pair(12) == 0x3FE0000000000000
    assert wave.pair(14) == 0x80000001
    assert wave.pair(18) == 0xFFFFFFFF80000001 >> 1 | 1 << 63


EXEC_OPS: dict[str, Callable[[int, int], int]] = {
    **LOGIC,
    "andn1": lambda a, b: ~a & b,
    "orn1": lambda a, b: ~a | b,
}


@pytest.mark.parametrize("name", EXEC_OPS)
def test_exec_is_saved_and_changed(name: str) -> None:
    code = assemble(f"s_{name}_saveexec_b64 s[8:9], s[2:3]", ARCH)
    for a, mask in [(0, 0), (M64, 5), (0xFF00FF00FF00FF00, 0x0FF00FF00FF00FF0)]:
        wave = Wave()
        wave.set_pair(2, a)
        wave.exec_mask = mask
        emulator(ARCH).step(code, wave)
        assert wave.pair(8) == mask
        assert wave.exec_mask == EXEC_OPS[name](a, mask) & M64
        assert wave.scc == int(wave.exec_mask != 0)


@pytest.mark.parametrize(("name", "of"), [("andn1", lambda a, b: ~a & b), ("andn2", lambda a, b: a & ~b)])
def test_exec_is_written_with_the_destination(name: str, of: Callable[[int, int], int]) -> None:
    wave = Wave()
    wave.set_pair(2, 0xFF00)
    wave.exec_mask = 0x0FF0
    emulator(ARCH).step(assemble(f"s_{name}_wrexec_b64 s[8:9], s[2:3]", ARCH), wave)
    assert wave.pair(8) == wave.exec_mask == of(0xFF00, 0x0FF0) & M64


def test_registers_by_m0() -> None:
    wave = Wave()
    wave.scalars[:32] = np.arange(32) + 100
    wave.scalars[M0] = 3
    lines = (
        "s_movrels_b32 s40, s2\ns_movreld_b32 s41, s7\ns_movrels_b64 s[50:51], s[2:3]\ns_movreld_b64 s[60:61], s[8:9]"
    )
    emulator(ARCH).step(assemble(lines, ARCH), wave)
    assert [wave.scalars[index] for index in (40, 44, 50, 51, 63, 64)] == [105, 107, 105, 106, 108, 109]


@pytest.mark.parametrize("text", ["s_movrels_b32 s40, s2", "s_movreld_b32 s2, s40", "s_movrels_b64 s[40:41], s[2:3]",
                                  "s_movreld_b64 s[2:3], s[40:41]"])  # fmt: skip
def test_m0_leads_as_far_as_the_register_before_vcc(text: str) -> None:
    last = VCC - (2 if "b64" in text else 1)
    for at in (last, last + 1):
        wave = Wave()
        wave.scalars[:VCC] = np.arange(VCC) + 100
        wave.scalars[M0] = at - 2
        run = emulator(ARCH).step(assemble(text, ARCH), wave)
        expected = np.arange(VCC) + 100
        if at == last:
            source, destination = (at, 40) if "movrels" in text else (40, at)
            expected[destination : destination + VCC - last] = expected[source : source + VCC - last]
        assert [one.rule for one in run.findings] == ["bad_code"] * (at - last)
        np.testing.assert_array_equal(wave.scalars[:VCC], expected)


def test_the_program_counter_and_calls() -> None:
    lines = """
    s_getpc_b64 s[8:9]
    s_add_u32 s8, s8, OFFSET
    s_addc_u32 s9, s9, 0
    s_swappc_b64 s[30:31], s[8:9]
    s_mov_b32 s20, 2
    s_branch end
    target:
    s_mov_b32 s21, 3
    s_setpc_b64 s[30:31]
    end:
    s_call_b64 s[32:33], last
    s_mov_b32 s22, 9
    last:
    s_mov_b32 s23, 4
    """
    wave = Wave()
    code = assemble(lines.replace("OFFSET", "20"), ARCH)
    run = emulator(ARCH).step(code, wave)
    assert run.findings == ()
    assert [wave.scalars[index] for index in (20, 21, 22, 23)] == [2, 3, 0, 4]
    assert wave.pair(32) - wave.pair(30) == 20


def test_branches_ask_scc_vcc_and_exec() -> None:
    for condition, setup, taken in [
        ("scc0", "s_cmp_eq_u32 s0, s0", False), ("scc1", "s_cmp_eq_u32 s0, s0", True),
        ("vccz", "s_mov_b64 vcc, 0", True), ("vccnz", "s_mov_b64 vcc, 0", False),
        ("execz", "s_mov_b64 exec, 0", True), ("execnz", "s_mov_b64 exec, 0", False),
    ]:  # fmt: skip
        code = assemble(f"{setup}\ns_cbranch_{condition} skip\ns_mov_b32 s8, 1\nskip:\ns_mov_b32 s9, 1", ARCH)
        wave = Wave()
        emulator(ARCH).step(code, wave)
        assert (wave.scalars[8], wave.scalars[9]) == (int(not taken), 1), condition


def test_the_mode_register() -> None:
    wave = Wave()
    lines = "s_getreg_b32 s8, hwreg(HW_REG_MODE)\ns_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 0xc\n"
    lines += "s_mov_b32 s2, 3\ns_setreg_b32 hwreg(HW_REG_MODE, 0, 2), s2\ns_getreg_b32 s9, hwreg(HW_REG_MODE, 0, 8)"
    emulator(ARCH).step(assemble(lines, ARCH), wave)
    assert (wave.scalars[8], wave.scalars[9]) == (0x3F0, 0xC3)


def test_what_is_wrong_is_found() -> None:
    def rules(text: str, **written: bool) -> list[tuple[str, str]]:
        run = emulator(ARCH).step(assemble(text, ARCH), Wave(), all_written=True, **written)
        return [(one.rule, one.instruction.split()[0]) for one in run.findings]

    assert rules("s_branch 1000") == [("bad_code", "s_branch")]
    assert rules("s_trap 2") == [("unsupported", "s_trap")]
    assert rules("s_mov_b32 m0, 1000\ns_nop 1\ns_movrels_b32 s0, s1") == [("bad_code", "s_movrels_b32")]
    assert rules("s_nop 0") == []
    assert EXEC == 126
