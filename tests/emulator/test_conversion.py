"""Conversions between f32, f64, f16, bf16 and integers, and the byte and half selections of the 8-bit ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import format_reference as ref
import numpy as np
import pytest
from conversion_support import ACTIVE, DEFAULT, EXEC, OLD, U32, Mode, as_f64, blobs, floats, run
from numpy.typing import NDArray
from step_support import assemble, emulator

from ckgen_emulator.bindings import Wave

RANDOM = np.random.default_rng(11)
FLOATS = floats(8)
WORDS = np.concatenate([
    np.array([0, 1, 2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFF, 0x10000, 0x7FFF, 0x8000, 0xFFFF8000, 0xFFFF7FFF,
              0x01000001, 0x01000003, 0x7FFFFFC0, 0xFFFFFF7F, 0xFFFFFF80], np.uint32),
    RANDOM.integers(0, 2**32, 3000, dtype=np.uint32),
    RANDOM.integers(0, 2**18, 1000, dtype=np.uint32),
])  # fmt: skip
HALVES = np.arange(65536, dtype=np.uint32)
DOUBLES = np.concatenate([
    np.array([0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 2**31, 2**31 - 0.5, -(2**31), -(2**31) - 1, 2**32, 2**32 - 1,
              2**32 - 0.5, 1e300, -1e300, np.inf, -np.inf, np.nan, 1 + 2**-24, 1 + 3 * 2**-24, 3.5e38, 1e-40,
              2**-149.5]),
    np.ldexp(RANDOM.standard_normal(3000), RANDOM.integers(-140, 140, 3000)),
    RANDOM.uniform(-5e9, 5e9, 3000),
])  # fmt: skip
ALL_ROUNDINGS = (ref.EVEN, ref.UP, ref.DOWN, ref.ZERO)


def _integer(values: NDArray[np.float64], low: int, high: int) -> U32:
    whole = np.clip(np.trunc(np.where(np.isnan(values), 0, values)), low, high)
    return (whole.astype(np.int64) & 0xFFFFFFFF).astype(np.uint32)


def _f32(values: NDArray[np.float64], rounding: int = ref.EVEN) -> U32:
    """To f32 in a direction, from the nearest and its neighbours."""
    with np.errstate(over="ignore", invalid="ignore"):
        near = values.astype(np.float32)
        below = np.where(near.astype(np.float64) > values, np.nextafter(near, np.float32(-np.inf)), near)
        above = np.where(near.astype(np.float64) < values, np.nextafter(near, np.float32(np.inf)), near)
    toward = np.where(np.signbit(values), above, below)
    chosen = {ref.EVEN: near, ref.UP: above, ref.DOWN: below, ref.ZERO: toward}[rounding]
    bits: U32 = chosen.astype(np.float32).view(np.uint32)
    return bits


def _normalised(values: NDArray[np.float64], low: int, factor: int) -> U32:
    product = np.clip(np.where(np.isnan(values), 0, values), low, 1) * factor
    return np.asarray(np.rint(product).astype(np.int64) & 0xFFFF, np.uint32)


def _half_values(halves: U32) -> NDArray[np.float64]:
    return ref.decode(ref.F16, halves & np.uint32(0xFFFF))


def _signed(words: U32) -> NDArray[np.int64]:
    return words.view(np.int32).astype(np.int64)


def _narrow(words: NDArray[np.int64], low: int, high: int) -> U32:
    return (np.clip(words, low, high) & 0xFFFF).astype(np.uint32)


UNARY: dict[str, tuple[U32, Callable[[U32], U32]]] = {
    "v_cvt_i32_f32": (FLOATS, lambda a: _integer(as_f64(a), -(2**31), 2**31 - 1)),
    "v_cvt_u32_f32": (FLOATS, lambda a: _integer(as_f64(a), 0, 2**32 - 1)),
    "v_cvt_flr_i32_f32": (FLOATS, lambda a: _integer(np.floor(as_f64(a)), -(2**31), 2**31 - 1)),
    "v_cvt_rpi_i32_f32": (
        FLOATS[~np.isnan(as_f64(FLOATS))],
        lambda a: _integer(np.floor((a.view(np.float32) + np.float32(0.5)).astype(np.float64)), -(2**31), 2**31 - 1),
    ),
    "v_cvt_f32_i32": (WORDS, lambda a: _f32(_signed(a).astype(np.float64))),
    "v_cvt_f32_u32": (WORDS, lambda a: _f32(a.astype(np.float64))),
    "v_cvt_f32_ubyte0": (WORDS, lambda a: _f32((a & 255).astype(np.float64))),
    "v_cvt_f32_ubyte1": (WORDS, lambda a: _f32((a // 2**8 % 256).astype(np.float64))),
    "v_cvt_f32_ubyte2": (WORDS, lambda a: _f32((a // 2**16 % 256).astype(np.float64))),
    "v_cvt_f32_ubyte3": (WORDS, lambda a: _f32((a // 2**24).astype(np.float64))),
    "v_cvt_off_f32_i4": (WORDS, lambda a: _f32(((a.astype(np.int64) & 15 ^ 8) - 8) / 16)),
    "v_cvt_f16_u16": (WORDS, lambda a: ref.encode(ref.F16, (a & 0xFFFF).astype(np.float64))),
    "v_cvt_f16_i16": (WORDS, lambda a: ref.encode(ref.F16, a.astype(np.uint16).view(np.int16).astype(np.float64))),
    "v_cvt_u16_f16": (HALVES, lambda a: _integer(_half_values(a), 0, 65535)),
    "v_cvt_i16_f16": (HALVES, lambda a: _integer(_half_values(a), -32768, 32767) & np.uint32(0xFFFF)),
    "v_cvt_norm_i16_f16": (HALVES, lambda a: _normalised(_half_values(a), -1, 32767)),
    "v_cvt_norm_u16_f16": (HALVES, lambda a: _normalised(_half_values(a), 0, 65535)),
}

BINARY: dict[str, tuple[U32, Callable[[U32], U32]]] = {
    "v_cvt_pk_u16_u32": (WORDS, lambda a: _narrow(a.astype(np.int64), 0, 65535)),
    "v_cvt_pk_i16_i32": (WORDS, lambda a: _narrow(_signed(a), -32768, 32767)),
    "v_cvt_pknorm_i16_f32": (FLOATS, lambda a: _normalised(as_f64(a), -1, 32767)),
    "v_cvt_pknorm_u16_f32": (FLOATS, lambda a: _normalised(as_f64(a), 0, 65535)),
    "v_cvt_pknorm_i16_f16": (HALVES, lambda a: _normalised(_half_values(a), -1, 32767)),
    "v_cvt_pknorm_u16_f16": (HALVES, lambda a: _normalised(_half_values(a), 0, 65535)),
    "v_cvt_pkrtz_f16_f32": (FLOATS, lambda a: ref.encode(ref.F16, as_f64(a), ref.ZERO) | _payload(a)),
}

OTHER = {
    "i32_f64": "v_cvt_i32_f64 {d}, {aa}",
    "u32_f64": "v_cvt_u32_f64 {d}, {aa}",
    "f32_f64": "v_cvt_f32_f64 {d}, {aa}",
    "f32_f64 modified": "v_cvt_f32_f64_e64 {d}, -|{aa}|",
    "f64_i32": "v_cvt_f64_i32 {dd}, {a}",
    "f64_u32": "v_cvt_f64_u32 {dd}, {a}",
    "f64_f32": "v_cvt_f64_f32 {dd}, {a}",
    "f64_f32 modified": "v_cvt_f64_f32_e64 {dd}, -|{a}| mul:4",
    "pk_u8": "v_cvt_pk_u8_f32 {d}, {a}, {b}, {c}",
    "pkaccum_u8": "v_cvt_pkaccum_u8_f32 {d}, {a}, {b}",
    "norm high": "v_cvt_pknorm_i16_f16 {d}, {a}, -{b} op_sel:[1,0,0]",
    "f16 modified": "v_cvt_f16_f32_e64 {d}, -|{a}|",
    "f16 clamp": "v_cvt_f16_f32_e64 {d}, {a} clamp",
    "f32 of -f16": "v_cvt_f32_f16_e64 {d}, -|{a}| mul:2",
    "f32 of u32 div": "v_cvt_f32_u32_e64 {d}, {a} div:2",
    "f32 clamp": "v_cvt_f32_i32_e64 {d}, {a} clamp",
    "f16 word": "v_cvt_f32_f16_sdwa {d}, -{a} dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1",
    "f16 to word": "v_cvt_f16_f32_sdwa {d}, {a} dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD",
    "fp8 byte 0": "v_cvt_f32_fp8_sdwa {d}, {a} src0_sel:BYTE_0",
    "fp8 byte 1": "v_cvt_f32_fp8_sdwa {d}, {a} src0_sel:BYTE_1",
    "fp8 byte 2": "v_cvt_f32_fp8_sdwa {d}, {a} src0_sel:BYTE_2",
    "fp8 byte 3": "v_cvt_f32_fp8_sdwa {d}, {a} src0_sel:BYTE_3",
    "bf8 byte 2": "v_cvt_f32_bf8_sdwa {d}, {a} src0_sel:BYTE_2",
    "fp8 low": "v_cvt_pk_f32_fp8 {dd}, {a}",
    "fp8 high": "v_cvt_pk_f32_fp8_sdwa {dd}, {a} src0_sel:WORD_1",
    "bf8 low": "v_cvt_pk_f32_bf8 {dd}, {a}",
    "bf8 high": "v_cvt_pk_f32_bf8_sdwa {dd}, {a} src0_sel:WORD_1",
    "to fp8 high": "v_cvt_pk_fp8_f32 {d}, -{a}, |{b}| op_sel:[0,0,1]",
    **{
        f"sr {kind} {byte}": f"v_cvt_sr_{kind}_f32 {{d}}, {{a}}, {{b}} op_sel:[0,0,{byte & 1},{byte >> 1}]"
        for kind in ("fp8", "bf8")
        for byte in range(4)
    },
}

NEWER = {
    "pk_f16": "v_cvt_pk_f16_f32 {d}, {a}, {b}",
    "sr_f16": "v_cvt_sr_f16_f32 {d}, {a}, {b}",
    "sr_f16 high": "v_cvt_sr_f16_f32 {d}, {a}, {b} op_sel:[0,0,1]",
    "sr_bf16": "v_cvt_sr_bf16_f32 {d}, {a}, {b}",
    "sr_bf16 high": "v_cvt_sr_bf16_f32 {d}, {a}, {b} op_sel:[0,0,1]",
    "prng": "v_prng_b32 {d}, {a}",
}

_SHARED = (
    *(f"{name} {{d}}, {{a}}" for name in UNARY),
    *(f"{name} {{d}}, {{a}}, {{b}}" for name in BINARY),
    *OTHER.values(),
)


def _run(template: str, *sources: U32, arch: str = "gfx942", mode: Mode = DEFAULT, pair: Any = ()) -> U32:
    code = blobs(arch, _SHARED)[template] if template in _SHARED else blobs("gfx950", tuple(NEWER.values()))[template]
    return run(arch if template in _SHARED else "gfx950", code, sources, mode, pair)


def _payload(values: U32) -> U32:
    mantissa = (values & 0x7FFFFF) >> np.uint32(13)
    return np.where(np.isnan(as_f64(values)), mantissa, 0).astype(np.uint32)


def _dwords(values: NDArray[np.float64]) -> U32:
    return values.view(np.uint32).reshape(-1, 2).T.copy()


@pytest.mark.parametrize("name", UNARY)
def test_one_source(name: str) -> None:
    values, expected = UNARY[name]
    assert np.array_equal(_run(f"{name} {{d}}, {{a}}", values)[0], expected(values))


@pytest.mark.parametrize("name", BINARY)
def test_two_sources_packed(name: str) -> None:
    values, expected = BINARY[name]
    mode = Mode(round_f16=ref.UP)  # of no consequence here
    got = _run(f"{name} {{d}}, {{a}}, {{b}}", values, values[::-1].copy(), mode=mode)[0]
    halves = expected(values)
    assert np.array_equal(got, halves | halves[::-1] << 16)


@pytest.mark.parametrize("rounding", ALL_ROUNDINGS)
def test_rounding_to_f32_and_f16(rounding: int) -> None:
    mode = Mode(round_f32=rounding, round_f16=(rounding + 1) % 4)
    template = "v_cvt_f32_i32 {d}, {a}"
    assert np.array_equal(_run(template, WORDS, mode=mode)[0], _f32(_signed(WORDS).astype(np.float64), rounding))
    template = "v_cvt_f32_u32 {d}, {a}"
    assert np.array_equal(_run(template, WORDS, mode=mode)[0], _f32(WORDS.astype(np.float64), rounding))
    got = _run(OTHER["f32_f64"], mode=mode, pair=_dwords(DOUBLES))[0]
    assert np.array_equal(got[~np.isnan(DOUBLES)], _f32(DOUBLES, rounding)[~np.isnan(DOUBLES)])
    mode = Mode(round_f16=rounding)
    halves = _run("v_cvt_f16_u16 {d}, {a}", WORDS, mode=mode)[0]
    assert np.array_equal(halves, ref.encode(ref.F16, (WORDS & 0xFFFF).astype(np.float64), rounding))


def test_f64() -> None:
    pair = _dwords(DOUBLES)
    assert np.array_equal(_run(OTHER["i32_f64"], pair=pair)[0], _integer(DOUBLES, -(2**31), 2**31 - 1))
    assert np.array_equal(_run(OTHER["u32_f64"], pair=pair)[0], _integer(DOUBLES, 0, 2**32 - 1))
    finite = ~np.isnan(DOUBLES)
    got = _run(OTHER["f32_f64 modified"], pair=pair)[0]
    assert np.array_equal(got[finite], _f32(-np.abs(DOUBLES))[finite])
    assert np.array_equal(_run(OTHER["f64_i32"], WORDS), _dwords(_signed(WORDS).astype(np.float64)))
    assert np.array_equal(_run(OTHER["f64_u32"], WORDS), _dwords(WORDS.astype(np.float64)))
    finite = ~np.isnan(as_f64(FLOATS))
    assert np.array_equal(_run(OTHER["f64_f32"], FLOATS)[:, finite], _dwords(as_f64(FLOATS))[:, finite])
    got = _run(OTHER["f64_f32 modified"], FLOATS)
    assert np.array_equal(got[:, finite], _dwords(-4 * np.abs(as_f64(FLOATS)))[:, finite])


def test_f32_denormals_are_flushed_as_mode_says() -> None:
    flush = Mode(denormals_f32=0)
    denormal = np.array([1, 0x7FFFFF, 0x80000001, 0x807FFFFF], np.uint32)
    assert (_run(OTHER["f64_f32"], denormal, mode=flush)[0] == 0).all()
    assert np.array_equal(_run(OTHER["f64_f32"], denormal, mode=flush)[1], denormal & 0x80000000)
    tiny = np.array([1e-40, -1e-40, 1e-30])
    got = _run(OTHER["f32_f64"], mode=flush, pair=_dwords(tiny))[0]
    assert got.tolist() == [0, 0x80000000, int(_f32(tiny)[2])]


@pytest.mark.parametrize("rounding", ALL_ROUNDINGS)
def test_bytes(rounding: int) -> None:
    values = np.concatenate([RANDOM.uniform(-20, 300, 2000), np.arange(0, 260, 0.5), [np.nan, np.inf, -np.inf, 1e30]])
    single = values.astype(np.float32)
    where = np.arange(len(values), dtype=np.uint32) * 5
    other = RANDOM.integers(0, 2**32, len(values), dtype=np.uint32)
    whole = {ref.EVEN: np.rint, ref.UP: np.ceil, ref.DOWN: np.floor, ref.ZERO: np.trunc}[rounding](single)
    byte = np.clip(np.where(np.isnan(whole), 0, whole), 0, 255).astype(np.uint32)
    shift = 8 * (where % 4)
    mode = Mode(round_f32=rounding)
    got = _run(OTHER["pk_u8"], single.view(np.uint32), where, other, mode=mode)[0]
    assert np.array_equal(got, other & ~(np.uint32(255) << shift) | byte << shift)
    got = _run(OTHER["pkaccum_u8"], single.view(np.uint32), where, mode=mode)[0]
    assert np.array_equal(got, np.uint32(OLD) & ~(np.uint32(255) << shift) | byte << shift)


def test_modifiers() -> None:
    number = ~np.isnan(as_f64(FLOATS))
    values = FLOATS[number]
    assert np.array_equal(_run(OTHER["f16 modified"], values)[0], ref.encode(ref.F16, -np.abs(as_f64(values))))
    clamped = _run(OTHER["f16 clamp"], FLOATS)[0]
    expected = np.clip(np.where(number, as_f64(FLOATS), 0), 0, 1)
    assert np.array_equal(_half_values(clamped), _half_values(ref.encode(ref.F16, expected)))
    finite = ~np.isnan(_half_values(HALVES))
    got = _run(OTHER["f32 of -f16"], HALVES)[0]
    assert np.array_equal(got[finite], _f32(-2 * np.abs(_half_values(HALVES)))[finite])
    assert np.array_equal(_run(OTHER["f32 of u32 div"], WORDS)[0], _f32(WORDS.astype(np.float64) / 2))
    assert np.array_equal(_run(OTHER["f32 clamp"], WORDS)[0], _f32(np.clip(_signed(WORDS), 0, 1).astype(np.float64)))
    got = _run(OTHER["norm high"], HALVES << np.uint32(16), HALVES)[0]
    low, high = _normalised(_half_values(HALVES), -1, 32767), _normalised(-_half_values(HALVES), -1, 32767)
    assert np.array_equal(got, low | high << 16)


def test_sdwa_and_half_selections() -> None:
    words = RANDOM.integers(0, 2**32, 4000, dtype=np.uint32)
    upper = _half_values(words >> np.uint32(16))
    finite = ~np.isnan(upper)
    assert np.array_equal(_run(OTHER["f16 word"], words)[0][finite], _f32(-upper)[finite])
    values = FLOATS[~np.isnan(as_f64(FLOATS))]
    got = _run(OTHER["f16 to word"], values)[0]
    assert np.array_equal(got, np.uint32(OLD & 0xFFFF) | ref.encode(ref.F16, as_f64(values)) << 16)
    for arch in ("gfx942", "gfx950"):
        for byte in range(4):
            _check_8(_run(OTHER[f"fp8 byte {byte}"], words, arch=arch)[0], ref.FP8[arch], words >> np.uint32(8 * byte))
        _check_8(_run(OTHER["bf8 byte 2"], words, arch=arch)[0], ref.BF8[arch], words >> np.uint32(16))
        for kind, form in (("fp8", ref.FP8[arch]), ("bf8", ref.BF8[arch])):
            for half, shift in (("low", 0), ("high", 16)):
                pair = _run(OTHER[f"{kind} {half}"], words, arch=arch)
                _check_8(pair[0], form, words >> np.uint32(shift))
                _check_8(pair[1], form, words >> np.uint32(shift + 8))
        low, high = ref.encode(ref.FP8[arch], -as_f64(values)), ref.encode(ref.FP8[arch], np.abs(as_f64(values)))
        got = _run(OTHER["to fp8 high"], values, values, arch=arch)[0]
        assert np.array_equal(got, np.uint32(OLD & 0xFFFF) | low << 16 | high << 24)
        random = RANDOM.integers(0, 2**32, len(values), dtype=np.uint32)
        for kind, form in (("fp8", ref.FP8[arch]), ("bf8", ref.BF8[arch])):
            code = ref.encode_stochastic(form, as_f64(values), random, False)
            for byte in range(4):
                got = _run(OTHER[f"sr {kind} {byte}"], values, random, arch=arch)[0]
                keep = np.uint32(OLD & ~(0xFF << 8 * byte))
                assert np.array_equal(got, keep | code << np.uint32(8 * byte))


def _check_8(bits: U32, form: ref.Format, codes: U32) -> None:
    values = ref.decode(form, codes & np.uint32(0xFF))
    number = ~np.isnan(values)
    assert np.array_equal(bits[number], _f32(values)[number])
    assert np.isnan(as_f64(bits)[~number]).all()


def test_gfx950_to_16_bits() -> None:
    values = FLOATS[~np.isnan(as_f64(FLOATS))]
    random = RANDOM.integers(0, 2**32, len(values), dtype=np.uint32)
    mode = Mode(round_f16=ref.DOWN, round_f32=ref.UP)  # of no consequence here
    halves = ref.encode(ref.F16, as_f64(values))
    got = _run(NEWER["pk_f16"], values, values[::-1].copy(), mode=mode)[0]
    assert np.array_equal(got, halves | halves[::-1] << 16)
    for name, form in (("sr_f16", ref.F16), ("sr_bf16", ref.BF16)):
        code = ref.encode_stochastic(form, as_f64(values), random, False)
        assert np.array_equal(_run(NEWER[name], values, random, mode=mode)[0], np.uint32(OLD & 0xFFFF0000) | code)
        got = _run(NEWER[f"{name} high"], values, random, mode=mode)[0]
        assert np.array_equal(got, np.uint32(OLD & 0xFFFF) | code << np.uint32(16))


def test_generator() -> None:
    """A linear feedback shift register; 197 are its taps."""
    expected = [2 * int(word) % 2**32 ^ (197 if word >= 2**31 else 0) for word in WORDS]
    assert _run(NEWER["prng"], WORDS)[0].tolist() == expected


def test_dpp_reads_the_neighbour_and_keeps_what_has_none() -> None:
    wave = Wave()
    wave.exec_mask = EXEC
    wave.vectors[0] = np.arange(64) * 3
    wave.vectors[1] = OLD
    code = assemble("v_cvt_f32_u32_dpp v1, v0 row_shr:1 row_mask:0xf bank_mask:0xf", "gfx942")
    assert not emulator("gfx942").step(code, wave).findings
    active = set(ACTIVE.tolist())
    for lane in range(64):
        read = lane in active and lane % 16 > 0 and lane - 1 in active
        value = np.float32((lane - 1) * 3).view(np.uint32) if read else OLD
        assert wave.vectors[1, lane] == value


def test_every_conversion_is_executed() -> None:
    for arch in ("gfx90a", "gfx942", "gfx950"):
        opcodes = emulator(arch).opcodes()
        assert [name for name, known in opcodes.items() if name.startswith("v_cvt") and not known] == []
