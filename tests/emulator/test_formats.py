"""The narrow formats, through the conversions that decode and encode them, against their definition."""

from __future__ import annotations

import format_reference as ref
import numpy as np
import pytest
from conversion_support import DEFAULT, OLD, SATURATE, U32, Mode, as_f64, blobs, floats, run

ARCHES = ("gfx942", "gfx950")
ONE = 0x3F800000
BYTES = np.arange(256, dtype=np.uint32)
HALVES = np.arange(65536, dtype=np.uint32)

COMMON = {
    "fp8": "v_cvt_f32_fp8 {d}, {a}",
    "bf8": "v_cvt_f32_bf8 {d}, {a}",
    "f16": "v_cvt_f32_f16 {d}, {a}",
    "to fp8": "v_cvt_pk_fp8_f32 {d}, {a}, {b}",
    "to bf8": "v_cvt_pk_bf8_f32 {d}, {a}, {b}",
    "to f16": "v_cvt_f16_f32 {d}, {a}",
    "sr fp8": "v_cvt_sr_fp8_f32 {d}, {a}, {b}",
    "sr bf8": "v_cvt_sr_bf8_f32 {d}, {a}, {b}",
}
NEWER = {
    "bf16": "v_cvt_f32_bf16 {d}, {a}",
    "to bf16": "v_cvt_pk_bf16_f32 {d}, {a}, {b}",
    "pair fp8": "v_cvt_scalef32_pk_f32_fp8 {dd}, {a}, 1.0",
    "fp4": "v_cvt_scalef32_pk_f32_fp4 {dd}, {a}, 1.0",
    "to fp4": "v_cvt_scalef32_pk_fp4_f32 {d}, {a}, {b}, 1.0",
}


def _run(arch: str, name: str, *sources: U32, mode: Mode = DEFAULT) -> U32:
    templates = tuple(COMMON.values()) + (tuple(NEWER.values()) if arch == "gfx950" else ())
    return run(arch, blobs(arch, templates)[(COMMON | NEWER)[name]], sources, mode)


def _same(bits: U32, values: ref.F64) -> None:
    """f32 bits against values: zeros with their sign, NaNs quiet."""
    wrong = (bits & 0x7FFFFFFF) < 0x7FC00000
    assert not (wrong & np.isnan(values)).any()
    exact = values.astype(np.float32).view(np.uint32)
    assert np.array_equal(bits[~np.isnan(values)], exact[~np.isnan(values)])


@pytest.mark.parametrize("arch", ARCHES)
def test_every_code_of_the_8_bit_formats(arch: str) -> None:
    codes = BYTES | np.uint32(0xABCDEF00)  # only the low byte counts
    _same(_run(arch, "fp8", codes)[0], ref.decode(ref.FP8[arch], BYTES))
    _same(_run(arch, "bf8", codes)[0], ref.decode(ref.BF8[arch], BYTES))


def test_every_code_of_the_16_bit_formats() -> None:
    halves = _run("gfx942", "f16", HALVES)[0]
    _same(halves, ref.decode(ref.F16, HALVES))
    nans = (HALVES & 0x7FFF) > 0x7C00  # sign and payload stay, the quiet bit is set
    kept = (HALVES & 0x8000) << 16 | 0x7FC00000 | (HALVES & 0x3FF) << 13
    assert np.array_equal(halves[nans], kept[nans])
    brains = _run("gfx950", "bf16", HALVES)[0]
    assert np.array_equal(brains, HALVES << 16)
    finite = ~np.isnan(as_f64(brains))
    assert np.array_equal(as_f64(brains)[finite], ref.decode(ref.BF16, HALVES)[finite])


def test_every_code_of_fp4() -> None:
    low, high = _run("gfx950", "fp4", BYTES)
    _same(low, ref.decode(ref.FP4, BYTES & np.uint32(15)))
    _same(high, ref.decode(ref.FP4, BYTES >> np.uint32(4)))


@pytest.mark.parametrize("mode", [DEFAULT, SATURATE], ids=["nan", "saturate"])
@pytest.mark.parametrize("arch", ARCHES)
def test_every_f16_and_the_ties_to_8_bits(arch: str, mode: Mode) -> None:
    """All 65536 f16 values, and f32 values at and beside every tie; two per instruction, the upper half kept."""
    halves = HALVES.astype(np.uint16).view(np.float16).astype(np.float32).view(np.uint32)
    values = np.concatenate([halves, floats()])
    for name, form in (("to fp8", ref.FP8[arch]), ("to bf8", ref.BF8[arch])):
        got = _run(arch, name, values, values[::-1].copy(), mode=mode)[0]
        codes = ref.encode(form, as_f64(values), saturate=mode.saturate)
        assert np.array_equal(got, OLD & 0xFFFF0000 | codes[::-1] << 8 | codes)


