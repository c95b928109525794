"""Host GEMM twins and instances against the definition in numpy (float64, ml_dtypes for the narrow types).

Two kinds of data. `exact`: small integers and power-of-two scales, so that every fp32 sum is exact and the result must be
equal bit for bit: finds anything misplaced. `random`: normal values, compared within a bound that follows from the number of
fp32 roundings: |error| <= roundings * 2^-24 * sum |a||b| (scaled), plus half an ulp of the C dtype.
"""

import ctypes
import dataclasses
import hashlib
import os
import subprocess
import sys

import host_backend as hb
import numpy as np
import pytest

FP8 = ["fp8_fnuz", "fp8_ocp", "bf8_fnuz", "bf8_ocp"]


@pytest.fixture(scope="session")
def library_path(tmp_path_factory):
    return hb.build(tmp_path_factory.mktemp("host_gemm"))


@pytest.fixture(scope="session")
def lib(library_path):
    return hb.load(library_path)


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
            self.ldc, self.stride_a, self.stride_b, c.m * self.ldc,
        )  # fmt: skip


def as_rows(memory, n):
    return memory.view(np.uint8).reshape(memory.shape[0], n, -1)


def shuffle_reference(rows):
    """AITER: x.view(-1, N/BN, BN, K/BK, BK/K, K).permute(0, 1, 3, 4, 2, 5) on bytes, BN = 16, K = 16, BK = 32."""
    n, k = rows.shape
    return np.ascontiguousarray(rows.reshape(n // 16, 16, k // 32, 2, 16).transpose(0, 2, 3, 1, 4)).reshape(n, k)


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


def check_twin(lib, case):
    problem = Problem(case)
    code, message = run_twin(lib, problem)
    assert code == 0, message
    check(problem)


def both_kinds(**kw):
    return [Case(**kw), Case(**kw, data="random")]


CASES = [
    case
    for group in [
        *[both_kinds(layout=layout, k=k) for layout in hb.LAYOUTS for k in (100, 600)],
        *[both_kinds(a=t, b=t, c=c, bias=True) for t in ("fp16", "bf16") for c in ("fp32", "fp16", "bf16")],
        *[both_kinds(a=x, b=y, c="bf16", quant="rowwise") for x in FP8 for y in FP8],
        *[both_kinds(a="fp8_ocp", b="bf8_ocp", layout=layout, quant="per_tensor", bias=True, c="fp16") for layout in hb.LAYOUTS],
        *[both_kinds(a="int8", b="int8", c=c, quant=q, bias=c != "int32", layout=layout, k=101)
          for c, q in (("int32", "none"), ("bf16", "rowwise"), ("fp16", "rowwise"), ("bf16", "per_tensor"), ("fp32", "none"))
          for layout in hb.LAYOUTS],
        *[both_kinds(a="fp8_fnuz", b="fp8_fnuz", c="bf16", quant="blockscale", m=m, n=300, k=k, a_scale_row_major=row)
          for m in (1, 150) for k in (384, 500) for row in (True, False)],
        *[both_kinds(a="fp4", b="fp4", c="bf16", quant="mx", m=m, n=96, k=320, preshuffle=p) for m in (3, 130) for p in (0, 1)],
        *[both_kinds(a="fp4", b="fp4", c="fp32", quant="mx", m=38, k=96, layout=layout) for layout in hb.LAYOUTS],
        *[both_kinds(a="fp8_ocp", b="fp8_ocp", c="bf16", quant="mx", k=200)],
        *[both_kinds(a=t, b=t, c="bf16", quant="rowwise", preshuffle=True, n=48, k=352, m=m, batch=2)
          for t in ("int8", "fp8_fnuz", "bf16") for m in (5, 140)],
        *[both_kinds(a="fp8_ocp", b="fp8_ocp", c="bf16", quant="blockscale", preshuffle=True, n=272, k=384, m=20)],
        *[both_kinds(a="int8", b="int8", c="bf16", quant="rowwise", batch=5, broadcast=w, bias=True) for w in ("", "a", "b")],
        *[both_kinds(a="bf16", b="bf16", c="bf16", batch=7, m=20, n=33, k=130, broadcast=w) for w in ("", "b")],
        *[both_kinds(a="fp8_ocp", b="fp8_ocp", c="bf16", quant=q, batch=3, n=140, k=256) for q in ("blockscale", "mx")],
        *[both_kinds(a=t, b=t, c=c, k=1000, k_batch=kb, mode=mode, bias=True, quant="rowwise", tile=(64, 64, 32))
          for t in ("bf16", "int8") for c in ("fp32", "fp16", "bf16") for kb in (3, 4) for mode in (1, 2)],
        *[both_kinds(a="int8", b="int8", c="int32", k=333, k_batch=3, mode=mode, tile=(32, 32, 16)) for mode in (1, 2)],
        *[both_kinds(a="fp8_ocp", b="fp8_ocp", c="bf16", quant="blockscale", k=900, k_batch=3, mode=m, tile=(64, 64, 64))
          for m in (1, 2)],
        *[both_kinds(m=m, n=200, k=700, tile=(16, 64, 64)) for m in (1, 2, 3, 4, 5, 7, 9, 16, 17)],
        *[both_kinds(m=m, n=n, k=k, tile=tile, layout="rrr")
          for m, n, k in ((1, 1, 1), (8, 32, 256), (129, 257, 65), (300, 40, 513))
          for tile in ((128, 128, 64), (256, 64, 32), (16, 16, 16), (32, 256, 128))],
        *[both_kinds(a="fp16", b="fp8_ocp", c="fp32"), both_kinds(a="bf16", b="fp4", c="fp32", pad_ld=8)],
    ]
    for case in group
]  # fmt: skip


def case_id(case):
    default = Case()
    parts = [f"{f.name}={getattr(case, f.name)}" for f in dataclasses.fields(Case)
             if f.name not in ("a", "b", "c", "data") and getattr(case, f.name) != getattr(default, f.name)]  # fmt: skip
    return "-".join([case.a, case.b, case.c, case.data, *parts]).replace(" ", "")


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_twin(lib, case):
    check_twin(lib, case)


def test_splits_beyond_k_are_empty(lib):
    for mode in (1, 2):
        check_twin(lib, Case(k=40, k_batch=8, mode=mode, tile=(64, 64, 32), c="bf16", a="bf16", b="bf16"))


def test_large_enough_for_superblocks(lib):
    """Packed B (more than 16 MB) does not fit at once, packed A (more than 8 MB) neither."""
    check_twin(lib, Case(m=1100, n=2200, k=2048))
    check_twin(lib, Case(a="fp8_ocp", b="fp8_ocp", c="bf16", quant="blockscale", m=1100, n=2200, k=2050))


def test_k_zero_is_bias_only(lib):
    problem = Problem(Case(k=0, bias=True))
    assert run_twin(lib, problem)[0] == 0
    assert np.array_equal(problem.c_memory[0, :, : problem.case.n], np.tile(problem.bias, (problem.case.m, 1)))


def test_empty_problems_do_nothing(lib):
    for name in ("m", "n", "batch"):
        problem = Problem(Case())
        args = problem.args()
        setattr(args, name, 0)
        problem.args = lambda args=args: args
        assert run_twin(lib, problem) == (0, "")
        assert (problem.c_memory == 99).all()


def test_special_values_travel(lib):
    problem = Problem(Case(a="bf16", b="bf16", c="bf16"))
    problem.a_memory[0, 3, 5] = np.nan
    problem.a_memory[0, 4, 5] = np.inf
    problem.b_memory[0, :, 5] = 1.0
    assert run_twin(lib, problem)[0] == 0
    got = problem.c_memory[0, :, : problem.case.n].astype(np.float32)
    assert np.isnan(got[3]).all() and (got[4] == np.inf).all() and np.isfinite(np.delete(got, [3, 4], 0)).all()


# ---- host instances -------------------------------------------------------------------------------------------------

HOST_TRAITS = [("fp32", "fp32", "fp32", "none"), ("bf16", "bf16", "fp32", "none"), ("fp16", "fp16", "fp16", "none"),
               ("int8", "int8", "bf16", "rowwise"), ("fp8_ocp", "bf8_fnuz", "bf16", "rowwise"),
               ("fp8_ocp", "fp8_ocp", "bf16", "blockscale")]  # fmt: skip


@pytest.mark.parametrize("isa", range(4), ids=hb.ISAS)
@pytest.mark.parametrize("kinds", HOST_TRAITS, ids="-".join)
def test_host_register_tiles(lib, isa, kinds):
    a, b, c, quant = kinds
    traits = hb.traits_of(lib, a, b, c, quant=quant)
    pairs = (ctypes.c_int32 * 64)()
    count = lib.shim_tiles(ctypes.byref(traits), isa, pairs, 32)
    assert count >= 4
    if not lib.shim_isa_available(isa):
        problem = Problem(Case(a=a, b=b, c=c, quant=quant))
        code, message = run_host(lib, problem, hb.HostConfig(isa, pairs[0], pairs[1], 64, 64, 64, 0))
        assert code == 1 and hb.ISAS[isa] in message
        pytest.skip(message)
    for i in range(count):
        config = hb.HostConfig(isa, pairs[2 * i], pairs[2 * i + 1], 56, 96, 65, i % 3)
        for layout, m in (("rcr", 61), ("crr", 130), ("rrr", 3)):
            for data in ("exact", "random"):
                problem = Problem(Case(a=a, b=b, c=c, quant=quant, layout=layout, m=m, n=203, k=259, data=data))
                code, message = run_host(lib, problem, config)
                assert code == 0, message
                check(problem)


# ---- refusals -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({"lda": 99}, 2, "lda=99"),
        ({"ldb": 10}, 2, "ldb=10"),
        ({"ldc": 69}, 2, "ldc=69"),
        ({"a": None}, 2, "a is null"),
        ({"c": None}, 2, "c is null"),
        ({"m": -1}, 2, "m=-1"),
        ({"n": 2**41}, 2, "2^40"),
        ({"batch": 2, "batch_stride_c": 5}, 2, "overlap"),
        ({"lda": 2**59}, 2, "63 bits"),
    ],
)
def test_bad_arguments(lib, change, code, words):
    problem = Problem(Case())
    args = problem.args()
    for name, value in change.items():
        setattr(args, name, value)
    problem.args = lambda: args
    got, message = run_twin(lib, problem)
    assert (got, words in message) == (code, True), (got, message)
    assert (problem.c_memory == 99).all()


