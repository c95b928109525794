"""ckgen/codecs.hpp against ml_dtypes: every code, every bf16 value and its fp32 neighbours, every fp16, specials."""

import ctypes
import pathlib
import subprocess

import ml_dtypes
import numpy as np
import pytest

pytestmark = pytest.mark.cpp

ROOT = pathlib.Path(__file__).resolve().parents[2]

SHIM = r"""
#include "ckgen/codecs.hpp"
using namespace ckgen;
static_assert(decode(DType::fp8_ocp, 0x7e) == 448.0f && decode(DType::fp8_fnuz, 0x7f) == 240.0f);
static_assert(max_finite(DType::fp4) == 6.0f && encode(DType::bf16, 1.0f) == 0x3f80u);
static_assert(pack_nibbles(3, 12) == 0xc3 && nibble(0xc3, 0) == 3 && nibble(0xc3, 1) == 12);
static_assert(decode_int4(7) == 7 && decode_int4(8) == -8 && decode_int4(15) == -1 && decode_int4(0) == 0);
static constexpr DecodeTable kTable = make_decode_table(DType::bf8_ocp);
static_assert(kTable.value[0x3c] == 1.0f);
extern "C" int dtype_of(const char* text) { DType t{}; return parse(text, t) ? static_cast<int>(t) : -1; }
extern "C" void decode_all(int t, const unsigned* in, float* out, long n) {
  for (long i = 0; i < n; ++i) out[i] = decode(static_cast<DType>(t), in[i]);
}
extern "C" void encode_all(int t, int saturate, const float* in, unsigned* out, long n) {
  for (long i = 0; i < n; ++i)
    out[i] = encode(static_cast<DType>(t), in[i], saturate ? Overflow::saturating : Overflow::standard);
}
"""

ORACLE = {
    "fp8_fnuz": ml_dtypes.float8_e4m3fnuz,
    "fp8_ocp": ml_dtypes.float8_e4m3fn,
    "bf8_fnuz": ml_dtypes.float8_e5m2fnuz,
    "bf8_ocp": ml_dtypes.float8_e5m2,
    "fp4": ml_dtypes.float4_e2m1fn,
    "e8m0": ml_dtypes.float8_e8m0fnu,
    "bf16": ml_dtypes.bfloat16,
    "fp16": np.float16,
}
WIDTH = {"fp4": 4, "bf16": 16, "fp16": 16}


def code_type(name):
    return np.uint16 if WIDTH.get(name, 8) == 16 else np.uint8


@pytest.fixture(scope="module")
def lib(tmp_path_factory):
    folder = tmp_path_factory.mktemp("codecs")
    (folder / "shim.cpp").write_text(SHIM)
    subprocess.run(
        ["g++", "-std=c++17", "-O2", "-shared", "-fPIC", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion",
         "-Werror", f"-I{ROOT / 'dispatcher_cpp/include'}", "shim.cpp", "-o", "shim.so"],
        cwd=folder, check=True,
    )  # fmt: skip
    return ctypes.CDLL(str(folder / "shim.so"))


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def our_decode(lib, name, codes):
    codes = np.ascontiguousarray(codes, np.uint32)
    out = np.empty(codes.shape, np.float32)
    lib.decode_all(lib.dtype_of(name.encode()), pointer(codes), pointer(out), ctypes.c_long(codes.size))
    return out


def our_encode(lib, name, values, saturate=False):
    values = np.ascontiguousarray(values, np.float32)
    out = np.empty(values.shape, np.uint32)
    lib.encode_all(
        lib.dtype_of(name.encode()), int(saturate), pointer(values), pointer(out), ctypes.c_long(values.size)
    )
    return out


@pytest.fixture(scope="module")
def corpus():
    bf16 = np.arange(65536, dtype=np.uint32) << 16
    bits = np.concatenate([bf16, bf16 + np.uint32(1), bf16 - np.uint32(1)])
    fp16 = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float32).view(np.uint32)
    noise = np.random.default_rng(7).integers(0, 2**32, 300_000, dtype=np.uint32)
    # The midpoints of neighbouring values are where rounding rules differ (fp16's nest all the narrower formats').
    finite = np.sort(fp16.view(np.float32)[np.isfinite(fp16.view(np.float32))])
    halves = (finite[:-1] + finite[1:]) / np.float32(2)
    special = np.array([0.0, -0.0, np.inf, -np.inf, 1e-45, -1e-45, 3.4028235e38, 2**-127, 1.5 * 2**-127], np.float32)
    return np.concatenate([bits.view(np.float32), fp16.view(np.float32), noise.view(np.float32), halves, special])


@pytest.mark.parametrize("name", ORACLE)
def test_decode_every_code(lib, name):
    codes = np.arange(1 << WIDTH.get(name, 8), dtype=code_type(name))
    with np.errstate(invalid="ignore"):
        want = codes.view(ORACLE[name]).astype(np.float32)
    got = our_decode(lib, name, codes)
    nan = np.isnan(want)
    assert np.array_equal(np.isnan(got), nan)
    assert np.array_equal(got[~nan].view(np.uint32), want[~nan].view(np.uint32))  # the sign of zero counts


@pytest.mark.parametrize("name", ORACLE)
def test_encode_like_ml_dtypes(lib, name, corpus):
    with np.errstate(over="ignore", invalid="ignore"):
        want = corpus.astype(ORACLE[name]).view(code_type(name)).astype(np.uint32)
    got = our_encode(lib, name, corpus)
    if name in ("fp16", "bf16"):  # NaN payloads differ between numpy's own code paths
        nan = np.isnan(corpus)
        assert np.isnan(our_decode(lib, name, got[nan])).all()
        want, got, corpus = want[~nan], got[~nan], corpus[~nan]
    wrong = np.flatnonzero(want != got)
    assert wrong.size == 0, [(float(corpus[i]), hex(want[i]), hex(got[i])) for i in wrong[:5]]


@pytest.mark.parametrize("name", ORACLE)
def test_saturating_is_a_clamp_before_rounding(lib, name, corpus):
    values = corpus[~np.isnan(corpus)]
    if name == "e8m0":
        values = values[values > 0]
    top = np.float32(ml_dtypes.finfo(ORACLE[name]).max)
    with np.errstate(over="ignore", invalid="ignore"):
        want = np.clip(values, -top, top).astype(ORACLE[name]).view(code_type(name)).astype(np.uint32)
    got = our_encode(lib, name, values, saturate=True)
    assert np.array_equal(want, got)


def test_saturating_keeps_nan(lib):
    for name in ORACLE:
        code = our_encode(lib, name, np.array([np.nan], np.float32), saturate=True)
        assert name == "fp4" or np.isnan(our_decode(lib, name, code))[0]


def test_every_code_survives_the_round_trip(lib):
    for name in ORACLE:
        codes = np.arange(1 << WIDTH.get(name, 8), dtype=np.uint32)
        values = our_decode(lib, name, codes)
        keep = ~np.isnan(values)
        assert np.array_equal(our_encode(lib, name, values[keep]), codes[keep]), name
