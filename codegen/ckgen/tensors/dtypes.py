"""Which element type a tensor's own stands for."""

from __future__ import annotations

from ckgen.model.dtype import DType
from ckgen.model.errors import UsageError
from ckgen.tensors.errors import DTypeMismatch
from ckgen.tensors.view import TensorView

NAMES = {
    "float64": DType.FP64,
    "float32": DType.FP32,
    "float16": DType.FP16,
    "bfloat16": DType.BF16,
    "int8": DType.INT8,
    "int32": DType.INT32,
    "float8_e8m0fnu": DType.E8M0,
    "float8_e4m3fnuz": DType.FP8_FNUZ,
    "float8_e4m3fn": DType.FP8_OCP,
    "float8_e5m2fnuz": DType.BF8_FNUZ,
    "float8_e5m2": DType.BF8_OCP,
    "float4_e2m1fn_x2": DType.FP4,
}
"""By NumPy's, ml_dtypes' and torch's names. 4-bit types are those of two to a byte."""
_AS_BYTES = frozenset({DType.FP4, DType.INT4, DType.E8M0})
"""Types that frameworks also keep as plain bytes."""
_UNPACKED = {"float4_e2m1fn": DType.FP4, "int4": DType.INT4, "uint4": DType.INT4}
_SAID = {str(dtype): dtype for dtype in NAMES.values()} | NAMES
_OF_DTYPE = {dtype: name for name, dtype in NAMES.items()} | {DType.INT4: "uint8"}


def dtype_of(view: TensorView) -> DType:
    """The type; DTypeMismatch where only a signature can say what bytes are, or nothing computes with it."""
    if view.dtype in _UNPACKED:
        raise DTypeMismatch(
            f"{view.name} is {view.dtype}, an element to a byte, and kernels read two: ckgen.pack_4bit({view.name})"
        )
    if view.dtype == "uint8":
        raise DTypeMismatch(
            f"{view.name} is uint8, which may be fp4, int4 or e8m0: say signature=…, as in 'gemm_fp4_…'"
        )
    if view.dtype not in NAMES:
        raise DTypeMismatch(f"{view.name} is {view.dtype}, and kernels compute with {', '.join(NAMES)}")
    return NAMES[view.dtype]


def dtype_said(word: str) -> DType | None:
    """By ckgen's word or a name of frameworks, with `torch.` or without; None for others."""
    return _SAID.get(word.removeprefix("torch."))


def result_dtype(said: object) -> DType:
    """What a call's `dtype` says: a name, or a type of NumPy, ml_dtypes or torch. UsageError for no type."""
    name = getattr(said, "__name__", getattr(said, "name", said))  # np.float32 has the one, np.dtype("f4") the other
    found = dtype_said(str(name))
    if found is None:
        raise UsageError(f"dtype is {said!r}, and results are {', '.join(NAMES)}")
    return found


def expect_dtype(view: TensorView, wanted: DType, why: str = "") -> None:
    """DTypeMismatch unless the elements are of that type, or bytes where frameworks keep it so."""
    if wanted in _AS_BYTES and view.dtype in ("uint8", "int8") and view.itemsize == 1:
        return
    if view.dtype in _UNPACKED or view.dtype == "uint8" or NAMES.get(view.dtype) is not wanted:
        if _UNPACKED.get(view.dtype) is wanted:
            dtype_of(view)
        asked = name_of(wanted)
        raise DTypeMismatch(f"{view.name} is {view.dtype}, and {asked} is asked for{f' by {why}' if why else ''}")


def name_of(dtype: DType) -> str:
    """How frameworks call it; bytes where they do not."""
    return _OF_DTYPE[dtype]
