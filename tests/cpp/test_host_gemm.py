"""Host GEMM twins and instances against the definition (host_reference.py): values, refusals, same bits everywhere."""

import ctypes
import dataclasses
import hashlib
import itertools
import os
import pathlib
import subprocess
import sys

import host_backend as hb
import numpy as np
import pytest
from host_reference import Case, Problem, check, run_host, run_twin, shuffle_reference, shuffled_scale_reference

from ckgen.families.gemm.config import HostConfig
from ckgen.families.gemm.enums import Quant
from ckgen.families.gemm.signature import parse_signature
from ckgen.families.rules import judge
from ckgen.model.arch import CPU_LEVELS
from ckgen.model.backend import Backend
from ckgen.model.dtype import DType
from ckgen.specs.archs import load_archs
from cpp_build import dispatcher_archive

pytestmark = pytest.mark.cpp

ARCHS = load_archs()
TILES = list(itertools.product(range(1, 33), (16, 32, 48, 64)))
FP8 = ["fp8_fnuz", "fp8_ocp", "bf8_fnuz", "bf8_ocp"]


@pytest.fixture(scope="session")
def library_path(tmp_path_factory):
    return hb.build(tmp_path_factory.mktemp("host_gemm"))


@pytest.fixture(scope="session")
def lib(library_path):
    return hb.load(library_path)


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
        *[
            both_kinds(a="fp8_ocp", b="bf8_ocp", layout=layout, quant="per_tensor", bias=True, c="fp16")
            for layout in hb.LAYOUTS
        ],
        *[
            both_kinds(a="int8", b="int8", c=c, quant=q, bias=c != "int32", layout=layout, k=101)
            for c, q in (
                ("int32", "none"),
                ("bf16", "rowwise"),
                ("fp16", "rowwise"),
                ("bf16", "per_tensor"),
                ("fp32", "none"),
            )
            for layout in hb.LAYOUTS
        ],
        *[
            both_kinds(a="fp8_fnuz", b="fp8_fnuz", c="bf16", quant="blockscale", m=m, n=300, k=k, a_scale_row_major=row)
            for m in (1, 150)
            for k in (384, 500)
            for row in (True, False)
        ],
        *[
            both_kinds(a="fp4", b="fp4", c="bf16", quant="mx", m=m, n=96, k=320, preshuffle=p)
            for m in (3, 130)
            for p in (0, 1)
        ],
        *[both_kinds(a="fp4", b="fp4", c="fp32", quant="mx", m=38, k=96, layout=layout) for layout in hb.LAYOUTS],
        *[both_kinds(a="fp8_ocp", b="fp8_ocp", c="bf16", quant="mx", k=200)],
        *[
            both_kinds(
                a="fp4", b="fp4", c="bf16", quant="mx", m=m, n=n, k=k, preshuffle=p, mx_scale_shuffled=True, pad_ld=8
            )
            for m, n, k, p in ((3, 96, 320, 1), (131, 71, 290, 0), (33, 80, 1024, 1))
        ],
        *[
            both_kinds(
                a="fp8_ocp", b="bf8_ocp", c="fp32", quant="mx", batch=3, k=130, mx_scale_shuffled=True, broadcast=w
            )
            for w in ("", "a", "b")
        ],
        *[
            both_kinds(a=t, b=t, c="bf16", quant="rowwise", preshuffle=True, n=48, k=352, m=m, batch=2)
            for t in ("int8", "fp8_fnuz", "bf16")
            for m in (5, 140)
        ],
        *[both_kinds(a="fp8_ocp", b="fp8_ocp", c="bf16", quant="blockscale", preshuffle=True, n=272, k=384, m=20)],
        *[
            both_kinds(a="int8", b="int8", c="bf16", quant="rowwise", batch=5, broadcast=w, bias=True)
            for w in ("", "a", "b")
        ],
        *[both_kinds(a="bf16", b="bf16", c="bf16", batch=7, m=20, n=33, k=130, broadcast=w) for w in ("", "b")],
        *[both_kinds(a="fp8_ocp", b="fp8_ocp", c="bf16", quant=q, batch=3, n=140, k=256) for q in ("blockscale", "mx")],
        *[
            both_kinds(a=t, b=t, c=c, k=1000, k_batch=kb, mode=mode, bias=True, quant="rowwise", tile=(64, 64, 32))
            for t in ("bf16", "int8")
            for c in ("fp32", "fp16", "bf16")
            for kb in (3, 4)
            for mode in (1, 2)
        ],
        *[both_kinds(a="int8", b="int8", c="int32", k=333, k_batch=3, mode=mode, tile=(32, 32, 16)) for mode in (1, 2)],
        *[
            both_kinds(
                a="fp8_ocp", b="fp8_ocp", c="bf16", quant="blockscale", k=900, k_batch=3, mode=m, tile=(64, 64, 64)
            )
            for m in (1, 2)
        ],
        *[both_kinds(m=m, n=200, k=700, tile=(16, 64, 64)) for m in (1, 2, 3, 4, 5, 7, 9, 16, 17)],
        *[
            both_kinds(m=m, n=n, k=k, tile=tile, layout="rrr")
            for m, n, k in ((1, 1, 1), (8, 32, 256), (129, 257, 65), (300, 40, 513))
            for tile in ((128, 128, 64), (256, 64, 32), (16, 16, 16), (32, 256, 128))
        ],
        *[both_kinds(a="fp16", b="fp8_ocp", c="fp32"), both_kinds(a="bf16", b="fp4", c="fp32", pad_ld=8)],
    ]
    for case in group
]


