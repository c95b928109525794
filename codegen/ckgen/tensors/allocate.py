"""Memory for a result, of the framework that the operands are of."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial
from math import prod
from typing import Any

from ckgen.model.dtype import DType
from ckgen.tensors.dtypes import name_of
from ckgen.tensors.errors import DTypeMismatch

Maker = Callable[[], Any]
"""Allocates an uninitialised tensor."""


def maker_like(tensor: Any, shape: tuple[int, ...], dtype: DType) -> Maker:
    """Of torch on the device of a torch tensor, of NumPy beside a NumPy array.

    DTypeMismatch for tensors of other frameworks, whose results the caller allocates.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(tensor, torch.Tensor):
        strides = tuple(prod(shape[i + 1 :]) for i in range(len(shape)))  # said, as that takes half of empty()'s time
        return partial(torch.empty_strided, shape, strides, dtype=getattr(torch, name_of(dtype)), device=tensor.device)
    import numpy as np

    if isinstance(tensor, np.ndarray):
        return partial(np.empty, shape, numpy_dtype(dtype))
    raise DTypeMismatch(f"out is left out, and nobody knows how {type(tensor).__name__!r} allocates: give out=")


def bytes_like(tensors: Iterable[Any], size: int) -> Maker | None:
    """Of torch, on the device of the first tensor of torch's; None where none is, as its allocator alone is of use."""
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    device = next((one.device for one in tensors if isinstance(one, torch.Tensor)), None)
    return None if device is None else partial(torch.empty_strided, (size,), (1,), dtype=torch.int8, device=device)


def numpy_dtype(dtype: DType) -> Any:
    """NumPy's or ml_dtypes' own."""
    import numpy as np

    name = name_of(dtype)
    if hasattr(np, name):
        return np.dtype(name)
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name))