@pytest.mark.parametrize("mode", [DEFAULT, SATURATE], ids=["nan", "saturate"])
@pytest.mark.parametrize("arch", ARCHES)
def test_stochastic_to_8_bits(arch: str, mode: Mode) -> None:
    values = floats(1)
    random = np.random.default_rng(2).integers(0, 2**32, len(values), dtype=np.uint32)
    random[::5], random[1::5] = 0, 0xFFFFFFFF
    for name, form in (("sr fp8", ref.FP8[arch]), ("sr bf8", ref.BF8[arch])):
        got = _run(arch, name, values, random, mode=mode)[0]
        codes = ref.encode_stochastic(form, as_f64(values), random, mode.saturate)
        assert np.array_equal(got, OLD & 0xFFFFFF00 | codes)


def test_stochastic_rounding_is_fair() -> None:
    """Of all random numbers the share that rounds up is the distance from the lower neighbour: 1.03125 is 1 + 1/4."""
    random = np.arange(0, 2**32, 2**20, dtype=np.uint32)
    got = _run("gfx950", "sr fp8", np.full(len(random), 0x3F840000, np.uint32), random)[0]
    assert np.count_nonzero(got & 0xFF == 0x39) == len(random) // 4
    assert np.count_nonzero(got & 0xFF == 0x38) == len(random) * 3 // 4


@pytest.mark.parametrize("rounding", [ref.EVEN, ref.UP, ref.DOWN, ref.ZERO])
@pytest.mark.parametrize("saturate", [False, True])
def test_f32_to_f16_rounds_as_mode_says(rounding: int, saturate: bool) -> None:
    values = floats(3)
    mode = Mode(round_f16=rounding, round_f32=(rounding + 1) % 4, saturate=saturate)
    got = _run("gfx942", "to f16", values, mode=mode)[0]
    assert np.array_equal(got, _payload(values, 13) | ref.encode(ref.F16, as_f64(values), rounding, saturate))


def test_f32_to_f16_agrees_with_numpy() -> None:
    values = floats(4)
    values = values[~np.isnan(as_f64(values))]
    with np.errstate(over="ignore"):
        expected = values.view(np.float32).astype(np.float16).view(np.uint16)
    assert np.array_equal(_run("gfx942", "to f16", values)[0], expected)


def test_f32_to_bf16() -> None:
    values = floats(5)
    got = _run("gfx950", "to bf16", values, values[::-1].copy(), mode=Mode(round_f32=ref.ZERO, round_f16=ref.UP))[0]
    codes = ref.encode(ref.BF16, as_f64(values)) | _payload(values, 16)
    assert np.array_equal(got, codes | codes[::-1] << 16)


def test_f32_to_fp4_saturates() -> None:
    values = floats(6)
    got = _run("gfx950", "to fp4", values, values[::-1].copy())[0]
    codes = ref.encode(ref.FP4, as_f64(values))
    assert np.array_equal(got, OLD & 0xFFFFFF00 | codes | codes[::-1] << 4)


def test_denormals_of_f16_are_flushed_as_mode_says() -> None:
    mode = Mode(denormals_f16=0)
    denormal = (HALVES & 0x7C00) == 0
    got = _run("gfx942", "f16", HALVES, mode=mode)[0]
    assert np.array_equal(got[denormal], (HALVES[denormal] & 0x8000) << 16)
    assert np.array_equal(got[~denormal], _run("gfx942", "f16", HALVES)[0][~denormal])
    values = floats(7)
    kept, flushed = _run("gfx942", "to f16", values)[0], _run("gfx942", "to f16", values, mode=mode)[0]
    assert np.array_equal(flushed, np.where((kept & 0x7C00) == 0, kept & 0x8000, kept))


def _payload(values: U32, shift: int) -> U32:
    """The upper bits of an f32 NaN's mantissa, which a NaN of 16 bits keeps."""
    mantissa = (values & 0x7FFFFF) >> np.uint32(shift)
    return np.where(np.isnan(as_f64(values)), mantissa, 0).astype(np.uint32)