def case_id(case):
    default = Case()
    parts = [
        f"{f.name}={getattr(case, f.name)}"
        for f in dataclasses.fields(Case)
        if f.name not in ("a", "b", "c", "data") and getattr(case, f.name) != getattr(default, f.name)
    ]
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

HOST_TRAITS = [
    ("fp32", "fp32", "fp32", "none"),
    ("bf16", "bf16", "fp32", "none"),
    ("fp16", "fp16", "fp16", "none"),
    ("int8", "int8", "bf16", "rowwise"),
    ("fp8_ocp", "bf8_fnuz", "bf16", "rowwise"),
    ("fp8_ocp", "fp8_ocp", "bf16", "blockscale"),
]


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


@pytest.mark.parametrize("kinds", HOST_TRAITS, ids="-".join)
def test_python_s_rule_knows_the_register_tiles_of_every_level(lib, kinds):
    a, b, c, quant = kinds
    traits = hb.traits_of(lib, a, b, c, quant=quant)
    signature = dataclasses.replace(parse_signature("gemm_fp32_rcr", None), a=DType(a), b=DType(b), quant=Quant(quant))
    signature = dataclasses.replace(signature, c=DType(c), acc=DType.INT32 if a == "int8" else DType.FP32)
    for isa, level in enumerate(CPU_LEVELS):
        pairs = (ctypes.c_int32 * 64)()
        count = lib.shim_tiles(ctypes.byref(traits), isa, pairs, 32)
        has = {(pairs[2 * i], pairs[2 * i + 1]) for i in range(count)}
        legal = {
            tile for tile in TILES if not judge(signature, HostConfig(*tile, 64, 64, 64), Backend.HOST, ARCHS[level])
        }
        assert legal == has or count == 0, level


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


@pytest.mark.parametrize(("rows", "groups", "pad"), [(32, 8, 0), (64, 24, 3), (1, 1, 0), (33, 9, 2), (300, 7, 0)])
def test_scale_shuffle_is_the_permutation_and_back(lib, rows, groups, pad):
    source = np.random.default_rng(4).integers(1, 256, (rows, groups + pad), dtype=np.uint8)
    expected = shuffled_scale_reference(np.ascontiguousarray(source[:, :groups]))
    shuffled, back = np.full(expected.shape, 255, np.uint8), np.zeros_like(source)
    pointer = lambda x: ctypes.c_void_p(x.ctypes.data)  # noqa: E731
    stride, sizes = ctypes.c_int64(groups + pad), (ctypes.c_int64(rows), ctypes.c_int64(groups))
    assert lib.shim_shuffle_scale(pointer(source), stride, pointer(shuffled), *sizes) == 1
    assert np.array_equal(shuffled, expected)
    assert lib.shim_unshuffle_scale(pointer(shuffled), pointer(back), stride, *sizes) == 1
    assert np.array_equal(back[:, :groups], source[:, :groups]) and not back[:, groups:].any()


