"""PyTorch on CPUs, which is oneDNN, at its best: results in memory that is there already, weights packed ahead.

What it does not offer is a text that says so. Without torch every offer is such a text.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ckgen.measure.peers.offer import Offer
from ckgen.measure.timing import Body

_MMAP_MAX, _TRIM_THRESHOLD = -4, -1


@cache
def torch() -> Any:
    """The module, or None where it is not installed.

    Some of its operations allocate what they return. So malloc is told to keep what is freed: after the first call the
    memory is there already, and no page of it is new.
    """
    try:
        import torch as module
    except ImportError:
        return None
    libc = ctypes.CDLL(None)
    libc.mallopt(_MMAP_MAX, 0)
    libc.mallopt(_TRIM_THRESHOLD, 2**31 - 1)
    module.set_grad_enabled(False)
    return module


def offered(name: str, make: Callable[[], Callable[[], object]]) -> dict[str, Offer]:
    """One of torch's ways under its name: a body, or why there is none."""
    module = torch()
    if module is None:
        return {name: "torch is not installed"}
    try:
        call = make()
        call()
    except (
        RuntimeError,
        AttributeError,
        ValueError,
    ) as error:  # types, names of other versions, sizes: the row says it
        reason = (str(error).split("\n")[0] or type(error).__name__)[:120]
        return {name: f"not offered by torch {module.__version__} on CPU: {reason}"}
    return {name: Body((call,))}


def tensor(array: npt.NDArray[Any]) -> Any:
    """The same memory as a tensor; types that numpy does not know by their bits."""
    module = torch()
    known = {"bfloat16": module.bfloat16, "float8_e4m3fn": module.float8_e4m3fn}
    if array.dtype.name in known:
        bits = array.view({1: np.uint8, 2: np.int16}[array.dtype.itemsize])
        return module.from_numpy(bits).view(known[array.dtype.name])
    return module.from_numpy(array)


def products(a: npt.NDArray[Any], b: npt.NDArray[Any], *, sets: int = 1) -> dict[str, Offer]:
    """C = A · Bᵀ of one type, B [n, k]: with and without B packed ahead. `sets` copies of B are read in turn."""

    def plain() -> Callable[[], object]:
        left, right = tensor(a), tensor(b)
        c = torch().empty((a.shape[0], b.shape[0]), dtype=left.dtype)
        return lambda: torch().mm(left, right.t(), out=c)

    def packed() -> Callable[[], object]:
        left, ops = tensor(a), torch().ops.mkldnn
        weights = ops._reorder_linear_weight(tensor(b), a.shape[0])
        return lambda: ops._linear_pointwise(left, weights, None, "none", [], "")

    found = {}
    for name, make in {"torch mm, out=": plain, "torch linear, B packed": packed}.items():
        offers = [offered(name, make)[name] for _ in range(sets)]
        bodies = [one for one in offers if isinstance(one, Body)]
        same = tuple(call for body in bodies for call in body.calls)
        found[name] = Body(same) if bodies else offers[0]
    return found


def int8_products(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> dict[str, Offer]:
    """int8 · int8 to int32 without scales, which is less than is asked for, and, B packed ahead, to bf16 with those of
    B's rows; bf16 · int8 with a scale per row of B."""

    def integers() -> Callable[[], object]:
        left, right = tensor(a), tensor(b)
        c = torch().empty((a.shape[0], b.shape[0]), dtype=torch().int32)
        return lambda: torch()._int_mm(left, right.t(), out=c)

    def packed() -> Callable[[], object]:
        ops, rows, one = torch().ops.onednn, b.shape[0], torch().ones(b.shape[0])
        left = tensor((a.astype(np.int16) + 128).astype(np.uint8))  # it computes int8 on the left many times slower
        weights, zeros = ops.qlinear_prepack(tensor(b), list(a.shape)), torch().zeros(rows, dtype=torch().int64)
        to = torch().bfloat16
        return lambda: ops.qlinear_pointwise(left, 1.0, 128, weights, one, zeros, None, 1.0, 0, to, "none", [], "")

    def weights_only() -> Callable[[], object]:
        left, right = tensor(a).to(torch().bfloat16), tensor(b)
        scales = torch().ones(b.shape[0], dtype=torch().bfloat16)
        return lambda: torch()._weight_int8pack_mm(left, right, scales)

    found = offered("torch _int_mm, out=", integers) | offered("torch qlinear, B packed", packed)
    return found | offered("torch bf16 · int8", weights_only)


def fp8_product(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> dict[str, Offer]:
    """fp8 · fp8 to bf16 with a scale per row of A and of B."""

    def scaled() -> Callable[[], object]:
        left, right, bf16 = tensor(a), tensor(b).t(), torch().bfloat16
        of_a, of_b = torch().ones(a.shape[0], 1), torch().ones(1, b.shape[0])
        return lambda: torch()._scaled_mm(left, right, of_a, of_b, out_dtype=bf16)

    return offered("torch _scaled_mm", scaled)


def int4_product(m: int, n: int, k: int) -> dict[str, Offer]:
    """bf16 · int4 in groups of 32: torch's own type of 4 bits, for it has no product of fp4."""

    def packed() -> Callable[[], object]:
        module, group = torch(), 32
        left = module.randn(m, k).bfloat16()
        codes = module.randint(0, 16, (n, k), dtype=module.int32)
        weights = module.ops.aten._convert_weight_to_int4pack_for_cpu(codes, 1)
        scales = module.ones(k // group, n, 2, dtype=module.bfloat16)
        return lambda: module.ops.aten._weight_int4pack_mm_for_cpu(left, weights, group, scales)

    return offered("torch bf16 · int4", packed)


def differ(ours: npt.NDArray[Any], theirs: Any) -> float:
    """The largest difference over the largest value."""
    left, right = ours.astype(np.float32), theirs.float().numpy()
    return float(np.abs(left - right).max() / max(np.abs(right).max(), 1e-30))


def offers(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> dict[str, Offer]:
    """Its ways to C = A · Bᵀ, [m, k] and [n, k]."""
    return products(a, b)


def array_of(result: Any) -> npt.NDArray[np.float32]:
    """What a call gave."""
    found: npt.NDArray[np.float32] = result.float().numpy()
    return found
