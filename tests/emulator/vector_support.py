"""Runs a vector operation over many lanes, part of EXEC off, and compares each lane with a function of its sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product

import exact_float as ef
import numpy as np
from numpy.typing import NDArray
from step_support import assemble, emulator

from ckgen_emulator.bindings import VCC, Wave

U32 = NDArray[np.uint32]
LANES = 64
M8, M16, M32, M64 = 0xFF, 0xFFFF, 0xFFFF_FFFF, 0xFFFF_FFFF_FFFF_FFFF
ALL = M64
EXEC = 0xFFF7_F0FF_7FFF_1FFE
DEFAULT_MODE = 0x3F0

_FIRST = {"a": 0, "b": 4, "c": 8, "d": 16}
_CARRY_OUT, _MASK = 20, 22
_MASK_VALUE = 0x9A5C_3F01_77E0_D263
_SLOT = 4  # log2 of the bytes that an instruction is padded to
_SCALAR = {"sa": 40, "sb": 44, "sc": 48}


@dataclass(frozen=True, slots=True)
class Lane:
    """One lane's sources a, b, c and old destination d, 128 bits each, as plain ints; `m` its bit of {m} and VCC."""

    wide_a: int
    wide_b: int
    wide_c: int
    wide_d: int
    m: int

    @property
    def a(self) -> int:
        """The lowest dword, as for b, c and d."""
        return self.wide_a & M32

    @property
    def b(self) -> int:
        """Second source."""
        return self.wide_b & M32

    @property
    def c(self) -> int:
        """Third source."""
        return self.wide_c & M32

    @property
    def d(self) -> int:
        """Old destination."""
        return self.wide_d & M32

    @property
    def a2(self) -> int:
        """64 bits, as for b2, c2 and d2."""
        return self.wide_a & M64

    @property
    def b2(self) -> int:
        """Second source."""
        return self.wide_b & M64

    @property
    def c2(self) -> int:
        """Third source."""
        return self.wide_c & M64

    @property
    def d2(self) -> int:
        """Old destination."""
        return self.wide_d & M64


Want = Callable[[Lane], "int | tuple[int, int]"]


@dataclass(frozen=True)
class Op:
    """An instruction and what a lane of it gives: the destination, or that and the lane's bit of {s}.

    `text` names {a} {b} {c} {d}, pairs as {a2}, quadruples as {a4}, {s} the mask out, {m} a mask in, {sa} {sb} {sc}
    scalars that hold the first lane's a, b, c ({sa2}: pairs). `data`: the sources' kind. `nan`: formats of the result's
    parts, low first; any NaN is as good as another there. `stride`: 3 takes a third of the values.
    """

    text: str
    want: Want
    data: str = "u32"
    dwords: int = 1
    nan: tuple[ef.Format, ...] = ()
    arch: str = "gfx942"
    mode: int = DEFAULT_MODE
    stride: int = 1

    @property
    def name(self) -> str:
        """The mnemonic."""
        return self.text.split()[0].removesuffix("_e64").removesuffix("_e32").removesuffix("_sdwa").removesuffix("_dpp")


