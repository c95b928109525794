"""Operations called with tensors give what their definitions say, and refuse what they cannot take in a sentence."""

from __future__ import annotations

import gc
import resource
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from calls_library import library_on
from ckgen.families.common.comparison import compare
from ckgen.families.common.storage import encode
from ckgen.families.fmha import operands as fmha_operands
from ckgen.families.fmha import reference as fmha_reference
from ckgen.families.fmha.signature import parse_canonical as parse_fmha
from ckgen.families.gemm import reference, reference_data
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.grouped_gemm import reference as grouped_reference
from ckgen.families.moe import reference as moe_reference
from ckgen.model.fmha_shape import FmhaShape
from ckgen.model.groups import GroupSize, Routing
from ckgen.model.tuned_row import Shape
from ckgen.runtime import Library, RuntimeFailure, Unsupported
from ckgen.runtime.session import MOST_SITES
from ckgen.tensors import TensorError

pytestmark = pytest.mark.cpp
SEED = 3


@pytest.fixture
def lib() -> Library:
    return library_on("cpu")


class Interface:
    """An array of another framework: an interface and no more."""

    def __init__(self, array: Any, **changes: Any) -> None:
        self.__array_interface__ = array.__array_interface__ | changes
        self.kept = array


class DlPack:
    """The same with DLPack alone."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __dlpack__(self, **how: Any) -> Any:
        return self._array.__dlpack__(**how)


def on_gpu(array: Any) -> Any:
    class Gpu:
        __cuda_array_interface__ = array.__array_interface__ | {"version": 3, "stream": None}

    return Gpu()


def floats(*shape: int, seed: int = SEED) -> Any:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def gemm_tensors(name: str, shape: Shape) -> tuple[reference.Operands, dict[str, Any]]:
    """Operands, and the tensors of a call of a GEMM of rcr or rrr."""
    operands = reference_data.make_operands(parse_canonical(name), shape, SEED)
    signature = operands.signature
    batched = bool(shape.batch)

    def cut(array: Any) -> Any:
        return array if batched else array[0]

    a = encode(operands.a, signature.a)
    b = encode(operands.b, signature.b)
    b = b if signature.layout.b_is_row_major else np.ascontiguousarray(b.swapaxes(1, 2)).swapaxes(1, 2)
    given = {"a": cut(a), "b": cut(b)}
    for side in ("a_scale", "b_scale"):
        scale = getattr(operands, side)
        if scale is not None:
            made = encode(scale, signature.scale)
            given[side] = np.ascontiguousarray(made if made.ndim == 1 else cut(made))
    if operands.bias is not None:
        given["bias"] = operands.bias.astype(np.float32)
    given["d"] = tuple(cut(encode(np.broadcast_to(d, (d.shape[0], *d.shape[1:])), signature.c)) for d in operands.d)
    return operands, given


@pytest.mark.parametrize(
    ("name", "shape", "device", "options"),
    [
        ("gemm_fp32_rcr", Shape(0, 5, 33, 70), "cpu", {}),
        ("gemm_fp32_rrr", Shape(0, 5, 33, 70), "cpu", {}),
        ("gemm_fp32_rcr_batched", Shape(3, 5, 33, 70), "cpu", {}),
        ("gemm_fp32_rcr_bias", Shape(0, 5, 33, 70), "cpu", {}),
        ("gemm_fp32_rcr_epi_add_relu", Shape(0, 5, 33, 70), "cpu", {"epilogue": ("add", "relu")}),
        ("gemm_bf16_rcr", Shape(0, 16, 64, 128), "gfx942:304", {}),
        ("gemm_fp8_fnuz_bf16_rcr_rowwise", Shape(0, 16, 64, 512), "gfx942:304", {}),
        ("gemm_int8_bf16_rcr_rowwise", Shape(0, 16, 64, 512), "gfx942:304", {}),
        ("gemm_fp8_fnuz_bf16_rcr_blockscale", Shape(0, 16, 256, 512), "gfx942:304", {}),
    ],
)
def test_a_gemm_of_tensors_is_its_definition(name: str, shape: Shape, device: str, options: dict[str, Any]) -> None:
    operands, given = gemm_tensors(name, shape)
    found = library_on(device).gemm(**given, **options)
    assert compare(reference.expect(operands), found.astype(np.float64)).ok


def test_block_scales_may_lie_in_columns() -> None:
    operands, given = gemm_tensors("gemm_fp8_fnuz_bf16_rcr_blockscale", Shape(0, 16, 256, 512))
    turned = given | {"a_scale": np.asfortranarray(given["a_scale"])}
    assert turned["a_scale"].strides != given["a_scale"].strides
    found = library_on("gfx942:304").gemm(**turned)
    assert compare(reference.expect(operands), found.astype(np.float64)).ok


def test_tensors_with_gaps_and_results_of_the_callers_are_taken_where_they_are(lib: Library) -> None:
    wide = floats(6, 96)
    a, w, out = wide[:5, 7:71], floats(40, 64), np.full((8, 64), 7, np.float32)
    found = lib.gemm(a, w.T, out=out[1:6, 3:43])
    assert found.base is out
    np.testing.assert_allclose(out[1:6, 3:43], a @ w.T, atol=1e-5)
    out[1:6, 3:43] = 7
    assert (out == 7).all()


def test_frameworks_without_copies(lib: Library) -> None:
    a, w = floats(5, 64), floats(40, 64, seed=4)
    expected = lib.gemm(a, w.T)
    out = np.zeros((5, 40), np.float32)
    for wrap in (Interface, DlPack):
        out[...] = 0
        assert lib.gemm(wrap(a), wrap(w.T), out=wrap(out)) is not None
        assert (out == expected).all()
    with pytest.raises(TensorError, match="out is left out, and nobody knows how 'DlPack' allocates: give out="):
        lib.gemm(DlPack(a), w.T)


def test_ml_dtypes_keep_their_type(lib: Library) -> None:
    a, w = (floats(*shape).astype(ml_dtypes.bfloat16) for shape in ((5, 64), (40, 64)))
    found = lib.gemm(a, w.T)
    assert found.dtype == ml_dtypes.bfloat16
    np.testing.assert_allclose(found.astype(float), a.astype(float) @ w.astype(float).T, rtol=2**-7, atol=1e-3)


def test_groups_of_tensors(lib: Library) -> None:
    signature = parse_canonical("grouped_gemm_fp32_rcr")
    groups = grouped_reference.make_operands(signature, [GroupSize(3, 16, 24), GroupSize(7, 8, 40)], SEED)
    a = [np.ascontiguousarray(one.a[0], np.float32) for one in groups]
    b = [np.ascontiguousarray(one.b[0].T, np.float32).T for one in groups]
    for found, expected in zip(lib.grouped(a, b), grouped_reference.expect(groups), strict=True):
        assert compare(expected, found).ok
    with pytest.raises(TensorError, match="b has 1 tensors, a has 2"):
        lib.grouped(a, b[:1])
    with pytest.raises(TensorError, match="there is no group"):
        lib.grouped([], [])


@pytest.mark.parametrize(
    "name", ["moe_fp32_rcr_layer_gated_epi_silu", "moe_fp8_fnuz_bf16_rcr_blockscale_layer_gated_epi_silu"]
)
def test_a_layer_of_experts(name: str) -> None:
    signature = parse_canonical(name)
    operands = moe_reference.make_operands(signature, moe_reference.MoeSize(9, 128, 256, Routing(4, 2)), SEED)
    assert operands.w1 is not None and operands.w2 is not None
    w1, w2 = (
        np.ascontiguousarray(encode(one.values.swapaxes(1, 2), signature.b)) for one in (operands.w1, operands.w2)
    )
    scales = {
        f"{side}_scale": np.ascontiguousarray(values, np.float32)
        for side, values in (("a", operands.a_scale), ("w1", operands.w1.scales), ("w2", operands.w2.scales))
        if values is not None
    }
    lib = library_on("cpu" if not scales else "gfx942:304")
    found = lib.moe(encode(operands.a, signature.a), w1, w2, operands.ids, operands.weights, **scales)
    assert compare(moe_reference.expect(operands, adds_in_c=True), found.astype(np.float64)).ok


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("fmha_fp32", {}),
        ("fmha_fp32_masked", {"causal": True}),
        ("fmha_fp32_lse", {"with_lse": True}),
        ("fmha_bf16", {}),
        ("fmha_bf16_sink", {}),
        ("fmha_bf16_softcap", {}),
        ("fmha_bf16_elementwise", {}),
        ("fmha_bf16_alibi", {}),
        ("fmha_bf16_varlen", {}),
        ("fmha_bf16_varlen_masked", {"causal": True}),
        ("fmha_bf16_blocktable", {}),
    ],
)
def test_attention_of_tensors_is_its_definition(lib: Library, name: str, options: dict[str, Any]) -> None:
    signature = parse_fmha(name)
    paged = signature.traits.is_paged
    shape = FmhaShape(2, 4, 2, 9, 32, 64, 64, page_size=16 if paged else 0, pages=8 if paged else 0)
    operands = fmha_operands.make_operands(signature, shape, SEED)
    found = lib.attention(**attention_tensors(operands), **options)
    expected = fmha_reference.expect(operands)
    out = found[0] if isinstance(found, tuple) else found
    rows = out.astype(np.float64)
    if signature.traits.varlen:
        full = np.zeros(expected.o.c.shape)
        ends = np.cumsum([0, *operands.lengths.q])
        for b, length in enumerate(operands.lengths.q):
            full[b, :length] = rows[ends[b] : ends[b + 1]]
        rows = full
    assert compare(expected.o, rows).ok
    if isinstance(found, tuple):
        assert compare(expected.lse, found[1]).ok


def attention_tensors(operands: fmha_operands.FmhaOperands) -> dict[str, Any]:
    """The tensors and numbers of a call."""
    signature, lengths = operands.signature, operands.lengths
    traits = signature.traits
    q, k, v = (encode(one, signature.a) for one in (operands.q, operands.k, operands.v))
    given: dict[str, Any] = {"q": q, "k": k, "v": v, "scale": operands.scale}
    if traits.varlen:
        given["q"] = np.concatenate([q[b, :n] for b, n in enumerate(lengths.q)])
        for name, rows in (("k", k), ("v", v)):
            given[name] = np.concatenate([rows[b, :n] for b, n in enumerate(lengths.k)])
        for name, each in (("seqstart_q", lengths.q), ("seqstart_k", lengths.k)):
            given[name] = np.cumsum([0, *each]).astype(np.int32)
        given |= {"max_q": operands.shape.seqlen_q, "max_k": operands.shape.seqlen_k}
    if traits.is_paged:
        size, most = operands.shape.page_size, max(map(len, operands.pages))
        table = np.zeros((operands.shape.batch, most), np.int32)
        for name, rows in (("k", k), ("v", v)):
            cache = np.zeros((operands.shape.pages, size, *rows.shape[2:]), rows.dtype)
            for b, pages in enumerate(operands.pages):
                for i, page in enumerate(pages):
                    part = rows[b, i * size : (i + 1) * size]
                    cache[page, : len(part)] = part
                    table[b, i] = page
            given[name] = cache
        given |= {"block_table": table, "seqlen_k": np.asarray(lengths.k, np.int32), "max_k": operands.shape.seqlen_k}
    if operands.bias is not None:
        is_alibi = operands.bias.ndim == 2
        bias = operands.bias.astype(np.float32) if is_alibi else encode(operands.bias, signature.a)
        given["bias"] = np.ascontiguousarray(
            np.broadcast_to(bias, (operands.shape.batch, bias.shape[1])) if is_alibi else bias
        )
    if operands.sink is not None:
        given["sink"] = operands.sink.astype(np.float32)
    return given | ({"softcap": operands.softcap} if operands.softcap else {})


A, W = floats(5, 64), floats(40, 64, seed=4)
WRONG: dict[str, tuple[Callable[[Library], Any], str]] = {
    "no tensor": (lambda lib: lib.gemm([1.0], W.T), "a is 'list', no tensor: give an object with __dlpack__"),
    "dtype": (lambda lib: lib.gemm(A.astype(np.int64), W.T), "a is int64, and kernels compute with float64, float32"),
    "dtype of out": (
        lambda lib: lib.gemm(A, W.T, out=np.zeros((5, 40), np.int8)),
        r"these tensors make no GEMM: .*",
    ),
    "dtype and signature": (
        lambda lib: lib.gemm(A, W.T, signature="gemm_bf16_rcr"),
        "a is float32, and bfloat16 is asked for by gemm_bf16_rcr",
    ),
    "bytes": (
        lambda lib: lib.gemm(A.view(np.uint8), W.T),
        "a is uint8, which may be fp4, int4 or e8m0: say signature=",
    ),
    "unpacked": (
        lambda lib: lib.gemm(A.astype(ml_dtypes.float4_e2m1fn), W.T),
        r"a is float4_e2m1fn, an element to a byte, and kernels read two: ckgen.pack_4bit\(a\)",
    ),
    "byte order": (lambda lib: lib.gemm(A.astype(">f4"), W.T), r"a's elements have the other byte order \(>f4\)"),
    "K": (lambda lib: lib.gemm(A, W), r"K is 64 of a with shape \(5, 64\), and 40 of b .*weights of N rows are b.T"),
    "dimensions": (lambda lib: lib.gemm(A[0], W.T), r"a has shape \(64,\), and two dimensions are asked for"),
    "shape of out": (
        lambda lib: lib.gemm(A, W.T, out=np.zeros((5, 41), np.float32)),
        r"out has shape \(5, 41\), and \(5, 40\) is asked for",
    ),
    "scales": (
        lambda lib: lib.gemm(A, W.T, a_scale=floats(3), b_scale=floats(2)),
        r"a_scale \(3,\) and b_scale \(2,\) fit no scheme of M=5 N=40 K=64",
    ),
    "layout": (
        lambda lib: lib.gemm(floats(5, 128)[:, ::2], W.T),
        r"a's strides \(128, 2\) of shape \(5, 64\) are neither rows nor columns without gaps: copy it",
    ),
    "layout and signature": (
        lambda lib: lib.gemm(A, W.T, signature="gemm_fp32_rrr"),
        "b lies in columns .* and gemm_fp32_rrr asks for rows: the layout of these tensors is rcr",
    ),
    "layout of out": (
        lambda lib: lib.gemm(A, W.T, out=np.zeros((40, 5), np.float32).T),
        r"out lies in columns \(1, 5\), and results are rows",
    ),
    "stride below 0": (lambda lib: lib.gemm(A[::-1], W.T), r"a has a stride below 0 \(-64, 1\): copy it"),
    "odd stride": (
        lambda lib: lib.gemm(Interface(A, strides=(258, 4)), W.T),
        r"a's strides of \(258, 4\) bytes are no multiples of 4",
    ),
    "broadcast out": (
        lambda lib: lib.gemm(A, W.T, out=np.lib.stride_tricks.as_strided(np.zeros(40, np.float32), (5, 40), (0, 4))),
        "",
    ),
    "device": (lambda lib: lib.gemm(on_gpu(A), W.T), "a is on cuda:0, and CPU memory, as x86_64.*, is asked for"),
    "read-only": (lambda lib: lib.gemm(A, W.T, out=read_only(5, 40)), "out is written and its memory is read-only"),
    "overlap": (
        lambda lib: overlapping(lib, 4),
        "out is written and shares memory with a: give out memory of its own",
    ),
    "misaligned": (
        lambda lib: lib.gemm(np.zeros(5 * 64 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(5, 64), W.T),
        "a begins at 0x[0-9a-f]+, which is no multiple of 4 bytes: copy it",
    ),
    "stream on a CPU": (lambda lib: lib.gemm(A, W.T, stream=16), "stream is given, and the tensors are the CPU's"),
    "no stream": (lambda lib: lib.gemm(A, W.T, stream="s"), "stream is 's': give a stream of torch or CuPy"),
    "workspace": (
        lambda lib: lib.gemm(A, W.T, workspace=aligned(64), instance=split_instance(), k_batch=4),
        "workspace holds 64 bytes, and the plan asks for [0-9]+",
    ),
    "workspace's place": (
        lambda lib: lib.gemm(A, W.T, workspace=aligned(1 << 20)[1:]),
        "workspace begins at 0x[0-9a-f]+, which is no multiple of 64 bytes",
    ),
    "bias": (lambda lib: lib.gemm(A, W.T, bias=floats(41)), r"bias has shape \(41,\), and \(40,\) is asked for"),
    "epilogue": (lambda lib: lib.gemm(A, W.T, epilogue=("tanh",)), "epilogue has 'tanh', and its steps are add, mul"),
    "no d": (lambda lib: lib.gemm(A, W.T, epilogue=("add",)), "d0 is missing: the epilogue takes 1 tensors of d"),
    "instance": (lambda lib: lib.gemm(A, W.T, instance="nobody"), "gemm_fp32_rcr on x86_64.*: .*nobody"),
    "not built": (
        lambda lib: lib.gemm(A.astype(np.float64), W.T.astype(np.float64)),
        "gemm_fp64_rcr on x86_64.*: no instance of this signature was built for this device",
    ),
    "beyond 2^31": (lambda lib: huge(lib), "2147483648|M = "),
    "k and v": (
        lambda lib: lib.attention(floats(1, 2, 4, 64), floats(1, 2, 4, 64), floats(1, 3, 4, 64)),
        r"v \(1, 3, 4, 64\): k has q's hdim, and v has k's rows and heads",
    ),
    "indices": (
        lambda lib: lib.moe(A, floats(4, 256, 64), floats(4, 64, 128), np.zeros((5, 2), np.int64), floats(5, 2)),
        "topk_ids is int64, and int32 is asked for",
    ),
}  # fmt: skip
WRONG["broadcast out"] = (WRONG["broadcast out"][0], r"out's strides \(0, 1\) of shape \(5, 40\) are neither rows nor")


def read_only(*shape: int) -> Any:
    array = np.zeros(shape, np.float32)
    array.flags.writeable = False
    return array


def overlapping(lib: Library, skip: int) -> Any:
    memory = np.zeros(5 * 64 + 5 * 40, np.float32)
    memory[: 5 * 64] = A.ravel()
    a = memory[: 5 * 64].reshape(5, 64)
    return lib.gemm(a, W.T, out=memory[5 * 64 - skip :][: 5 * 40].reshape(5, 40))


def aligned(size: int) -> Any:
    room = np.zeros(size + 64, np.uint8)
    skip = -room.ctypes.data % 64
    return room[skip : skip + size]


def split_instance() -> str:
    return next(one.name for one in library_on().dispatcher.instances() if one.name.startswith("gemm_fp32_rcr_host"))


def huge(lib: Library) -> Any:
    """Sizes that no memory is read for: the plan is refused before."""
    rows = 2**31
    a = Interface(A, shape=(rows, 64), strides=None)
    out = Interface(np.zeros(1, np.float32), shape=(rows, 40), strides=None)
    return lib.gemm(a, W.T, out=out)


@pytest.mark.parametrize("case", WRONG)
def test_each_wrong_use_is_a_sentence(lib: Library, case: str) -> None:
    call, sentence = WRONG[case]
    with pytest.raises((TensorError, RuntimeFailure, Exception), match=sentence) as caught:
        call(lib)
    print(f"{case}: {type(caught.value).__name__}: {caught.value}")


def test_wrong_uses_are_seen_on_a_cached_call_too(lib: Library) -> None:
    out = np.zeros((5, 40), np.float32)
    lib.gemm(A, W.T, out=out)
    with pytest.raises(TensorError, match="read-only"):
        lib.gemm(A, W.T, out=read_only(5, 40))
    overlapping(lib, 0)  # the same problem, planned and kept
    with pytest.raises(TensorError, match="shares memory with a"):
        overlapping(lib, 1)
    with pytest.raises(TensorError, match="the tensors are the CPU's"):
        lib.gemm(A, W.T, out=out, stream=16)


def test_columns_of_one_matrix_do_not_overlap(lib: Library) -> None:
    both = np.zeros((5, 104), np.float32)
    both[:, :64] = A
    for _ in range(2):
        lib.gemm(both[:, :64], W.T, out=both[:, 64:])
    np.testing.assert_allclose(both[:, 64:], A @ W.T, atol=1e-5)


def test_a_kept_plan_runs_with_tensors_and_with_the_callers_workspace(lib: Library) -> None:
    plan = lib.plan("gemm_fp32_rcr", Shape(0, 5, 40, 64))
    out = np.zeros((5, 40), np.float32)
    lib.run_plan(plan, a=A, b=W.T, out=out, workspace=aligned(max(plan.workspace_size, 64)))
    assert (out == lib.gemm(A, W.T)).all()
    with pytest.raises(RuntimeFailure, match=r"the arguments are for M=4 .* the plan for M=5"):
        lib.run_plan(plan, a=A[:4], b=W.T, out=out[:4])
    with pytest.raises(Exception, match="bee is no tensor of gemm: out, a, b"):
        lib.run_plan(plan, a=A, b=W.T, out=out, bee=out)


def planned(lib: Library, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the dispatcher is asked for from now on: the device of each plan."""
    asked: list[str] = []
    plan = lib.dispatcher.plan

    def listening(problem: Any, device: Any, *rest: Any) -> Any:
        asked.append(device.target)
        return plan(problem, device, *rest)

    monkeypatch.setattr(lib.dispatcher, "plan", listening)
    return asked


