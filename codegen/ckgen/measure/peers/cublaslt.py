"""cuBLASLt, NVIDIA's own library, opened where it is: the first answer of its heuristic, with 32 MiB of workspace.

The file that CKGEN_CUBLASLT names, else libcublasLt.so.13 or .12 as the dynamic loader finds it.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from ctypes import POINTER, byref, c_float, c_int, c_int32, c_int64, c_size_t, c_uint64, c_void_p
from functools import cache
from typing import Any

from ckgen.measure.peers.offer import Offer, PeerRefused
from ckgen.measure.timing import Body
from ckgen.model.dtype import DType
from ckgen.runtime import GemmArgsStruct
from ckgen.runtime.gpu import Buffer, Gpu

_NAMES = ("libcublasLt.so.13", "libcublasLt.so.12")
_WORKSPACE = 32 << 20
_TYPES = {DType.FP16: 2, DType.BF16: 14}
"""cudaDataType_t."""
_COMPUTE_FP32, _SCALE_FP32 = 68, 0
_TRANSA, _MAX_WORKSPACE = 3, 1
_SIGNATURES = {
    "Create": (POINTER(c_void_p),),
    "MatmulDescCreate": (POINTER(c_void_p), c_int, c_int),
    "MatmulDescSetAttribute": (c_void_p, c_int, c_void_p, c_size_t),
    "MatrixLayoutCreate": (POINTER(c_void_p), c_int, c_uint64, c_uint64, c_int64),
    "MatmulPreferenceCreate": (POINTER(c_void_p),),
    "MatmulPreferenceSetAttribute": (c_void_p, c_int, c_void_p, c_size_t),
    "MatmulAlgoGetHeuristic": (*[c_void_p] * 7, c_int, c_void_p, POINTER(c_int)),
    "Matmul": (*[c_void_p] * 14, c_size_t, c_void_p),
}


class _Answer(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t; its first member is the algorithm."""

    _fields_ = (
        ("algorithm", c_uint64 * 8),
        ("workspace", c_size_t),
        ("status", c_int),
        ("waves", c_float),
        ("reserved", c_int * 4),
    )


class _Library:
    """One handle, and room for workspaces; for one thread."""

    def __init__(self, library: ctypes.CDLL, gpu: Gpu) -> None:
        self._library = library
        for name, arguments in _SIGNATURES.items():
            getattr(library, f"cublasLt{name}").argtypes = arguments
        library.cublasLtGetVersion.restype = c_size_t
        self.version = int(library.cublasLtGetVersion())
        self.handle = self.made("Create")
        self.workspace: Buffer = gpu.buffer(_WORKSPACE)

    def call(self, name: str, *arguments: Any) -> None:
        if code := getattr(self._library, f"cublasLt{name}")(*arguments):
            raise PeerRefused(f"cublasLt{name} answered with {code}")

    def made(self, name: str, *arguments: Any) -> c_void_p:
        """What a function makes whose first argument is where to put it."""
        found = c_void_p()
        self.call(name, byref(found), *arguments)
        return found


def device_offers(sets: Sequence[GemmArgsStruct], dtype: DType, gpu: Gpu) -> dict[str, Offer]:
    """Its way to C = A · Bᵀ of one type, of operands at several places."""
    try:
        library = _opened(gpu)
        name = f"cuBLASLt {library.version}, first answer"
        if dtype not in _TYPES:
            return {name: f"is not asked for {dtype}"}
        return {name: _body(library, sets, _TYPES[dtype], gpu.stream)}
    except (OSError, AttributeError, PeerRefused) as refused:
        return {"cublaslt": str(refused)}


@cache
def _opened(gpu: Gpu) -> _Library:
    """OSError where there is none."""
    named = os.environ.get("CKGEN_CUBLASLT")
    failures = []
    for name in [named] if named else _NAMES:
        try:
            return _Library(ctypes.CDLL(name), gpu)
        except OSError as error:
            failures.append(str(error))
    raise OSError("; ".join(failures))


def _body(library: _Library, sets: Sequence[GemmArgsStruct], dtype: int, stream: int | None) -> Body:
    """In its own order of columns: Cᵀ = B · Aᵀ."""
    args = sets[0]
    what = library.made("MatmulDescCreate", _COMPUTE_FP32, _SCALE_FP32)
    transposed, most = c_int32(1), c_size_t(_WORKSPACE)
    library.call("MatmulDescSetAttribute", what, _TRANSA, byref(transposed), 4)
    b = library.made("MatrixLayoutCreate", dtype, args.k, args.n, args.ldb)
    a = library.made("MatrixLayoutCreate", dtype, args.k, args.m, args.lda)
    c = library.made("MatrixLayoutCreate", dtype, args.n, args.m, args.ldc)
    wishes = library.made("MatmulPreferenceCreate")
    library.call("MatmulPreferenceSetAttribute", wishes, _MAX_WORKSPACE, byref(most), 8)
    answer, count = _Answer(), c_int()
    library.call("MatmulAlgoGetHeuristic", library.handle, what, b, a, c, c, wishes, 1, byref(answer), byref(count))
    if not count.value or answer.status:
        raise PeerRefused("its heuristic has no answer")
    one, zero = c_float(1), c_float(0)

    def call_of(of: GemmArgsStruct) -> Callable[[], object]:
        words = (
            library.handle, what, ctypes.addressof(one), of.b, b, of.a, a, ctypes.addressof(zero), of.c, c, of.c, c,
            ctypes.addressof(answer), library.workspace.address, answer.workspace, stream,
        )  # fmt: skip
        kept = (one, zero, answer, of)
        return lambda kept=kept: library.call("Matmul", *words)  # type: ignore[misc]

    return Body(tuple(map(call_of, sets)), rest=0.0)