@pytest.mark.parametrize(
    ("case", "pads", "code", "words"),
    [
        (Case(k_batch=2), (1, 1, 1), 2, "does not split"),
        (Case(k_batch=0), (1, 1, 1), 2, "k_batch=0"),
        (Case(k=100), (1, 1, 0), 1, "k=100"),
        (Case(k=192, k_batch=2, mode=1), (1, 1, 0), 1, "multiple of 128"),
        (Case(layout="ccr"), (0, 1, 1), 1, "m=37"),
        (Case(layout="rrr"), (1, 0, 1), 1, "n=70"),
        (Case(k=128), (0, 0, 0), 0, ""),
        (Case(a="int8", b="int8", c="int32", quant="rowwise"), (1, 1, 1), 1, "int32"),
        (Case(a="int8", b="fp32"), (1, 1, 1), 1, "int8"),
        (Case(a="bf16", b="bf16", preshuffle=True, layout="rrr", n=64, k=64), (1, 1, 1), 1, "rcr or ccr"),
        (Case(tile=(0, 64, 64)), (1, 1, 1), 2, "tile 0x64x64"),
    ],
    ids=str,
)
def test_refusals(lib, case, pads, code, words):
    if case.preshuffle and case.layout[1] == "r":
        traits_problem = Problem(dataclasses.replace(case, preshuffle=False))
        traits_problem.case = case
    else:
        traits_problem = Problem(case) if case.c != "int32" or case.a == "int8" else None
    got, message = run_twin(lib, traits_problem, tuple(bool(p) for p in pads))
    assert (got, words in message) == (code, True), (got, message)


