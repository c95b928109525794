"""Integer and logic operations of the vector ALU against their definitions on Python's integers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from vector_support import M8, M16, M32, M64, Lane, Op, check, saturated, signed

pytestmark = pytest.mark.amd


def i32(value: int) -> int:
    """Signed 32 bits."""
    return signed(value, 32)


def i24(value: int) -> int:
    """Signed 24 bits."""
    return signed(value, 24)


def u24(value: int) -> int:
    """Unsigned 24 bits."""
    return value & 0xFFFFFF


def middle(*values: int) -> int:
    """The median."""
    return sorted(values)[len(values) // 2]


def first_one(value: int, from_top: bool) -> int:
    """Zeros before the first one; -1 if there is none."""
    digits = f"{value:032b}" if from_top else f"{value:032b}"[::-1]
    return digits.find("1") & M32


def run_length(value: int) -> int:
    """Leading bits equal to the sign; -1 if all are."""
    digits = f"{value:032b}"
    return digits.find("1" if digits[0] == "0" else "0") & M32


def three(name: str, want: Callable[[int, int, int], int]) -> Op:
    """name d, a, b, c."""
    return Op(f"{name} {{d}}, {{a}}, {{b}}, {{c}}", lambda lane: want(lane.a, lane.b, lane.c) & M32)


def two(name: str, want: Callable[[int, int], int]) -> Op:
    """name d, a, b."""
    return Op(f"{name} {{d}}, {{a}}, {{b}}", lambda lane: want(lane.a, lane.b) & M32)


def one(name: str, want: Callable[[int], int]) -> Op:
    """name d, a."""
    return Op(f"{name} {{d}}, {{a}}", lambda lane: want(lane.a) & M32)


def clamps(name: str, is_signed: bool, want: Callable[..., int], count: int = 2) -> list[Op]:
    """Wrapping, and saturating under clamp."""

    def exact(lane: Lane) -> int:
        values = [lane.a, lane.b, lane.c][:count]
        return want(*(map(i32, values) if is_signed else values))

    operands = ", ".join(("{a}", "{b}", "{c}")[:count])
    wraps = Op(f"{name} {{d}}, {operands}", lambda lane: exact(lane) & M32)
    return [wraps, Op(f"{name} {{d}}, {operands} clamp", lambda lane: saturated(exact(lane), 32, is_signed=is_signed))]


LOGIC = [
    two("v_and_b32", lambda a, b: a & b),
    two("v_or_b32", lambda a, b: a | b),
    two("v_xor_b32", lambda a, b: a ^ b),
    two("v_xnor_b32", lambda a, b: ~(a ^ b)),
    one("v_not_b32", lambda a: ~a),
    three("v_and_or_b32", lambda a, b, c: a & b | c),
    three("v_or3_b32", lambda a, b, c: a | b | c),
    three("v_xad_u32", lambda a, b, c: (a ^ b) + c),
    two("v_lshlrev_b32", lambda a, b: b << a % 32),
    two("v_lshrrev_b32", lambda a, b: b >> a % 32),
    two("v_ashrrev_i32", lambda a, b: i32(b) >> a % 32),
    three("v_lshl_add_u32", lambda a, b, c: (a << b % 32) + c),
    three("v_add_lshl_u32", lambda a, b, c: a + b << c % 32),
    three("v_lshl_or_b32", lambda a, b, c: a << b % 32 | c),
    three("v_alignbit_b32", lambda a, b, c: (a << 32 | b) >> c % 32),
    three("v_alignbyte_b32", lambda a, b, c: (a << 32 | b) >> 8 * (c % 4)),
    three("v_bfe_u32", lambda a, b, c: (a >> b % 32) % (1 << c % 32)),
    three("v_bfe_i32", lambda a, b, c: signed(i32(a) >> b % 32, c % 32) if c % 32 else 0),
    three("v_bfi_b32", lambda a, b, c: a & b | ~a & c),
    two("v_bfm_b32", lambda a, b: (1 << a % 32) - 1 << b % 32),
    one("v_bfrev_b32", lambda a: int(f"{a:032b}"[::-1], 2)),
    one("v_ffbh_u32", lambda a: first_one(a, True)),
    one("v_ffbl_b32", lambda a: first_one(a, False)),
    one("v_ffbh_i32", run_length),
    two("v_bcnt_u32_b32", lambda a, b: a.bit_count() + b),
]

ARITHMETIC = [
    *clamps("v_add_u32", False, lambda a, b: a + b)[:1],
    *clamps("v_add_u32_e64", False, lambda a, b: a + b)[1:],
    *clamps("v_sub_u32_e64", False, lambda a, b: a - b),
    *clamps("v_subrev_u32_e64", False, lambda a, b: b - a),
    *clamps("v_add_i32", True, lambda a, b: a + b),
    *clamps("v_sub_i32", True, lambda a, b: a - b),
    *clamps("v_mad_i32_i24", True, lambda a, b, c: i24(a) * i24(b) + c, 3),
    *clamps("v_mad_u32_u24", False, lambda a, b, c: u24(a) * u24(b) + c, 3),
    *clamps("v_sad_u32", False, lambda a, b, c: abs(a - b) + c, 3),
    three("v_add3_u32", lambda a, b, c: a + b + c),
    two("v_mul_lo_u32", lambda a, b: a * b),
    two("v_mul_hi_u32", lambda a, b: a * b >> 32),
    two("v_mul_hi_i32", lambda a, b: i32(a) * i32(b) >> 32),
    two("v_mul_i32_i24", lambda a, b: i24(a) * i24(b)),
    two("v_mul_u32_u24", lambda a, b: u24(a) * u24(b)),
    two("v_mul_hi_i32_i24", lambda a, b: i24(a) * i24(b) >> 32),
    two("v_mul_hi_u32_u24", lambda a, b: u24(a) * u24(b) >> 32),
    two("v_min_u32", min),
    two("v_max_u32", max),
    two("v_min_i32", lambda a, b: min(i32(a), i32(b))),
    two("v_max_i32", lambda a, b: max(i32(a), i32(b))),
    three("v_min3_u32", min),
    three("v_max3_u32", max),
    three("v_med3_u32", middle),
    three("v_min3_i32", lambda *x: min(map(i32, x))),
    three("v_max3_i32", lambda *x: max(map(i32, x))),
    three("v_med3_i32", lambda *x: middle(*map(i32, x))),
]


def carried(name: str, text: str, want: Callable[[Lane], int]) -> list[Op]:
    """Result and carry of a sum or difference; clamp saturates."""

    def with_carry(lane: Lane) -> tuple[int, int]:
        exact = want(lane)
        return exact & M32, int(not 0 <= exact <= M32)

    def limited(lane: Lane) -> tuple[int, int]:
        exact = want(lane)
        return saturated(exact, 32, is_signed=False), int(not 0 <= exact <= M32)

    return [Op(f"{name} {text}", with_carry), Op(f"{name} {text} clamp", limited)]


PLAIN, CHAIN = "{d}, {s}, {a}, {b}", "{d}, {s}, {a}, {b}, {m}"
CARRIES = [
    *carried("v_add_co_u32", PLAIN, lambda lane: lane.a + lane.b),
    *carried("v_sub_co_u32", PLAIN, lambda lane: lane.a - lane.b),
    *carried("v_subrev_co_u32", PLAIN, lambda lane: lane.b - lane.a),
    *carried("v_addc_co_u32", CHAIN, lambda lane: lane.a + lane.b + lane.m),
    *carried("v_subb_co_u32", CHAIN, lambda lane: lane.a - lane.b - lane.m),
    *carried("v_subbrev_co_u32", CHAIN, lambda lane: lane.b - lane.a - lane.m),
    Op("v_addc_co_u32_e32 {d}, vcc, {a}, {b}, vcc", lambda lane: lane.a + lane.b + lane.m & M32),
    Op("v_cndmask_b32 {d}, {a}, {b}, {m}", lambda lane: lane.b if lane.m else lane.a),
    Op("v_cndmask_b32_e32 {d}, {a}, {b}, vcc", lambda lane: lane.b if lane.m else lane.a),
    Op(
        "v_cndmask_b32_e64 {d}, -{a}, |{b}|, {m}",
        lambda lane: lane.b & 0x7FFFFFFF if lane.m else lane.a ^ 0x80000000,
    ),
    Op("v_clrexcp", lambda lane: 0, dwords=0),
]


def mad64(lane: Lane, is_signed: bool) -> int:
    """The exact sum."""
    if is_signed:
        return i32(lane.a) * i32(lane.b) + signed(lane.c2, 64)
    return lane.a * lane.b + lane.c2


WIDE = [
    Op("v_lshlrev_b64 {d2}, {a}, {b2}", lambda lane: lane.b2 << lane.a % 64 & M64, "u64", 2),
    Op("v_lshrrev_b64 {d2}, {a}, {b2}", lambda lane: lane.b2 >> lane.a % 64, "u64", 2),
    Op("v_ashrrev_i64 {d2}, {a}, {b2}", lambda lane: signed(lane.b2, 64) >> lane.a % 64 & M64, "u64", 2),
    Op("v_lshl_add_u64 {d2}, {a2}, {b}, {c2}", lambda lane: (lane.a2 << lane.b % 8) + lane.c2 & M64, "u64", 2),
    Op(
        "v_mad_u64_u32 {d2}, {s}, {a}, {b}, {c2}",
        lambda lane: (mad64(lane, False) & M64, mad64(lane, False) >> 64 & 1), "u64", 2,
    ),
    Op(
        "v_mad_i64_i32 {d2}, {s}, {a}, {b}, {c2}",
        lambda lane: (mad64(lane, True) & M64, mad64(lane, True) >> 64 & 1), "u64", 2,
    ),
    Op(
        "v_mad_u64_u32 {d2}, {s}, {a}, {b}, {c2} clamp",
        lambda lane: (saturated(mad64(lane, False), 64, is_signed=False), mad64(lane, False) >> 64 & 1), "u64", 2,
    ),
]  # fmt: skip


def bytes_of(value: int, count: int = 4) -> list[int]:
    """From the lowest."""
    return [value >> 8 * at & M8 for at in range(count)]


def perm(a: int, b: int, c: int) -> int:
    """Byte selection."""
    pool = bytes_of(b) + bytes_of(a)
    signs = [255 * (pool[at] >> 7) for at in (1, 3, 5, 7)]
    table = dict(enumerate(pool + signs + [0]))
    return sum(table.get(select, 255) << 8 * at for at, select in enumerate(bytes_of(c)))


def sad8(a: int, b: int, masked: bool = False) -> int:
    """Distances of four bytes."""
    return sum(abs(x - y) for x, y in zip(bytes_of(a), bytes_of(b), strict=True) if y or not masked)


def quad(lane: Lane, masked: bool, bits: int) -> int:
    """Four sums over a sliding window."""
    part = (1 << bits) - 1
    sums = [(sad8(lane.a2 >> 8 * at, lane.b, masked) + (lane.wide_c >> bits * at & part)) & part for at in range(4)]
    return sum(one << bits * at for at, one in enumerate(sums))


BYTES = [
    three("v_perm_b32", perm),
    Op("v_perm_b32 {d}, {a}, {b}, {c}", lambda lane: perm(lane.a, lane.b, lane.c), "u16"),
    Op("v_perm_b32 {d}, {a}, {b}, {sc}", lambda lane: perm(lane.a, lane.b, lane.c)),
    three(
        "v_lerp_u8",
        lambda a, b, c: sum(
            (x + y + (z & 1) >> 1) << 8 * at
            for at, (x, y, z) in enumerate(zip(bytes_of(a), bytes_of(b), bytes_of(c), strict=True))
        ),
    ),
    *clamps("v_sad_u8", False, lambda a, b, c: sad8(a, b) + c, 3),
    *clamps("v_sad_hi_u8", False, lambda a, b, c: (sad8(a, b) << 16) + c, 3),
    *clamps("v_sad_u16", False, lambda a, b, c: abs((a & M16) - (b & M16)) + abs((a >> 16) - (b >> 16)) + c, 3),
    *clamps("v_msad_u8", False, lambda a, b, c: sad8(a, b, True) + c, 3),
    Op("v_qsad_pk_u16_u8 {d2}, {a2}, {b}, {c2}", lambda lane: quad(lane, False, 16), "u64", 2),
    Op("v_mqsad_pk_u16_u8 {d2}, {a2}, {b}, {c2}", lambda lane: quad(lane, True, 16), "u64", 2),
    Op("v_mqsad_u32_u8 {d4}, {a2}, {b}, {c4}", lambda lane: quad(lane, True, 32), "u64", 4),
]


def half(name: str, want: Callable[..., int], *, is_signed: bool, count: int = 2, keeps: bool = False) -> list[Op]:
    """A 16-bit operation, and under clamp; `keeps` the upper half, and then has op_sel."""

    def exact(lane: Lane, select: int = 0) -> int:
        chosen = [value >> 16 * (select >> at & 1) & M16 for at, value in enumerate((lane.a, lane.b, lane.c)[:count])]
        return want(*(signed(value, 16) if is_signed else value for value in chosen))

    def placed(lane: Lane, result: int) -> int:
        return (lane.d & 0xFFFF0000 if keeps else 0) | result & M16

    operands = "{d}, " + ", ".join(("{a}", "{b}", "{c}")[:count])
    made = [Op(f"{name} {operands}", lambda lane: placed(lane, exact(lane)), "u16")]
    if keeps:
        select = "1,0,1"[: 2 * count - 1]
        bits = sum(1 << at for at, bit in enumerate(select.split(",")) if bit == "1")
        made += [
            Op(f"{name} {operands} op_sel:[{select},1]",
               lambda lane: lane.d & M16 | (exact(lane, bits) & M16) << 16, "u16"),
            Op(f"{name} {operands} op_sel:[{select},0]", lambda lane: placed(lane, exact(lane, bits)), "u16"),
        ]  # fmt: skip
    return made


def half_clamp(name: str, want: Callable[..., int], *, is_signed: bool, count: int, keeps: bool) -> Op:
    """Saturation."""
    operands = "{d}, " + ", ".join(("{a}", "{b}", "{c}")[:count])

    def result(lane: Lane) -> int:
        values = [value & M16 for value in (lane.a, lane.b, lane.c)[:count]]
        exact = want(*(signed(value, 16) if is_signed else value for value in values))
        return (lane.d & 0xFFFF0000 if keeps else 0) | saturated(exact, 16, is_signed=is_signed)

    return Op(f"{name} {operands} clamp", result, "u16")


def mad(a: int, b: int, c: int) -> int:
    """a * b + c."""
    return a * b + c


HALVES = [
    *half("v_add_u16", lambda a, b: a + b, is_signed=False),
    *half("v_sub_u16", lambda a, b: a - b, is_signed=False),
    *half("v_subrev_u16", lambda a, b: b - a, is_signed=False),
    *half("v_add_i16", lambda a, b: a + b, is_signed=True, keeps=True),
    *half("v_sub_i16", lambda a, b: a - b, is_signed=True, keeps=True),
    *half("v_mul_lo_u16", lambda a, b: a * b, is_signed=False),
    *half("v_mad_u16", mad, is_signed=False, count=3, keeps=True),
    *half("v_mad_i16", mad, is_signed=True, count=3, keeps=True),
    *half("v_mad_legacy_u16", mad, is_signed=False, count=3),
    *half("v_mad_legacy_i16", mad, is_signed=True, count=3),
    *half("v_lshlrev_b16", lambda a, b: b << a % 16, is_signed=False),
    *half("v_lshrrev_b16", lambda a, b: b >> a % 16, is_signed=False),
    *half("v_ashrrev_i16", lambda a, b: b >> a % 16, is_signed=True),
    *half("v_min_u16", min, is_signed=False),
    *half("v_max_u16", max, is_signed=False),
    *half("v_min_i16", min, is_signed=True),
    *half("v_max_i16", max, is_signed=True),
    *half("v_min3_u16", min, is_signed=False, count=3, keeps=True),
    *half("v_max3_u16", max, is_signed=False, count=3, keeps=True),
    *half("v_med3_u16", middle, is_signed=False, count=3, keeps=True),
    *half("v_min3_i16", min, is_signed=True, count=3, keeps=True),
    *half("v_max3_i16", max, is_signed=True, count=3, keeps=True),
    *half("v_med3_i16", middle, is_signed=True, count=3, keeps=True),
    half_clamp("v_add_u16_e64", lambda a, b: a + b, is_signed=False, count=2, keeps=False),
    half_clamp("v_sub_u16_e64", lambda a, b: a - b, is_signed=False, count=2, keeps=False),
    half_clamp("v_add_i16", lambda a, b: a + b, is_signed=True, count=2, keeps=True),
    half_clamp("v_mad_u16", mad, is_signed=False, count=3, keeps=True),
    half_clamp("v_mad_i16", mad, is_signed=True, count=3, keeps=True),
    Op("v_mad_u32_u16 {d}, {a}, {b}, {c}", lambda lane: (lane.a & M16) * (lane.b & M16) + lane.c & M32),
    Op(
        "v_mad_i32_i16 {d}, {a}, {b}, {c} op_sel:[1,0,0,0]",
        lambda lane: signed(lane.a >> 16, 16) * signed(lane.b, 16) + lane.c & M32,
    ),
    Op(
        "v_sat_pk_u8_i16 {d}, {a}",
        lambda lane: (
            saturated(signed(lane.a, 16), 8, is_signed=False)
            | saturated(signed(lane.a >> 16, 16), 8, is_signed=False) << 8
        ),
    ),
]


def table3(table: int, a: int, b: int, c: int, bits: int) -> int:
    """Bitwise: the table's bit number 4a + 2b + c."""
    rows = (4 * (a >> at & 1) + 2 * (b >> at & 1) + (c >> at & 1) for at in range(bits))
    return sum((table >> row & 1) << at for at, row in enumerate(rows))


