"""The host backend from Python: build it as a library, describe a GEMM, run it. For tests."""

import ctypes
import pathlib
import subprocess

import ml_dtypes
import numpy as np

from cpp_build import SYSTEM_LIBRARIES, dispatcher_archive

ROOT = pathlib.Path(__file__).resolve().parents[2]
CPP = ROOT / "dispatcher_cpp"

NUMPY = {
    "fp32": np.float32,
    "fp16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "int8": np.int8,
    "int32": np.int32,
    "fp8_fnuz": ml_dtypes.float8_e4m3fnuz,
    "fp8_ocp": ml_dtypes.float8_e4m3fn,
    "bf8_fnuz": ml_dtypes.float8_e5m2fnuz,
    "bf8_ocp": ml_dtypes.float8_e5m2,
    "fp4": ml_dtypes.float4_e2m1fn,
}
LAYOUTS = ["rcr", "rrr", "ccr", "crr"]
QUANTS = ["none", "per_tensor", "rowwise", "blockscale", "mx"]
EPILOGUE_OPS = ["none", "add", "mul", "relu", "gelu", "silu", "scale"]
OPERAND_OPS = ["none", "add", "mul"]
ISAS = ["x86_64_v3", "x86_64_v4", "x86_64_v4_bf16", "x86_64_amx"]


class Traits(ctypes.Structure):
    _fields_ = [
        *[(f, ctypes.c_uint8) for f in ("a", "b", "c", "acc", "layout", "quant", "preshuffle_b", "bias")],
        ("epilogue", ctypes.c_uint8 * 3),
        *[(f, ctypes.c_uint8) for f in ("a_op", "b_op", "scale_sides", "scale_n", "scale_k")],
    ]


class TwinConfig(ctypes.Structure):
    _fields_ = [(f, ctypes.c_int32) for f in ("tile_m", "tile_n", "tile_k", "k_batch_mode")] + [
        (f, ctypes.c_bool) for f in ("pad_m", "pad_n", "pad_k")
    ]


class HostConfig(ctypes.Structure):
    _fields_ = [("isa", ctypes.c_uint8)] + [(f, ctypes.c_int32) for f in ("mr", "nr", "mc", "nc", "kc", "threads")]


class Args(ctypes.Structure):
    _fields_ = (
        [(f, ctypes.c_void_p) for f in ("a", "b", "c", "a_scale", "b_scale", "bias")]
        + [("a_scale_row_major", ctypes.c_bool)]
        + [
            (f, ctypes.c_int64)
            for f in ("m", "n", "k", "batch", "lda", "ldb", "ldc", "batch_stride_a", "batch_stride_b", "batch_stride_c")
        ]
        + [("mx_scale_shuffled", ctypes.c_bool)]
        + [("d", ctypes.c_void_p * 2), ("ldd", ctypes.c_int64 * 2), ("batch_stride_d", ctypes.c_int64 * 2)]
        + [("alpha", ctypes.c_float), ("a1", ctypes.c_void_p), ("b1", ctypes.c_void_p), ("b_prepacked", ctypes.c_bool)]
        + [("a_scale_stride", ctypes.c_int64)]
    )


def build(folder):
    """Link the C shim and ckgen's own library into folder/host.so."""
    archive = dispatcher_archive()
    library = pathlib.Path(folder) / "host.so"
    flags = ["-std=c++20", "-O2", "-fPIC", "-shared", f"-I{CPP / 'include'}", f"-I{CPP}"]
    whole = ["-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive", *SYSTEM_LIBRARIES]
    subprocess.run(
        ["g++", *flags, str(CPP / "tests/backends/host/gemm/host_gemm_shim.cpp"), "-o", str(library), *whole],
        check=True,
    )
    return library


def load(path):
    return ctypes.CDLL(str(path))


def pack_fp4(values):
    """float4 array [..., K] (one code per byte) to bytes [..., K/2], low nibble first."""
    codes = values.view(np.uint8)
    return np.ascontiguousarray((codes[..., 0::2] & 15) | (codes[..., 1::2] << 4))


def traits_of(
    lib, a, b, c, layout="rcr", quant="none", preshuffle=False, bias=False, *, epilogue=(), a_op="none", b_op="none"
):
    acc = "int32" if a == "int8" else "fp32"
    ids = [lib.shim_dtype(t.encode()) for t in (a, b, c, acc)]
    assert -1 not in ids
    ops = [EPILOGUE_OPS.index(op) for op in (*epilogue, "none", "none", "none")[:3]]
    operands = (OPERAND_OPS.index(a_op), OPERAND_OPS.index(b_op))
    return Traits(
        *ids, LAYOUTS.index(layout), QUANTS.index(quant), preshuffle, bias, (ctypes.c_uint8 * 3)(*ops), *operands,
        0, 128, 128,
    )  # fmt: skip