def test_missing_scale_and_unwanted_bias(lib):
    problem = Problem(Case(a="fp8_ocp", b="fp8_ocp", quant="rowwise"))
    problem.a_scale = None
    assert run_twin(lib, problem) == (2, "a_scale is null")
    problem = Problem(Case())
    problem.bias = np.ones(problem.case.n, np.float32)
    assert run_twin(lib, problem)[0] == 2


# ---- preshuffle -----------------------------------------------------------------------------------------------------

def test_preshuffle_is_the_permutation_and_back(lib):
    rng = np.random.default_rng(3)
    for n, row_bytes, pad in ((16, 32, 0), (48, 96, 5), (128, 256, 0)):
        source = rng.integers(0, 256, (n, row_bytes + pad), dtype=np.uint8)
        shuffled, back = np.zeros((n, row_bytes), np.uint8), np.zeros((n, row_bytes + pad), np.uint8)
        pointer = lambda x: ctypes.c_void_p(x.ctypes.data)  # noqa: E731
        sizes = (ctypes.c_int64(n), ctypes.c_int64(row_bytes))
        stride = ctypes.c_int64(row_bytes + pad)
        assert lib.shim_preshuffle(pointer(source), stride, pointer(shuffled), *sizes) == 1
        assert np.array_equal(shuffled, shuffle_reference(np.ascontiguousarray(source[:, :row_bytes])))
        assert lib.shim_unpreshuffle(pointer(shuffled), pointer(back), stride, *sizes) == 1
        assert np.array_equal(back[:, :row_bytes], source[:, :row_bytes]) and not back[:, row_bytes:].any()
        assert lib.shim_preshuffle(pointer(source), stride, pointer(shuffled), ctypes.c_int64(n - 1), sizes[1]) == 0


