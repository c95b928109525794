"""gfx950's conversions with a scale: narrow value times 2^(the scale's exponent field - 127)."""

from __future__ import annotations

import format_reference as ref
import numpy as np
import pytest
from conversion_support import DEFAULT, EXEC, OLD, SATURATE, U32, Mode, as_f64, blobs, floats, run
from numpy.typing import NDArray
from step_support import assemble, emulator

from ckgen_emulator.bindings import Wave

NARROW = {"fp8": ref.FP8["gfx950"], "bf8": ref.BF8["gfx950"], "fp6": ref.FP6, "bf6": ref.BF6, "fp4": ref.FP4}
WIDE = ("f32", "f16", "bf16")
MANTISSA = {"f32": 23, "f16": 10, "bf16": 7}
RANDOM = np.random.default_rng(21)

# Shape of the operands by wide type: f32 pairs are two registers.
_PAIR = {"f32": "{{d}}, {{a}}, {{b}}, {{c}}", "f16": "{{d}}, {{a}}, {{c}}", "bf16": "{{d}}, {{a}}, {{c}}"}
_BYTES = [f" op_sel:[0,0,{byte & 1},{byte >> 1}]" for byte in range(4)]
_SOURCE_BYTES = [f" op_sel:[{byte & 1},{byte >> 1},0]" for byte in range(4)]


def _templates() -> dict[str, str]:
    found = {}
    for wide in WIDE:
        pair = _PAIR[wide].format()
        to = "{dd}" if wide == "f32" else "{d}"
        for kind in ("fp8", "bf8"):
            last = ",0,1]" if wide == "f32" else ",1]"
            found[f"pk_{kind}_{wide} 0"] = f"v_cvt_scalef32_pk_{kind}_{wide} {pair}"
            found[f"pk_{kind}_{wide} 1"] = f"v_cvt_scalef32_pk_{kind}_{wide} {pair} op_sel:[0,0{last}"
            found[f"pk_{wide}_{kind} 0"] = f"v_cvt_scalef32_pk_{wide}_{kind} {to}, {{a}}, {{c}}"
            found[f"pk_{wide}_{kind} 1"] = f"v_cvt_scalef32_pk_{wide}_{kind} {to}, {{a}}, {{c}} op_sel:[1,0,0]"
            for byte in range(4):
                name = f"sr_{kind}_{wide}"
                found[f"{name} {byte}"] = f"v_cvt_scalef32_{name} {{d}}, {{a}}, {{b}}, {{c}}{_BYTES[byte]}"
                if wide != "bf16":
                    name = f"{wide}_{kind}"
                    found[f"{name} {byte}"] = f"v_cvt_scalef32_{name} {{d}}, {{a}}, {{c}}{_SOURCE_BYTES[byte]}"
        for byte in range(4):
            found[f"pk_fp4_{wide} {byte}"] = f"v_cvt_scalef32_pk_fp4_{wide} {pair}{_BYTES[byte]}"
            found[f"pk_{wide}_fp4 {byte}"] = f"v_cvt_scalef32_pk_{wide}_fp4 {to}, {{a}}, {{c}}{_SOURCE_BYTES[byte]}"
            source = "{aa}" if wide == "f32" else "{a}"
            name = f"sr_pk_fp4_{wide}"
            found[f"{name} {byte}"] = f"v_cvt_scalef32_{name} {{d}}, {source}, {{b}}, {{c}}{_BYTES[byte]}"
    for kind in ("fp8", "bf8"):
        found[f"f16_{kind} high"] = f"v_cvt_scalef32_f16_{kind} {{d}}, {{a}}, {{c}} op_sel:[0,1,1]"
    return found


TEMPLATES = _templates()


def _run(name: str, *sources: U32, mode: Mode = DEFAULT, pair: tuple[U32, ...] = ()) -> U32:
    return run("gfx950", blobs("gfx950", tuple(TEMPLATES.values()))[TEMPLATES[name]], sources, mode, pair)


def _wide(kind: str, count: int) -> tuple[U32, NDArray[np.float64]]:
    """Elements of a wide type, NaNs and infinities among them, and their values."""
    bits = RANDOM.choice(floats(31), count).astype(np.uint32)
    if kind == "f32":
        return bits, as_f64(bits)
    bits = RANDOM.integers(0, 65536, count).astype(np.uint32)
    return bits, ref.decode(ref.F16 if kind == "f16" else ref.BF16, bits)


