"""What a call cannot take is refused in a sentence that names the argument and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from calls_library import INSTANCE, LARGE_K, A, Interface, W, aligned, floats, library_on
from ckgen.model.errors import UsageError
from ckgen.model.fmha_shape import FmhaShape
from ckgen.runtime import Library, RuntimeFailure
from ckgen.tensors import TensorError

pytestmark = pytest.mark.cpp


@pytest.fixture
def lib() -> Library:
    return library_on("cpu")


def on_gpu(array: Any) -> Any:
    class Gpu:
        __cuda_array_interface__ = array.__array_interface__ | {"version": 3, "stream": None}

    return Gpu()


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
    "device": (
        lambda lib: lib.gemm(on_gpu(A), W.T, out=np.zeros((5, 40), np.float32)),
        "a is on cuda:0, and CPU memory, as x86_64.*, is asked for",
    ),
    "read-only": (lambda lib: lib.gemm(A, W.T, out=read_only(5, 40)), "out is written and its memory is read-only"),
    "overlap": (
        lambda lib: overlapping(lib, 4),
        "out is written and shares memory with a: give out memory of its own",
    ),
    "misaligned": (
        lambda lib: lib.gemm(np.zeros(5 * 64 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(5, 64), W.T),
        "a begins at 0x[0-9a-f]+, which is no multiple of 4 bytes: copy it",
    ),
    "stream on a CPU": (lambda lib: lib.gemm(A, W.T, stream=1), "stream is given, and the tensors are the CPU's"),
    "address of a stream": (lambda lib: lib.gemm(A, W.T, stream=0x2000), "stream is 8192, an address alone"),
    "no stream": (lambda lib: lib.gemm(A, W.T, stream="s"), "stream is 's': give a stream of torch or CuPy"),
    "workspace": (
        lambda lib: split(lib),
        "workspace holds 64 bytes, and the plan asks for [0-9]+",
    ),
    "workspace's place": (
        lambda lib: lib.gemm(A, W.T, workspace=aligned(1 << 20)[1:]),
        "workspace begins at 0x[0-9a-f]+, which is no multiple of 64 bytes",
    ),
    "bias": (lambda lib: lib.gemm(A, W.T, bias=floats(41)), r"bias has shape \(41,\), and \(40,\) is asked for"),
    "epilogue": (
        lambda lib: lib.gemm(A, W.T, epilogue=("tanh",)),
        "epilogue has 'tanh', and its steps, in a list, are add, mul",
    ),
    "no d": (lambda lib: lib.gemm(A, W.T, epilogue=("add",)), "d0 is missing: the epilogue takes 1 tensors of d"),
    "instance": (
        lambda lib: lib.gemm(A, W.T, instance="nobody"),
        "gemm_fp32_rcr on x86_64.*: no instance has this name: nobody",
    ),
    "not built": (
        lambda lib: lib.gemm(A.astype(np.float64), W.T.astype(np.float64)),
        "gemm_fp64_rcr on x86_64.*: no instance of this signature was built for this device",
    ),
    "beyond 2^31": (
        lambda lib: huge(lib),
        r"gemm_fp32_rcr on x86_64.*: M = 2147483648 is above 2147483647 \(rule gemm.shape.m-max\)",
    ),
    "objects": (lambda lib: lib.gemm(A.astype(object), W.T), "a's elements are Python objects, .*: a.astype"),
    "masked": (
        lambda lib: lib.gemm(np.ma.masked_array(A, mask=A > 0), W.T),
        "a is masked, and kernels read every element: a.filled",
    ),
    "no columns": (lambda lib: lib.gemm(A, W[:0].T), r"gemm_fp32_rcr on x86_64.*: N = 0 is below 1"),
    "a step for several": (
        lambda lib: lib.gemm(A, W.T, epilogue="relu"),
        "epilogue has 'r', and its steps, in a list, are add, mul",
    ),
    "d alone": (
        lambda lib: lib.gemm(A, W.T, d=floats(5, 40), epilogue=["add", "relu"]),
        "d is a list of tensors, one of each step that takes one, and 'ndarray' is given",
    ),
    "three of d": (
        lambda lib: lib.gemm(A, W.T, d=[floats(5, 40)] * 3, epilogue=["add", "relu"]),
        "d has 3 tensors, and an epilogue takes two at most",
    ),
    "dtype of no result": (lambda lib: lib.gemm(A, W.T, dtype="floaty"), "dtype is 'floaty', and results are float64"),
    "dtype of no framework": (lambda lib: lib.gemm(A, W.T, dtype=3), "dtype is 3, and results are float64"),
    "signature": (lambda lib: lib.gemm(A, W.T, signature=3), "signature is 3, and a text or None is asked for"),
    "alpha": (lambda lib: lib.gemm(A, W.T, alpha="1"), "alpha is '1', and a number is asked for"),
    "instance of no name": (lambda lib: lib.gemm(A, W.T, instance=3), "instance is 3, and a text or None is asked for"),
    "window": (
        lambda lib: lib.attention(*[floats(1, 2, 4, 64)] * 3, window=3),
        "window is 3, and a list of 2, each a whole number, or None is asked for",
    ),
    "split of nobody": (
        lambda lib: lib.gemm(A, W.T, k_batch=2),
        "k_batch is 2, which is said of an instance alone: say instance= too",
    ),
    "threads": (lambda lib: lib.gemm(A, W.T, num_threads=2**40), "num_threads is 1099511627776, and 0 for all, to"),
    "threads below 0": (lambda lib: lib.gemm(A, W.T, num_threads=-1), "num_threads is -1, and 0 for all, to"),
    "sizes of another operation": (
        lambda lib: lib.plan("gemm_fp32_rcr", FmhaShape(1, 1, 1, 1, 1, 64, 64)),
        "sizes of gemm are Shape, got FmhaShape",
    ),
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


def split(lib: Library) -> Any:
    """A plan that needs memory for two parts of K."""
    lib.use("gfx942:304")
    a, b = floats(64, LARGE_K), floats(64, LARGE_K)
    return lib.gemm(a, b.T, workspace=aligned(64), instance=INSTANCE, k_batch=2)


def huge(lib: Library) -> Any:
    """Sizes beyond what a kernel counts, at addresses that nobody reads: the plan is refused before."""
    a = Interface(A, shape=(2**31, 64), strides=None, data=(1 << 44, False))
    out = Interface(A, shape=(2**31, 40), strides=None, data=(1 << 45, False))
    return lib.gemm(a, W.T, out=out)


@pytest.mark.parametrize("case", WRONG)
def test_each_wrong_use_is_a_sentence(lib: Library, case: str) -> None:
    """However often: nothing of a refused call is kept that a later one runs."""
    call, sentence = WRONG[case]
    for _ in range(2):
        with pytest.raises((TensorError, RuntimeFailure, UsageError), match=sentence):
            call(lib)


def test_wrong_uses_are_seen_on_a_cached_call_too(lib: Library) -> None:
    out = np.zeros((5, 40), np.float32)
    lib.gemm(A, W.T, out=out)
    with pytest.raises(TensorError, match="read-only"):
        lib.gemm(A, W.T, out=read_only(5, 40))
    overlapping(lib, 0)  # the same problem, planned and kept
    with pytest.raises(TensorError, match="shares memory with a"):
        overlapping(lib, 1)
    with pytest.raises(TensorError, match="the tensors are the CPU's"):
        lib.gemm(A, W.T, out=out, stream=1)


def test_tables_are_a_list(lib: Library) -> None:
    with pytest.raises(TypeError, match=r"paths is a list of files, got '/a/table.csv'"):
        lib.load_tables("/a/table.csv")  # type: ignore[arg-type]


@pytest.mark.parametrize("said", ["float32", "fp32", np.float32, np.dtype("f4")])
def test_a_type_is_said_as_frameworks_do(lib: Library, said: Any) -> None:
    assert lib.gemm(A, W.T, dtype=said).dtype == np.float32