# ---- same bits everywhere -------------------------------------------------------------------------------------------

DIGEST_CASES = [
    Case(data="random", m=150, n=210, k=700),
    Case(data="random", a="bf16", b="fp8_ocp", c="bf16", m=9, n=400, k=333, quant="rowwise", bias=True),
    Case(data="random", a="fp8_fnuz", b="fp8_fnuz", c="fp16", m=140, n=260, k=640, quant="blockscale"),
    Case(data="random", a="fp16", b="fp16", c="bf16", m=65, n=129, k=500, k_batch=3, mode=2, tile=(64, 64, 32)),
    Case(data="random", a="int8", b="int8", c="bf16", m=65, n=129, k=500, quant="rowwise", batch=6),
]


def digest(path):
    lib = hb.load(path)
    h = hashlib.sha256()
    for case in DIGEST_CASES:
        problem = Problem(case)
        code, message = run_twin(lib, problem)
        assert code == 0, message
        h.update(problem.c_memory.tobytes())
    return f"{lib.shim_threads()} {lib.shim_isa()} {h.hexdigest()}"


def digest_in(path, **environment):
    here = os.path.dirname(os.path.abspath(__file__))
    run = subprocess.run(
        [sys.executable, "-c", f"import test_host_gemm as t; print(t.digest({str(path)!r}))"],
        capture_output=True, text=True, check=True, cwd=here,
        env={**os.environ, "PYTHONPATH": here, "PYTHONDONTWRITEBYTECODE": "1", **environment},
    )  # fmt: skip
    return run.stdout.split()


def test_threads_and_isa_do_not_change_a_bit(lib, library_path):
    runs = [digest_in(library_path, CKGEN_NUM_THREADS=t) for t in ("1", "2", "5")]
    assert [r[0] for r in runs] == ["1", "2", "5"]
    runs += [digest_in(library_path, CKGEN_HOST_ISA=isa) for isa in hb.ISAS[:2]]
    assert [int(r[1]) for r in runs[3:]] == [0, 1] if lib.shim_isa_available(1) else True
    assert len({r[2] for r in runs}) == 1, runs


def test_macro_tile_does_not_change_a_bit(lib):
    seen = set()
    for tile in ((128, 128, 64), (256, 64, 64), (16, 32, 128), (1, 1, 1)):
        problem = Problem(Case(data="random", m=140, n=150, k=700, tile=tile))
        assert run_twin(lib, problem)[0] == 0
        seen.add(problem.c_memory.tobytes())
    assert len(seen) == 1