def _bitop3(table: int) -> Op:
    text = f"v_bitop3_b32 {{d}}, {{a}}, {{b}}, {{c}} bitop3:{table:#x}"
    return Op(text, lambda lane: table3(table, lane.a, lane.b, lane.c, 32), arch="gfx950")


def _shifted(lane: Lane, is_signed: bool) -> int:
    values = [saturated(i32(value) >> lane.c % 32, 8, is_signed=is_signed) for value in (lane.a, lane.b)]
    return lane.d & 0xFFFF0000 | values[1] << 8 | values[0]


GFX950 = [
    *map(_bitop3, (0x01, 0x27, 0x96, 0xCA, 0xE8, 0x80)),
    Op(
        "v_bitop3_b16 {d}, {a}, {b}, {c} bitop3:0x6b op_sel:[0,1,0,0]",
        lambda lane: lane.d & 0xFFFF0000 | table3(0x6B, lane.a, lane.b >> 16, lane.c, 16),
        arch="gfx950",
    ),
    Op("v_ashr_pk_i8_i32 {d}, {a}, {b}, {c}", lambda lane: _shifted(lane, True), arch="gfx950"),
    Op("v_ashr_pk_u8_i32 {d}, {a}, {b}, {c}", lambda lane: _shifted(lane, False), arch="gfx950"),
]