def bits_of(form: ef.Format) -> tuple[int, ...]:
    """Codes at the borders of a format."""
    one = 1 << form.mantissa_bits
    lower = [0, 1, one - 1, one, form.one - 1, form.one, form.one + 1, form.one + one // 2, form.one + one + one // 4]
    upper = [form.infinity - 1, form.infinity, form.infinity | 1, form.one + (form.mantissa_bits - 1) * one + 1]
    signed_codes = [sign | code for code in lower + upper for sign in (0, form.sign)]
    return (*signed_codes, form.nan, form.sign | form.nan | 5)


_INTEGERS = {
    "u32": (0, 1, 2, 31, 32, 63, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFF, 0x800000, 0xFFFFFF, 0x7FFFFFFF,
            0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF, 0x12345678, 0xDEADBEEF),
    "u64": (0, 1, 63, M32, M32 + 1, 1 << 63, (1 << 63) - 1, M64, M64 - 1, 0x123456789ABCDEF0, 0xFFFFFFFF00000000),
    "u16": (0, 1, 2, 15, 16, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0x8001, 0xFFFE, 0xFFFF, 0x1234, 0xDEAD),
}  # fmt: skip
_FORMATS = {"f16": ef.F16, "f32": ef.F32, "f64": ef.F64, "bf16": ef.BF16}
_WIDTH = {"u16": 16, "f16": 16, "bf16": 16, "u32": 32, "f32": 32, "u64": 64, "f64": 64}


@cache
def sources(kind: str) -> NDArray[np.uint32]:
    """waves x 3 sources x 4 dwords x lanes: borders against borders, then random codes; other dwords are random."""
    rng = np.random.default_rng(7)
    if kind in _SPECIAL:
        return _SPECIAL[kind](rng)
    edges = bits_of(_FORMATS[kind]) if kind in _FORMATS else _INTEGERS[kind]
    crossed = list(product(edges, edges))
    width = _WIDTH[kind]
    rows = -(-len(crossed) // LANES) + 5
    data = rng.integers(0, 1 << 32, (rows, 3, 4, LANES), dtype=np.uint32)
    if kind in _FORMATS:
        _moderate(data, _FORMATS[kind], rng)
    thirds = rng.choice(np.array(edges, np.uint64), len(crossed))
    for at, (first, second) in enumerate(crossed):
        for source, code in enumerate((first, second, int(thirds[at]))):
            row, lane = divmod(at, LANES)
            low = int(data[row, source, 0, lane])
            whole = code | (low >> width << width if width < 32 else 0)
            data[row, source, 0, lane] = whole & M32
            if width == 64:
                data[row, source, 1, lane] = whole >> 32
    return data


def _cube(rng: np.random.Generator) -> U32:
    """f32 vectors, axes of the same size among them."""
    values = rng.choice(np.array([0, -0.0, 1, -1, 2.5, -2.5, 1e30, -1e-30], np.float32), (4, 3, 4, LANES))
    return values.view(np.uint32)


def _turns(rng: np.random.Generator) -> U32:
    """f32 codes next to half and quarter turns, where a sine or cosine is small and its argument must be exact."""
    places = np.array([0.5, -0.5, 0.25, -0.25, 0.125, 1.5, -2.75, 30.5], np.float32)
    turns = rng.choice(places, (16, 3, 4, LANES), p=[0.25, 0.25, 0.15, 0.15, 0.05, 0.05, 0.05, 0.05])
    return (turns.view(np.uint32) + rng.integers(-60, 61, turns.shape)).astype(np.uint32)


def _near_zero(rng: np.random.Generator) -> U32:
    """f32 codes of -20…20, as exponents in a softmax are."""
    return rng.uniform(-20, 20, (12, 3, 4, LANES)).astype(np.float32).view(np.uint32)


def _quotients(form: ef.Format, apart: int, tiny: int) -> Callable[[np.random.Generator], U32]:
    """Numerators and denominators around div_scale's thresholds and the ends of the range, then random ones."""
    top, least = 2 * form.bias, 1 - form.bias  # the largest exponent field, the exponent of the least normal number

    def codes(rng: np.random.Generator) -> U32:
        one = 1 << form.mantissa_bits
        places = (0, 1, 2, tiny - 1, tiny, tiny + 1, form.bias, form.bias + 1, top - 2, top - 1, top)
        steps = (apart - 1, apart, apart + 1, *range(least - 2, least + 2), *range(form.lowest - 2, form.lowest + 1))
        fields = [(n, d) for d in places for n in {*places, *(d + step for step in steps)} if 0 <= n <= top]
        ends = ((0, 0), (0, 1), (1, 0), (one - 1, 0), (0, one - 1))
        pairs = [((n << form.mantissa_bits) + x, (d << form.mantissa_bits) + y) for n, d in fields for x, y in ends]
        pairs += [pair for n in (1, *(n * one for n in places)) for pair in ((n, form.infinity), (form.infinity, n))]
        drawn = rng.integers(0, (top + 1) * one, (6 * LANES + -len(pairs) % LANES, 2), dtype=np.uint64)
        table = np.concatenate([np.array(pairs, np.uint64), drawn]).reshape(-1, LANES, 2).transpose(0, 2, 1)
        signs = rng.integers(0, 2, table.shape, dtype=np.uint64) << np.uint64(form.bits - 1)
        data = rng.integers(0, top << 20, (len(table), 3, 4, LANES), dtype=np.uint32)  # the third: any numbers
        data[:, :2, 0] = (table | signs) & np.uint64(M32)
        if form.bits == 64:
            data[:, :2, 1] = (table | signs) >> np.uint64(32)
        return data

    return codes


_SPECIAL = {
    "cube": _cube,
    "turns": _turns,
    "near_zero": _near_zero,
    "f32 quotients": _quotients(ef.F32, 96, 23),
    "f64 quotients": _quotients(ef.F64, 768, 53),
}


def _moderate(data: U32, form: ef.Format, rng: np.random.Generator) -> None:
    """In three of the random rows the values are near 1, so that sums do not just drop the smaller one."""
    shape = (3, 3, LANES)
    exponent = form.bias + rng.integers(-3, 4, shape)
    mantissa = rng.integers(0, 1 << form.mantissa_bits, shape, dtype=np.uint64)
    code = exponent.astype(np.uint64) << np.uint64(form.mantissa_bits) | mantissa
    code |= rng.integers(0, 2, shape, dtype=np.uint64) << np.uint64(form.bits - 1)
    if form.bits == 16:
        code |= rng.permutation(code.reshape(-1)).reshape(shape) << np.uint64(16)
    data[-3:, :, 0] = code & np.uint64(M32)
    if form.bits == 64:
        data[-3:, :, 1] = code >> np.uint64(32)


def _registers() -> dict[str, str]:
    names = {name: f"v{first}" for name, first in _FIRST.items()}
    names |= {f"{name}{n}": f"v[{first}:{first + n - 1}]" for name, first in _FIRST.items() for n in (2, 4)}
    names |= {name: f"s{first}" for name, first in _SCALAR.items()}
    names |= {f"{name}2": f"s[{first}:{first + 1}]" for name, first in _SCALAR.items()}
    return names | {"s": f"s[{_CARRY_OUT}:{_CARRY_OUT + 1}]", "m": f"s[{_MASK}:{_MASK + 1}]"}


@cache
def _codes(texts: tuple[str, ...], arch: str) -> tuple[bytes, ...]:
    names = _registers()
    code = assemble("\n".join(f".p2align {_SLOT}\n{text.format(**names)}" for text in texts), arch)
    return tuple(code[at : at + (1 << _SLOT)] for at in range(0, len(code), 1 << _SLOT))


def check(ops: Sequence[Op]) -> None:
    """Runs all of them; AssertionError with the first lanes that are wrong of each that is."""
    wrong = []
    for arch in sorted({op.arch for op in ops}):
        chosen = [op for op in ops if op.arch == arch]
        codes = _codes(tuple(op.text for op in chosen), arch)
        assert len(codes) == len(chosen)
        for op, code in zip(chosen, codes, strict=True):
            wrong += [f"{op.text}: {line}" for line in _wrong(op, code)]
    assert not wrong, "\n" + "\n".join(wrong[:40])


def _wrong(op: Op, code: bytes) -> list[str]:
    lines: list[str] = []
    for number in list(range(len(sources(op.data))))[:: -op.stride]:
        turn = 3 * number % LANES
        active = (EXEC << turn | EXEC >> (LANES - turn)) & ALL
        wave = _wave(op, number, active)
        before = wave.vectors.copy()
        run = emulator(op.arch).step(code, wave)
        lines += [f"finding {one.rule}: {one.what}" for one in run.findings]
        lines += _differences(op, wave, before, number, active)
        if len(lines) > 3:
            break
    return lines[:4]


def _wave(op: Op, number: int, active: int) -> Wave:
    data, old = sources(op.data)[number], sources(op.data)[number - 1]
    wave = Wave()
    wave.mode, wave.exec_mask = op.mode, active
    for source, name in enumerate("abc"):
        wave.vectors[_FIRST[name] : _FIRST[name] + 4] = data[source]
        wave.scalars[_SCALAR[f"s{name}"] : _SCALAR[f"s{name}"] + 4] = data[source, :, 0]
    wave.vectors[_FIRST["d"] : _FIRST["d"] + 4] = old[1]
    wave.set_pair(_MASK, _MASK_VALUE)
    wave.set_pair(VCC, _MASK_VALUE)
    wave.set_pair(_CARRY_OUT, 0x1111_2222_3333_4444)
    return wave


def lanes_of(vectors: U32, mask: int) -> tuple[Lane, ...]:
    """Every lane's sources as ints."""
    dwords = {name: vectors[first : first + 4].astype(object) for name, first in _FIRST.items()}
    joined = {name: rows[0] | rows[1] << 32 | rows[2] << 64 | rows[3] << 96 for name, rows in dwords.items()}
    wide = [[int(joined[name][lane]) for name in "abcd"] for lane in range(LANES)]
    return tuple(Lane(a, b, c, d, mask >> lane & 1) for lane, (a, b, c, d) in enumerate(wide))


@cache
def _lanes(kind: str, number: int) -> tuple[Lane, ...]:
    """The lanes that every operation on that kind of data sees."""
    return lanes_of(_wave(Op("", lambda lane: 0, kind), number, 0).vectors, _MASK_VALUE)


def _differences(op: Op, wave: Wave, before: U32, number: int, active: int) -> list[str]:
    lines = []
    first, carry = _FIRST["d"], 0
    expected = before.copy()
    lanes = _lanes(op.data, number)
    held = {name: getattr(lanes[0], f"wide_{name}") for name in "abc" if f"{{s{name}" in op.text}
    for at, lane in enumerate(lanes):
        if not active >> at & 1:
            continue
        seen = lane if not held else replace(lane, **{f"wide_{name}": value for name, value in held.items()})
        result = op.want(seen)
        value, flag = result if isinstance(result, tuple) else (result, 0)
        carry |= flag << at
        for part in range(op.dwords):
            expected[first + part, at] = value >> 32 * part & M32
    for lane_at in np.flatnonzero((wave.vectors != expected).any(axis=0)):
        got, want = (
            sum(int(rows[first + part, lane_at]) << 32 * part for part in range(op.dwords))
            for rows in (wave.vectors, expected)
        )
        if got == want or not _same(op, got, want) or not active >> int(lane_at) & 1:
            one = lanes[lane_at]
            lines.append(
                f"lane {lane_at}: {got:x}, not {want:x}, of {one.a2:x} {one.b2:x} {one.c2:x} {one.d2:x} {one.m}"
            )
    if "{s}" in op.text and wave.pair(_CARRY_OUT) != carry:
        lines.append(f"mask {wave.pair(_CARRY_OUT):016x}, not {carry:016x}")
    return lines


def _same(op: Op, got: int, want: int) -> bool:
    for form in op.nan:
        part = (1 << form.bits) - 1
        a, b = got & part, want & part
        if a != b and not (form.is_nan(a) and form.is_nan(b)):
            return False
        got, want = got >> form.bits, want >> form.bits
    return got == want


def signed(value: int, bits: int) -> int:
    """Two's complement."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def saturated(value: int, bits: int, *, is_signed: bool) -> int:
    """The nearest number of that type, as bits."""
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed else (0, (1 << bits) - 1)
    return max(low, min(high, value)) & ((1 << bits) - 1)