def _scales(count: int) -> tuple[U32, NDArray[np.int64], NDArray[np.bool_]]:
    """f32 scales, their exponents, and which are NaN; sign and mantissa mean nothing."""
    field = RANDOM.choice(np.array([0, 1, 100, 120, 125, 126, 127, 128, 129, 135, 150, 254, 255]), count)
    noise = RANDOM.integers(0, 2**32, count, dtype=np.uint32) & np.uint32(0x807FFFFF)
    return noise | field.astype(np.uint32) << np.uint32(23), field - 127, field == 255


def _poisoned(values: NDArray[np.float64], poison: NDArray[np.bool_]) -> NDArray[np.float64]:
    return np.where(poison, np.copysign(np.nan, values), values)


def _signs(kind: str, bits: U32) -> NDArray[np.bool_]:
    return np.asarray(bits >> np.uint32(31 if kind == "f32" else 15) & 1, np.bool_)


def _encode(kind: str, wide: str, bits: U32, values: NDArray[np.float64], scale: U32, mode: Mode,
            random: U32 | None = None) -> U32:  # fmt: skip
    """Scaled down and encoded; a NaN scale is a NaN of the element's sign."""
    exponent = (scale >> np.uint32(23) & 255).astype(np.int64) - 127
    signed = np.copysign(np.where(exponent == 128, np.nan, values), np.where(_signs(wide, bits), -1.0, 1.0))
    scaled = np.ldexp(signed, -exponent)
    form = NARROW[kind]
    if random is None:
        return ref.encode(form, scaled, saturate=mode.saturate)
    return ref.encode_stochastic(form, scaled, random, mode.saturate, MANTISSA[wide])


def _generator(state: U32) -> U32:
    return (state << np.uint32(1)) ^ np.where(state >> np.uint32(31), np.uint32(197), np.uint32(0))


@pytest.mark.parametrize("mode", [DEFAULT, SATURATE], ids=["nan", "saturate"])
@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize("kind", ["fp8", "bf8", "fp4"])
def test_narrow_a_pair(kind: str, wide: str, mode: Mode) -> None:
    count = 3000
    (low, low_values), (high, high_values), (scale, _, _) = _wide(wide, count), _wide(wide, count), _scales(count)
    width = NARROW[kind].bits
    pair = _encode(kind, wide, low, low_values, scale, mode)
    pair = pair | _encode(kind, wide, high, high_values, scale, mode) << np.uint32(width)
    first = low if wide == "f32" else low | high << np.uint32(16)
    for place in range(4 if kind == "fp4" else 2):
        shift = place * 2 * width
        keep = np.uint32(OLD & ~(((1 << 2 * width) - 1) << shift))
        got = _run(f"pk_{kind}_{wide} {place}", first, high, scale, mode=mode)[0]
        assert np.array_equal(got, keep | pair << np.uint32(shift))


@pytest.mark.parametrize("mode", [DEFAULT, SATURATE], ids=["nan", "saturate"])
@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize("kind", ["fp8", "bf8"])
def test_narrow_one_stochastically(kind: str, wide: str, mode: Mode) -> None:
    count = 3000
    (bits, values), (scale, _, _) = _wide(wide, count), _scales(count)
    random = RANDOM.integers(0, 2**32, count, dtype=np.uint32)
    code = _encode(kind, wide, bits, values, scale, mode, random)
    for byte in range(4):
        keep = np.uint32(OLD & ~(0xFF << 8 * byte))
        got = _run(f"sr_{kind}_{wide} {byte}", bits, random, scale, mode=mode)[0]
        assert np.array_equal(got, keep | code << np.uint32(8 * byte))