def test_a_problem_is_planned_once(lib: Library, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = planned(lib, monkeypatch)
    for _ in range(3):
        lib.gemm(A, W.T)
    assert len(asked) == 1
    lib.gemm(A[:4], W.T)
    assert len(asked) == 2
    lib.use("gfx942:304")
    lib.gemm(A, W.T)
    assert asked[2:] == ["gfx942:304"]
    lib.load_tables([])
    lib.gemm(A, W.T)
    assert len(asked) == 4
    lib.load_overrides(overrides(tmp_path, 1))
    lib.gemm(A, W.T)
    assert len(asked) == 5


def test_no_more_plans_are_kept_than_have_room(lib: Library) -> None:
    lib.gemm(A, W.T)
    kept = lib._bound.sites
    kept |= {(b"", number): None for number in range(MOST_SITES)}
    lib.gemm(A[:4], W.T)
    assert len(kept) == 1


LARGE_K = 512
INSTANCE = "gemm_fp32_rcr_ck_tile_compv3_intrawave_cshuffle_pad111_64x64x32_2x2x1_16x16x16"


def overrides(folder: Path, k_batch: int) -> Path:
    file = folder / f"override_{k_batch}.csv"
    file.write_text(
        f"target,signature,B,M,N,K,instance,k_batch\ngfx942:304,gemm_fp32_rcr,0,64,64,{LARGE_K},{INSTANCE},{k_batch}\n"
    )
    return file


def test_no_kept_plan_is_stale_for_eight_threads(tmp_path: Path) -> None:
    lib = library_on("gfx942:304")
    files = {k_batch: overrides(tmp_path, k_batch) for k_batch in (1, 2)}
    a = np.zeros((64, LARGE_K), np.float32)
    a[:, 0], a[:, 1:-1], a[:, -1] = 2**24, 1, -(2**24)
    b = np.ones((64, LARGE_K), np.float32).T
    answers = {k_batch: float(lib.gemm(a, b, instance=INSTANCE, k_batch=k_batch)[0, 0]) for k_batch in files}
    assert answers[1] != answers[2]
    said = threading.Lock()
    state, wrong, runs, stop = [0, 0], [], [0] * 8, threading.Event()

    def toggle() -> None:
        for i in range(200):
            k_batch = 1 + i % 2
            with said:
                state[0] = 0
                state[1] += 1
            lib.load_overrides(files[k_batch])
            with said:
                state[0] = k_batch
            stop.wait(0.002)
        stop.set()

    def work(number: int) -> None:
        out = np.zeros((64, 64), np.float32)
        while not stop.is_set():
            before = tuple(state)
            lib.gemm(a, b, out=out, num_threads=1)
            if before[0] and tuple(state) == before:
                runs[number] += 1
                if out[0, 0] != answers[before[0]]:
                    wrong.append((before, float(out[0, 0])))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    toggle()
    for thread in threads:
        thread.join()
    assert not wrong
    assert sum(runs) > 100


def test_a_hundred_thousand_calls_of_eight_threads_leak_nothing(lib: Library) -> None:
    a, w = floats(1, 16), floats(1, 16).T
    counted = [sys.getrefcount(one) for one in (a, w, None, lib)]

    def work(calls: int) -> None:
        out = np.zeros((1, 1), np.float32)
        for _ in range(calls):
            lib.gemm(a, w, out=out, num_threads=1)

    def run(calls: int) -> int:
        threads = [threading.Thread(target=work, args=(calls // 8,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = run(8_000)
    after = run(100_000)
    assert after - before < 2048, "kilobytes; a leak of a key would be some 30,000"
    left = [sys.getrefcount(one) for one in (a, w, None, lib)]
    assert all(abs(now - then) < 1000 for now, then in zip(left, counted, strict=True))


def test_other_threads_run_while_a_call_does(lib: Library) -> None:
    a, w = floats(512, 1024), floats(1024, 1024)
    out = np.zeros((512, 1024), np.float32)
    lib.gemm(a, w.T, out=out)
    started, finished = threading.Event(), []

    def work() -> None:
        started.set()
        for _ in range(20):
            lib.gemm(a, w.T, out=out)
        finished.append(True)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # a thread gives the GIL back when it waits, and never by the clock
    try:
        thread = threading.Thread(target=work)
        thread.start()
        started.wait()
        assert not finished
        thread.join()
    finally:
        sys.setswitchinterval(interval)


def test_a_call_of_a_device_that_is_not_the_cpus_has_twins(lib: Library) -> None:
    lib.use("gfx942:304")
    assert lib.device.target == "gfx942:304"
    np.testing.assert_allclose(lib.gemm(A, W.T), A @ W.T, atol=1e-5)
    with pytest.raises(Unsupported, match=r"gemm_fp32_rcr on gfx950:256 .*: no instance"):
        lib.use("gfx950:256")
        lib.gemm(A, W.T)


def test_a_simulated_shape_is_planned_as_its_own(lib: Library) -> None:
    choice = lib.choice("gemm_fp32_rcr", replace(Shape(0, 5, 40, 64), m=7))
    assert choice.instance is not None
    assert not lib.is_tuned("gemm_fp32_rcr", Shape(0, 7, 40, 64))