SOURCES = [
    Op("v_add_u32 {d}, {sa}, {b}", lambda lane: lane.a + lane.b & M32),
    Op("v_add_u32 {d}, -16, {b}", lambda lane: lane.b - 16 & M32),
    Op("v_add_u32 {d}, 0x12345678, {b}", lambda lane: lane.b + 0x12345678 & M32),
    Op("v_lshl_add_u32 {d}, {a}, 3, {sc}", lambda lane: (lane.a << 3) + lane.c & M32),
    Op("v_and_b32 {d}, 0.5, {b}", lambda lane: lane.b & 0x3F000000),
    Op("v_lshlrev_b64 {d2}, {a}, {sb2}", lambda lane: lane.b2 << lane.a % 64 & M64, "u64", 2),
    Op(
        "v_add_u32_sdwa {d}, sext({a}), {b} dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_2 src1_sel:WORD_1",
        lambda lane: signed(lane.a >> 16, 8) + (lane.b >> 16) & M32,
    ),
    Op(
        "v_or_b32_sdwa {d}, {a}, {b} dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD src1_sel:BYTE_0",
        lambda lane: lane.d & M16 | ((lane.a | lane.b & M8) & M16) << 16,
    ),
]

OPS = LOGIC + ARITHMETIC + CARRIES + WIDE + BYTES + HALVES + GFX950 + SOURCES


@pytest.mark.parametrize(
    "ops",
    [LOGIC, ARITHMETIC, CARRIES, WIDE, BYTES, HALVES, GFX950, SOURCES],
    ids=["logic", "arithmetic", "carries", "wide", "bytes", "halves", "gfx950", "sources"],
)
def test_integers(ops: list[Op]) -> None:
    check(ops)