@pytest.mark.parametrize("wide", WIDE)
def test_narrow_a_pair_of_fp4_stochastically(wide: str) -> None:
    count = 3000
    (low, low_values), (high, high_values), (scale, _, _) = _wide(wide, count), _wide(wide, count), _scales(count)
    random = RANDOM.integers(0, 2**32, count, dtype=np.uint32)
    code = _encode("fp4", wide, low, low_values, scale, DEFAULT, random)
    code = code | _encode("fp4", wide, high, high_values, scale, DEFAULT, _generator(random)) << np.uint32(4)
    packed, pair = low | high << np.uint32(16), (low, high) if wide == "f32" else ()
    for byte in range(4):
        got = _run(f"sr_pk_fp4_{wide} {byte}", packed, random, scale, pair=pair)[0]
        assert np.array_equal(got, np.uint32(OLD & ~(0xFF << 8 * byte)) | code << np.uint32(8 * byte))


def _check_wide(wide: str, got: U32, form: ref.Format, codes: U32, scale: U32) -> None:
    """Exact or to nearest even, infinity on overflow, NaN from a NaN of either."""
    exponent = (scale >> np.uint32(23) & 255).astype(np.int64) - 127
    value = ref.decode(form, codes)
    nan = np.isnan(value) | (exponent == 128)
    value = np.ldexp(value, exponent)
    if wide == "f32":
        with np.errstate(over="ignore"):
            assert np.array_equal(got[~nan], value.astype(np.float32).view(np.uint32)[~nan])
        assert np.isnan(as_f64(got)[nan]).all()
    else:
        target = ref.F16 if wide == "f16" else ref.BF16
        assert np.array_equal(got[~nan], ref.encode(target, value)[~nan])
        assert np.isnan(ref.decode(target, got)[nan]).all()


@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize("kind", ["fp8", "bf8", "fp4"])
def test_widen(kind: str, wide: str) -> None:
    count = 4000
    words, (scale, _, _) = RANDOM.integers(0, 2**32, count, dtype=np.uint32), _scales(count)
    form = NARROW[kind]
    mask = np.uint32(2**form.bits - 1)
    for place in range(4 if kind == "fp4" else 2):
        codes = words >> np.uint32(2 * form.bits * place)
        got = _run(f"pk_{wide}_{kind} {place}", words, words, scale)
        low, high = got if wide == "f32" else (got[0] & 0xFFFF, got[0] >> 16)
        _check_wide(wide, low, form, codes & mask, scale)
        _check_wide(wide, high, form, codes >> np.uint32(form.bits) & mask, scale)
    if kind == "fp4" or wide == "bf16":
        return
    for byte in range(4):
        got = _run(f"{wide}_{kind} {byte}", words, words, scale)[0]
        if wide == "f16":
            assert (got >> 16 == OLD >> 16).all()
            got = got & 0xFFFF
        _check_wide(wide, got, form, words >> np.uint32(8 * byte) & np.uint32(0xFF), scale)
    if wide == "f16":
        got = _run(f"f16_{kind} high", words, words, scale)[0]
        assert (got & 0xFFFF == OLD & 0xFFFF).all()
        _check_wide("f16", got >> 16, form, words >> np.uint32(16) & np.uint32(0xFF), scale)


_SCALE, _SEED, _TO = 100, 101, 64
_ALL_LANES = np.array([lane for lane in range(64) if EXEC >> lane & 1])


def _many(text: str, sources: U32, scale: U32, seed: U32, dwords: int) -> U32:
    """Runs a pk32 on v0… with the scale in v100 and the seed in v101; the dwords of v64… in lanes of EXEC."""
    wave = Wave()
    wave.exec_mask = EXEC
    wave.vectors[:] = OLD
    wave.vectors[: len(sources), _ALL_LANES] = sources
    wave.vectors[_SCALE, _ALL_LANES], wave.vectors[_SEED, _ALL_LANES] = scale, seed
    done = emulator("gfx950").step(_code(text), wave)
    assert done.instructions == 2 and not done.findings
    assert (wave.vectors[:, np.setdiff1d(np.arange(64), _ALL_LANES)] == OLD).all()
    assert (wave.vectors[_TO + dwords] == OLD).all()
    return wave.vectors[_TO : _TO + dwords, _ALL_LANES]


