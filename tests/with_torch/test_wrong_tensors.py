"""What a call cannot take of torch is refused in a sentence, as in tests/runtime/test_wrong_calls.py of NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._subclasses import FakeTensorMode

from calls_library import library_on
from ckgen.runtime import Library, Unsupported
from ckgen.tensors import (
    DeviceMismatch,
    DTypeMismatch,
    LayoutMismatch,
    OverlappingOutput,
    ShapeMismatch,
    StreamMismatch,
    TensorError,
)

pytestmark = pytest.mark.cpp

A, W = torch.ones(5, 64), torch.ones(40, 64)


def traced() -> torch.Tensor:
    with FakeTensorMode():
        return torch.empty(5, 64)


def strided(rows: int, columns: int, of: torch.Tensor) -> torch.Tensor:
    """Rows at twice the distance of a tensor's own: their columns leave gaps."""
    return torch.as_strided(of, (rows, columns), (2 * columns, 2))


WRONG: dict[str, tuple[Callable[[Library], Any], type[TensorError], str]] = {
    "dtype": (lambda lib: lib.gemm(A.long(), W.T), DTypeMismatch, "a is int64, and kernels compute with float64"),
    "no type of kernels": (lambda lib: lib.gemm(A > 0, W.T), DTypeMismatch, "a is bool, and kernels"),
    "dtype and signature": (
        lambda lib: lib.gemm(A, W.T, signature="gemm_bf16_rcr"),
        DTypeMismatch,
        "a is float32, and bfloat16 is asked for by gemm_bf16_rcr",
    ),
    "K": (lambda lib: lib.gemm(A, W), ShapeMismatch, "weights of N rows are b.T"),
    "layout": (
        lambda lib: lib.gemm(A, W.T, signature="gemm_fp32_rrr"),
        LayoutMismatch,
        "b lies in columns .* and gemm_fp32_rrr asks for rows",
    ),
    "stride": (
        lambda lib: lib.gemm(strided(5, 64, torch.ones(5, 128)), W.T),
        LayoutMismatch,
        r"a's strides \(128, 2\) .*a.contiguous\(\)",
    ),
    "broadcast": (lambda lib: lib.gemm(A[:1].expand(5, 64), W.T), LayoutMismatch, r"a's strides \(0, 1\)"),
    "broadcast out": (
        lambda lib: lib.gemm(A, W.T, out=torch.zeros(1, 40).expand(5, 40)),
        LayoutMismatch,
        r"out's strides \(0, 1\)",
    ),
    "out in columns": (
        lambda lib: lib.gemm(A, W.T, out=torch.zeros(40, 5).T),
        LayoutMismatch,
        "out lies in columns .* give the transposed product",
    ),
    "sparse": (lambda lib: lib.gemm(A.to_sparse(), W.T), LayoutMismatch, "a is torch.sparse_coo.*to_dense"),
    "negated": (
        lambda lib: lib.gemm(A.to(torch.complex64).conj().imag, W.T),
        LayoutMismatch,
        "a is negated or conjugated only when it is read: a.resolve_neg",
    ),
    "device": (lambda lib: lib.gemm(A.to("meta"), W.T), DeviceMismatch, "a is on torch's device 'meta'"),
    "traced": (
        lambda lib: lib.gemm(traced(), W.T),
        DeviceMismatch,
        "a has no memory, as torch traces it .*ckgen.torch",
    ),
    "mapped": (
        lambda lib: torch.vmap(lambda x: lib.gemm(x, W.T))(torch.ones(2, 5, 64)),
        DeviceMismatch,
        "a has no memory, as torch traces it or maps over it",
    ),
    "in place": (
        lambda lib: overlapping(lib, 4),
        OverlappingOutput,
        "out is written and shares memory with a",
    ),
    "stream": (
        lambda lib: lib.gemm(A, W.T, stream=2),
        StreamMismatch,
        "stream is given, and the tensors are the CPU's",
    ),
    "stream by its address": (
        lambda lib: lib.gemm(A, W.T, stream=16),
        StreamMismatch,
        "an address alone, whose stream may be gone",
    ),
}


def overlapping(lib: Library, skip: int) -> torch.Tensor:
    """The result begins inside A, whose last `skip` elements it is."""
    memory = torch.ones(5 * 64 + 5 * 40)
    found: torch.Tensor = lib.gemm(memory[:320].view(5, 64), W.T, out=memory[320 - skip :][:200].view(5, 40))
    return found


@pytest.fixture
def lib() -> Library:
    return library_on("cpu")


@pytest.mark.parametrize("case", WRONG)
def test_each_wrong_tensor_is_a_sentence(lib: Library, case: str) -> None:
    call, kind, sentence = WRONG[case]
    lib.gemm(A, W.T)  # planned and kept: a call that is looked up sees it too
    for _ in range(2):
        with pytest.raises(kind, match=sentence):
            call(lib)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_nested_tensors_are_named(lib: Library) -> None:
    with pytest.raises(LayoutMismatch, match=r"a is nested, and kernels read one strided tensor: a.unbind\(\)"):
        lib.gemm(torch.nested.nested_tensor([A, A[:2]]), W.T)


def test_a_result_that_lies_behind_its_operand_is_taken(lib: Library) -> None:
    assert bool((overlapping(lib, 0) == 64).all())
    with pytest.raises(OverlappingOutput):
        overlapping(lib, 1)


@pytest.mark.parametrize("size", ["M", "K"])
def test_sizes_that_kernels_do_not_count_are_refused(lib: Library, size: str) -> None:
    """Memory that nobody touches: the plan is refused before."""
    long = torch.empty(2**31, dtype=torch.bfloat16)
    a, b = (long[:, None], torch.ones(1, 1, dtype=long.dtype)) if size == "M" else (long[None], long[:, None])
    with pytest.raises(Unsupported, match=rf"{size} = 2147483648 is above 2147483647 \(rule gemm.shape."):
        lib.gemm(a, b)
