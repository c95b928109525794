"""numpy with its BLAS, mostly OpenBLAS, which knows fp32 and fp64."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ckgen.measure.peers.offer import Offer
from ckgen.measure.timing import Body

_REST = 0.15  # OpenBLAS's threads go on spinning for 100 ms
_KNOWN = (np.float32, np.float64)


def offers(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> dict[str, Offer]:
    """Its way to C = A · Bᵀ, [m, k] and [n, k]."""
    name = "numpy matmul, out="
    if a.dtype not in _KNOWN or a.dtype != b.dtype:
        return {name: f"numpy's BLAS has no product of {a.dtype} and {b.dtype}"}
    c, right = np.empty((a.shape[0], b.shape[0]), a.dtype), b.T
    return {name: Body((lambda: np.matmul(a, right, out=c),), _REST)}


def array_of(result: Any) -> npt.NDArray[np.float32]:
    """What a call gave."""
    found: npt.NDArray[np.float32] = np.asarray(result, np.float32)
    return found