_NARROW_MANY = [
    *(f"v_cvt_scalef32_pk32_{kind}_{wide} v[64:69], v[0:15], v100" for kind in ("fp6", "bf6") for wide in WIDE[1:]),
    *(f"v_cvt_scalef32_sr_pk32_{kind}_{wide} v[64:69], v[0:15], v101, v100"
      for kind in ("fp6", "bf6") for wide in WIDE[1:]),
    *(f"v_cvt_scalef32_sr_pk32_{kind}_f32 v[64:69], v[0:31], v101, v100" for kind in ("fp6", "bf6")),
    *(f"v_cvt_scalef32_2xpk16_{kind}_f32 v[64:69], v[0:15], v[16:31], v100" for kind in ("fp6", "bf6")),
]  # fmt: skip
_WIDEN_MANY = [
    f"v_cvt_scalef32_pk32_{wide}_{kind} v[64:{64 + (31 if wide == 'f32' else 15)}], v[0:5], v100"
    for kind in ("fp6", "bf6")
    for wide in WIDE
]


def _code(text: str) -> bytes:
    lines = [*_NARROW_MANY, *_WIDEN_MANY]
    return assemble("\n".join(lines), "gfx950")[8 * lines.index(text) : 8 * lines.index(text) + 8]


def _six_bits(dwords: U32, index: int) -> U32:
    """Element `index` of 192 bits."""
    number = sum(dwords[part].astype(object) << 32 * part for part in range(6))
    return np.asarray(number >> 6 * index & 63, np.uint32)


@pytest.mark.parametrize("text", _NARROW_MANY)
def test_narrow_32(text: str) -> None:
    name = text.split()[0].split("_")
    kind, wide = name[-2:]
    stochastic, two = "sr" in name, "2xpk16" in name
    lanes = len(_ALL_LANES)
    elements = [_wide(wide, lanes) for _ in range(32)]
    (scale, _, _), seed = _scales(lanes), RANDOM.integers(0, 2**32, lanes, dtype=np.uint32)
    bits = np.array([one for one, _ in elements])
    sources = bits if wide == "f32" else bits[::2] | bits[1::2] << np.uint32(16)
    got = _many(text, sources, scale, seed, 6)
    random = seed
    for index in range(32):
        from_element = index // 2 + 16 * (index % 2) if two else index  # 2xpk16: the two sources alternate
        one, values = elements[from_element]
        expected = _encode(kind, wide, one, values, scale, DEFAULT, random if stochastic else None)
        assert np.array_equal(_six_bits(got, index), expected), index
        random = _generator(random)


@pytest.mark.parametrize("text", _WIDEN_MANY)
def test_widen_32(text: str) -> None:
    wide, kind = text.split()[0].split("_")[-2:]
    lanes = len(_ALL_LANES)
    codes = RANDOM.integers(0, 64, (32, lanes)).astype(object)
    number = sum(codes[index] << 6 * index for index in range(32))
    sources = np.array([(number >> 32 * part & 0xFFFFFFFF).astype(np.uint32) for part in range(6)])
    scale, _, _ = _scales(lanes)
    got = _many(text, sources, scale, scale, 32 if wide == "f32" else 16)
    for index in range(32):
        element = got[index] if wide == "f32" else got[index // 2] >> np.uint32(16 * (index % 2)) & 0xFFFF
        _check_wide(wide, element, NARROW[kind], codes[index].astype(np.uint32), scale)


def test_every_scaled_conversion_is_tested() -> None:
    tested = {text.split()[0] for text in [*TEMPLATES.values(), *_NARROW_MANY, *_WIDEN_MANY]}
    assert tested == {name for name in emulator("gfx950").opcodes() if "scalef32" in name and "mfma" not in name}


def test_denormal_results_are_flushed_as_mode_says() -> None:
    flush = Mode(denormals_f32=0, denormals_f16=0)
    one = np.full(1, 0xB8, np.uint32)  # -1
    tiny = np.full(1, 0, np.uint32)  # 2^-127
    assert _run("f32_fp8 0", one, one, tiny)[0, 0] == 0x80400000
    assert _run("f32_fp8 0", one, one, tiny, mode=flush)[0, 0] == 0x80000000
    small = np.full(1, (127 - 20) << 23, np.uint32)
    assert _run("f16_fp8 0", one, one, small)[0, 0] & 0xFFFF == 0x8010
    assert _run("f16_fp8 0", one, one, small, mode=flush)[0, 0] & 0xFFFF == 0x8000