def test_scale_shuffle_refusals(lib):
    untouched = np.zeros(1024, np.uint8)
    at = ctypes.c_void_p(untouched.ctypes.data)
    for rows, groups, stride in ((-1, 8, 8), (1, -1, 8), (1, 8, 7), (2**31, 8, 8)):
        sizes = (ctypes.c_int64(rows), ctypes.c_int64(groups))
        assert lib.shim_shuffle_scale(at, ctypes.c_int64(stride), at, *sizes) == 0
        assert lib.shim_unshuffle_scale(at, at, ctypes.c_int64(stride), *sizes) == 0
    assert not untouched.any()


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("sizes", [(1, 16, 32), (31, 33, 96), (65, 130, 290), (150, 70, 1056)], ids=str)
def test_shuffled_scales_do_not_change_a_bit(lib, sizes, batch):
    results = []
    for shuffled in (False, True):
        m, n, k = sizes
        operands = {"a": "fp4", "b": "fp4", "c": "fp32", "quant": "mx", "data": "random", "pad_ld": 8}
        problem = Problem(Case(**operands, m=m, n=n, k=k, batch=batch, mx_scale_shuffled=shuffled))
        assert run_twin(lib, problem) == (0, "")
        results.append(problem.c_memory.tobytes())
    assert results[0] == results[1]


# ---- same bits everywhere -------------------------------------------------------------------------------------------

DIGEST_CASES = [
    Case(data="random", m=150, n=210, k=700),
    Case(data="random", a="bf16", b="fp8_ocp", c="bf16", m=9, n=400, k=333, quant="rowwise", bias=True),
    Case(data="random", a="fp8_fnuz", b="fp8_fnuz", c="fp16", m=140, n=260, k=640, quant="blockscale"),
    Case(data="random", a="fp16", b="fp16", c="bf16", m=65, n=129, k=500, k_batch=3, mode=2, tile=(64, 64, 32)),
    Case(data="random", a="int8", b="int8", c="bf16", m=65, n=129, k=500, quant="rowwise", batch=6),
    Case(data="random", a="fp8_ocp", b="fp8_ocp", c="fp32", m=3, n=129, k=500, quant="mx"),
    Case(data="random", a="bf16", b="bf16", c="fp32", m=6, n=129, k=500),
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


ROOT = pathlib.Path(__file__).resolve().parents[1]


def digest_in(path, **environment):
    here = str(pathlib.Path(__file__).resolve().parent)
    run = subprocess.run(
        [sys.executable, "-c", f"import test_host_gemm as t; print(t.digest({str(path)!r}))"],
        capture_output=True,
        text=True,
        check=True,
        cwd=here,
        env={
            **os.environ,
            "PYTHONPATH": f"{here}:{pathlib.Path(here).parent}",
            "PYTHONDONTWRITEBYTECODE": "1",
            **environment,
        },
    )
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


def test_isa_objects_define_nothing_that_the_linker_could_share():
    """An inline function compiled for AVX-512 must not become everybody's copy: it would crash an older CPU."""
    objects = dispatcher_archive().parent / "backends/host/CMakeFiles/ckgen_host_backend.dir/isa"
    tables = {
        "v3": {"kIsaV3"},
        "v4": {"kIsaV4", "kFp32OfV4"},
        "v4_bf16": {"kIsaV4Bf16"},
        "amx": {"kAmx"},
        "amx_fmha": {"kAmxFmha"},
    }
    for isa, wanted in tables.items():
        target = objects / f"{isa}.cpp.o"
        run = subprocess.run(["nm", "-g", "--defined-only", "-C", target], capture_output=True, text=True, check=True)
        symbols = {line.split(maxsplit=2)[2] for line in run.stdout.splitlines()}
        assert symbols == {f"ckgen::v1::host::{name}" for name in wanted}, symbols
