"""A GEMM as data (Case), its operands in memory and its result from the definition, in float64 and ml_dtypes (Problem).

Two kinds of data. `exact`: small integers and power-of-two scales, so that every fp32 sum is exact and the result must
be equal bit for bit: finds anything misplaced. `random`: normal values, compared within a bound that follows from the
number of fp32 roundings: |error| <= roundings * 2^-24 * sum |a||b| (scaled), plus half an ulp of the C dtype.
"""

import ctypes
import dataclasses

import host_backend as hb
import numpy as np


@dataclasses.dataclass
class Case:
    a: str = "fp32"
    b: str = "fp32"
    c: str = "fp32"
    m: int = 37
    n: int = 70
    k: int = 100
    layout: str = "rcr"
    quant: str = "none"
    bias: bool = False
    preshuffle: bool = False
    batch: int = 1
    broadcast: str = ""  # "a" and/or "b"
    pad_ld: int = 6
    tile: tuple = (128, 128, 64)
    k_batch: int = 1
    mode: int = 0
    a_scale_row_major: bool = True
    mx_scale_shuffled: bool = False
    data: str = "exact"
    seed: int = 1


def ceil_div(x, y):
    return -(-x // y)


class Problem:
    """Operands of a case as float64, and as the bytes that the kernel reads."""

    def __init__(self, case):
        self.case = c = case
        rng = np.random.default_rng(c.seed)
        batches_a = 1 if "a" in c.broadcast else c.batch
        batches_b = 1 if "b" in c.broadcast else c.batch
        self.a = self.values(rng, c.a, (batches_a, c.m, c.k))
        self.b = self.values(rng, c.b, (batches_b, c.k, c.n))
        pad_b = 0 if c.preshuffle else c.pad_ld
        self.a_memory, self.lda, self.stride_a = self.store(c.a, self.a, c.layout[0] == "r", c.pad_ld)
        self.b_memory, self.ldb, self.stride_b = self.store(c.b, self.b, c.layout[1] == "r", pad_b)
        if c.preshuffle:
            self.b_memory = np.stack([shuffle_reference(x) for x in as_rows(self.b_memory, c.n)])
        self.stride_a *= "a" not in c.broadcast
        self.stride_b *= "b" not in c.broadcast
        self.ldc = c.n + c.pad_ld
        self.c_memory = np.full((c.batch, c.m, self.ldc), 99, hb.NUMPY[c.c])
        self.bias = self.scale(rng, (c.n,), False) if c.bias else None
        self.scales(rng, batches_a, batches_b)

    def values(self, rng, dtype, shape):
        if dtype == "int8":
            low, high = (-4, 5) if self.case.data == "exact" else (-128, 128)
            return rng.integers(low, high, shape).astype(np.int8)
        if self.case.data == "exact":
            return rng.integers(-2, 3, shape).astype(np.float32).astype(hb.NUMPY[dtype])
        return rng.standard_normal(shape).astype(np.float32).astype(hb.NUMPY[dtype])

    def store(self, dtype, x, row_major, pad):
        x = x if row_major else x.swapaxes(1, 2)
        memory = np.full((x.shape[0], x.shape[1], x.shape[2] + pad), 3 if dtype in ("int8", "fp4") else np.nan)
        memory = memory.astype(np.float32).astype(hb.NUMPY[dtype])
        memory[:, :, : x.shape[2]] = x
        stride, ld = memory.shape[1] * memory.shape[2], memory.shape[2]
        return (hb.pack_fp4(memory) if dtype == "fp4" else np.ascontiguousarray(memory)), ld, stride

    def scale(self, rng, shape, power=True):
        if self.case.data == "exact":
            return (2.0 ** rng.integers(-2, 3, shape)).astype(np.float32)
        small = 2.0**-5 if self.case.a == "int8" else 1.0  # int8 sums must not overflow fp16
        return (rng.uniform(0.25, 2.0, shape) * small if power else rng.standard_normal(shape)).astype(np.float32)

    def scales(self, rng, batches_a, batches_b):
        """self.sa [batch, m, group] and self.sb [batch, group, n] multiply each K group's partial."""
        c = self.case
        self.group = {"blockscale": 128, "mx": 32}.get(c.quant, max(c.k, 1))
        groups = ceil_div(c.k, self.group)
        self.a_scale = self.b_scale = None
        self.sa, self.sb = np.ones((1, c.m, groups)), np.ones((1, groups, c.n))
        if c.quant == "per_tensor":
            self.a_scale, self.b_scale = self.scale(rng, (1,)), self.scale(rng, (1,))
            self.sa, self.sb = self.sa * self.a_scale, self.sb * self.b_scale
        elif c.quant == "rowwise":
            self.a_scale, self.b_scale = self.scale(rng, (batches_a, c.m)), self.scale(rng, (batches_b, c.n))
            self.sa, self.sb = self.a_scale[:, :, None], self.b_scale[:, None, :]
        elif c.quant == "blockscale":
            self.sa = self.scale(rng, (batches_a, c.m, groups))
            blocks = self.scale(rng, (batches_b, ceil_div(c.n, 128), groups))
            self.a_scale = np.ascontiguousarray(self.sa if c.a_scale_row_major else self.sa.swapaxes(1, 2))
            self.b_scale = blocks
            self.sb = blocks.repeat(128, axis=1)[:, : c.n].swapaxes(1, 2)
        elif c.quant == "mx":
            self.a_scale = rng.integers(124, 131, (batches_a, c.m, groups), dtype=np.uint8)
            self.b_scale = rng.integers(124, 131, (batches_b, c.n, groups), dtype=np.uint8)
            self.sa = 2.0 ** (self.a_scale.astype(np.float64) - 127)
            self.sb = (2.0 ** (self.b_scale.astype(np.float64) - 127)).swapaxes(1, 2)
            if c.mx_scale_shuffled:
                self.a_scale = np.stack([shuffled_scale_reference(x) for x in self.a_scale])
                self.b_scale = np.stack([shuffled_scale_reference(x) for x in self.b_scale])

    def splits(self):
        c = self.case
        chunk = ceil_div(c.k, c.k_batch * c.tile[2]) * c.tile[2]
        return [(s * chunk, min(c.k, (s + 1) * chunk)) for s in range(c.k_batch) if s * chunk < c.k]

    def sum_of(self, a, b, sa, sb, k0, k1):
        """sum over K groups in [k0, k1) of (a @ b) * sa * sb, in float64."""
        total = np.zeros((self.case.batch, self.case.m, self.case.n))
        for g in range(k0 // self.group, ceil_div(k1, self.group)):
            lo, hi = max(k0, g * self.group), min(k1, (g + 1) * self.group)
            total = total + (a[:, :, lo:hi] @ b[:, lo:hi]) * sa[:, :, g, None] * sb[:, g, None, :]
        return total

    def reference(self):
        """(C in its dtype, elementwise bound on the error)."""
        c = self.case
        out = hb.NUMPY[c.c]
        a, b = self.a.astype(np.float64), self.b.astype(np.float64)
        sa, sb = np.float64(self.sa), np.float64(self.sb)
        bias = 0.0 if self.bias is None else self.bias.astype(np.float64)
        if c.a == "int8":  # exact sums, then the documented fp32 steps one by one
            result = None
            parts = self.splits() if c.mode == 2 else [(0, c.k)]
            for i, (k0, k1) in enumerate(parts):
                part = a[:, :, k0:k1] @ b[:, k0:k1]
                if c.c != "int32":
                    part = part.astype(np.float32) * np.float32(self.sa[:, :, :1]) * np.float32(self.sb[:, :1, :])
                    if self.bias is not None and i == 0:
                        part = part + self.bias
                part = part.astype(out)
                result = part if result is None else (result + part).astype(out)
            return result, np.zeros(result.shape)
        u32, uc = 2.0**-24, {"fp32": 2.0**-24, "fp16": 2.0**-11, "bf16": 2.0**-8}[c.c]
        roundings = c.k + 3 * ceil_div(c.k, self.group) + c.k_batch + 4
        size = self.sum_of(abs(a), abs(b), abs(sa), abs(sb), 0, c.k) + abs(bias)
        bound = roundings * u32 * size
        if c.mode == 2 and len(self.splits()) > 1:
            result = None
            for i, (k0, k1) in enumerate(self.splits()):
                part = self.sum_of(a, b, sa, sb, k0, k1) + (bias if i == 0 else 0.0)
                part = part.astype(np.float32).astype(out)
                result = part if result is None else (result.astype(np.float32) + part.astype(np.float32)).astype(out)
            bound = bound + 2 * c.k_batch * uc * size * (1 + 2 * uc)
            return result, bound
        total = self.sum_of(a, b, sa, sb, 0, c.k) + bias
        # Half an ulp on our side, half on the reference's, where fp16 has a floor of 2^-25.
        return total.astype(np.float32).astype(out), bound + 2 * uc * abs(total) + 2.0**-24 * (c.c == "fp16")

    def args(self):
        c = self.case

        def pointer(x):
            return None if x is None else x.ctypes.data

        return hb.Args(
            pointer(self.a_memory), pointer(self.b_memory), pointer(self.c_memory), pointer(self.a_scale),
            pointer(self.b_scale), pointer(self.bias), c.a_scale_row_major, c.m, c.n, c.k, c.batch, self.lda, self.ldb,
            self.ldc, self.stride_a, self.stride_b, c.m * self.ldc, c.mx_scale_shuffled,
        )  # fmt: skip


def as_rows(memory, n):
    return memory.view(np.uint8).reshape(memory.shape[0], n, -1)


def shuffle_reference(rows):
    """AITER: x.view(-1, N/BN, BN, K/BK, BK/K, K).permute(0, 1, 3, 4, 2, 5) on bytes, BN = 16, K = 16, BK = 32."""
    n, k = rows.shape
    return np.ascontiguousarray(rows.reshape(n // 16, 16, k // 32, 2, 16).transpose(0, 2, 3, 1, 4)).reshape(n, k)


def shuffled_scale_reference(scales):
    """AITER's e8m0_shuffle of [rows, groups] bytes, padded with zeros to multiples of 32 and of 8."""
    rows, groups = scales.shape
    padded = np.pad(scales, ((0, -rows % 32), (0, -groups % 8)))
    blocks = padded.reshape(padded.shape[0] // 32, 2, 16, padded.shape[1] // 8, 2, 4)
    return np.ascontiguousarray(blocks.transpose(0, 3, 5, 2, 4, 1)).reshape(padded.shape)


def run_twin(lib, problem, pads=(True, True, True)):
    c = problem.case
    traits = hb.traits_of(lib, c.a, c.b, c.c, c.layout, c.quant, c.preshuffle, c.bias)
    config = hb.TwinConfig(*c.tile, c.mode, *pads)
    message = ctypes.create_string_buffer(240)
    args = problem.args()
    code = lib.shim_twin(
        ctypes.byref(traits), ctypes.byref(config), ctypes.c_int64(c.k_batch), ctypes.byref(args), message
    )
    return code, message.value.decode()


def run_host(lib, problem, config):
    c = problem.case
    traits = hb.traits_of(lib, c.a, c.b, c.c, c.layout, c.quant, c.preshuffle, c.bias)
    message = ctypes.create_string_buffer(240)
    args = problem.args()
    code = lib.shim_host(ctypes.byref(traits), ctypes.byref(config), ctypes.byref(args), message)
    return code, message.value.decode()


def check(problem):
    c = problem.case
    want, bound = problem.reference()
    got = problem.c_memory[:, :, : c.n]
    assert (problem.c_memory[:, :, c.n :].astype(np.float64) == 99).all(), "wrote beyond a row of C"
    if c.data == "exact" or c.a == "int8":
        different = np.argwhere(got != want)
        assert different.size == 0, (len(different), different[0], got[tuple(different[0])], want[tuple(different[0])])
    else:
        error = abs(got.astype(np.float64) - want.astype(np.float64))
        assert (error <= bound).all(), (error.max(), bound[np.unravel_index(error.argmax(), error.shape)])
        assert error.max() > 0 or (c.a, c.c) != ("fp32", "fp32") or c.k <= 8, "the bound was not put to the test"
