"""Views of what frameworks have: NumPy's array interface, the one for CUDA, torch's tensors, and DLPack's capsules."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from ctypes import POINTER, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from typing import Any

from ckgen.tensors.errors import DeviceMismatch, DTypeMismatch, LayoutMismatch
from ckgen.tensors.view import Place, PlaceKind, TensorView

_CPU = Place()
_TYPESTRS = {
    "f2": "float16", "f4": "float32", "f8": "float64", "i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64",
    "u1": "uint8", "u2": "uint16", "u4": "uint32", "u8": "uint64", "b1": "bool",
}  # fmt: skip
_DLPACK_WORDS = {0: "int", 1: "uint", 2: "float"}
_DLPACK_NAMES = {
    (4, 16): "bfloat16", (6, 8): "bool", (10, 8): "float8_e4m3fn", (11, 8): "float8_e4m3b11fnuz",
    (12, 8): "float8_e4m3fnuz", (13, 8): "float8_e5m2", (14, 8): "float8_e8m0fnu", (17, 4): "float4_e2m1fn",
}  # fmt: skip
_DLPACK_PLACES = {1: PlaceKind.CPU, 2: PlaceKind.CUDA, 3: PlaceKind.CPU, 10: PlaceKind.ROCM, 11: PlaceKind.CPU}
_MOST_DIMENSIONS = 32


def view(name: str, tensor: Any) -> TensorView:
    """The view of one argument. DTypeMismatch for what is no tensor; LayoutMismatch and DeviceMismatch for a tensor
    without elements at addresses: sparse, nested, lazily negated, traced, or of no device.

    An object with several protocols is read by the first of: torch's own attributes, `__cuda_array_interface__`,
    `__array_interface__`, `__dlpack__`.
    """
    if isinstance(tensor, TensorView):
        return tensor
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(tensor, torch.Tensor):
        return _of_torch(name, tensor)
    for protocol, read in _PROTOCOLS.items():
        if hasattr(tensor, protocol):
            return read(name, tensor)
    kind = type(tensor).__name__
    raise DTypeMismatch(
        f"{name} is {kind!r}, no tensor: give an object with __dlpack__, __array_interface__ or "
        "__cuda_array_interface__, such as a NumPy array or a torch tensor"
    )


def _of_torch(name: str, tensor: Any) -> TensorView:
    kind = tensor.device.type
    if kind not in ("cpu", "cuda"):
        raise DeviceMismatch(f"{name} is on torch's device {kind!r}, which has no memory that kernels read")
    if tensor.is_nested:
        raise LayoutMismatch(f"{name} is nested, and kernels read one strided tensor: {name}.unbind() are several")
    if str(tensor.layout) != "torch.strided":
        raise LayoutMismatch(f"{name} is {tensor.layout}, and kernels read strided tensors: {name}.to_dense()")
    if tensor.is_neg() or tensor.is_conj():
        raise LayoutMismatch(f"{name} is negated or conjugated only when it is read: {name}.resolve_neg()")
    if _is_traced(tensor):
        raise DeviceMismatch(
            f"{name} has no memory, as torch traces it or maps over it: call the operation of ckgen.torch"
        )
    place = _CPU if kind == "cpu" else Place(_gpu_of_torch(), tensor.device.index)
    dtype = str(tensor.dtype).removeprefix("torch.")
    shape, strides = tuple(tensor.shape), tuple(tensor.stride())
    return TensorView(
        name, tensor.data_ptr(), dtype, tensor.element_size(), shape, strides, place, read_only=False, owner=tensor
    )


def _is_traced(tensor: Any) -> bool:
    """Whether it stands for values that are elsewhere or not there yet: a fake tensor, or one of torch.func."""
    torch = sys.modules["torch"]
    return hasattr(tensor, "fake_mode") or bool(torch._C._functorch.is_functorch_wrapped_tensor(tensor))


def _gpu_of_torch() -> PlaceKind:
    return PlaceKind.ROCM if sys.modules["torch"].version.hip else PlaceKind.CUDA


def _of_array(name: str, array: Any) -> TensorView:
    import numpy as np

    if isinstance(array, np.ma.MaskedArray):
        raise LayoutMismatch(f"{name} is masked, and kernels read every element: {name}.filled(…)")
    return _of_interface(name, array, array.__array_interface__, _CPU)


def _of_cuda_array(name: str, array: Any) -> TensorView:
    device = getattr(array, "device", None)
    index = getattr(device, "id", device)
    place = Place(PlaceKind.CUDA, index if isinstance(index, int) else 0)
    return _of_interface(name, array, array.__cuda_array_interface__, place)


def _of_interface(name: str, array: Any, interface: dict[str, Any], place: Place) -> TensorView:
    address, read_only = interface["data"]
    typestr, shape = interface["typestr"], tuple(interface["shape"])
    dtype = _dtype_of(name, array, typestr)
    itemsize = int(typestr[2:])
    strides = interface.get("strides")
    if strides is not None and any(stride % itemsize for stride in strides):
        raise LayoutMismatch(f"{name}'s strides of {tuple(strides)} bytes are no multiples of {itemsize}: copy it")
    counted = _dense(shape) if strides is None else tuple(stride // itemsize for stride in strides)
    return TensorView(name, int(address or 0), dtype, itemsize, shape, counted, place, bool(read_only), array)


def _dtype_of(name: str, array: Any, typestr: str) -> str:
    """By the array's own dtype where it has one: the interface calls ml_dtypes' types anonymous bytes."""
    swapped = ">" if sys.byteorder == "little" else "<"
    if typestr[0] == swapped:
        raise DTypeMismatch(f"{name}'s elements have the other byte order ({typestr}): {name}.astype('=…')")
    if typestr[1] == "O":
        raise DTypeMismatch(f"{name}'s elements are Python objects, and kernels read numbers: {name}.astype(…)")
    own = getattr(getattr(array, "dtype", None), "name", None)
    found = own if isinstance(own, str) else _TYPESTRS.get(typestr[1:])
    if found is None:
        raise DTypeMismatch(f"{name} has elements of type {typestr}, which no kernel reads")
    return found


def _dense(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for length in reversed(shape):
        strides.append(step)
        step *= length
    return tuple(reversed(strides))


class _DlTensor(ctypes.Structure):
    """DLTensor of DLPack 1."""

    _fields_ = (
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    )


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned of DLPack 1."""

    _fields_ = (
        ("major", c_int32),
        ("minor", c_int32),
        ("context", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("tensor", _DlTensor),
    )


def _of_dlpack(name: str, tensor: Any) -> TensorView:
    """The capsule is not consumed: it is kept with the tensor, and its deleter runs when both go."""
    try:
        capsule = tensor.__dlpack__(max_version=(1, 0))
    except TypeError:  # of a producer before version 1
        capsule = tensor.__dlpack__()
    found, read_only = _opened(capsule)
    place = _DLPACK_PLACES.get(found.device_type)
    if place is None:
        raise DeviceMismatch(
            f"{name} is on a device of DLPack's kind {found.device_type}, whose memory no kernel reads"
        )
    if found.ndim > _MOST_DIMENSIONS:
        raise LayoutMismatch(f"{name} has {found.ndim} dimensions")
    shape = tuple(found.shape[: found.ndim])
    strides = tuple(found.strides[: found.ndim]) if found.strides else _dense(shape)
    dtype, itemsize = _dlpack_dtype(name, found)
    address = (found.data or 0) + found.byte_offset
    where = _CPU if place is PlaceKind.CPU else Place(place, found.device_id)
    return TensorView(name, address, dtype, itemsize, shape, strides, where, read_only, (tensor, capsule))


def _opened(capsule: object) -> tuple[_DlTensor, bool]:
    """The tensor of a capsule of either version, and whether it must not be written."""
    api = ctypes.pythonapi
    api.PyCapsule_IsValid.argtypes = api.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
    api.PyCapsule_GetPointer.restype = c_void_p
    if api.PyCapsule_IsValid(capsule, b"dltensor_versioned"):
        managed = _Versioned.from_address(api.PyCapsule_GetPointer(capsule, b"dltensor_versioned"))
        return managed.tensor, bool(managed.flags & 1)
    return _DlTensor.from_address(api.PyCapsule_GetPointer(capsule, b"dltensor")), False


def _dlpack_dtype(name: str, found: _DlTensor) -> tuple[str, int]:
    if (found.code, found.bits, found.lanes) == (17, 4, 2):
        return "float4_e2m1fn_x2", 1
    word = _DLPACK_WORDS.get(found.code)
    known = _DLPACK_NAMES.get((found.code, found.bits), f"{word}{found.bits}" if word else None)
    if known is None or found.lanes != 1 or found.bits % 8:
        raise DTypeMismatch(
            f"{name} has elements of DLPack's type {found.code} of {found.bits} bits, {found.lanes} together, "
            "which no kernel reads"
        )
    return known, found.bits // 8


_PROTOCOLS: dict[str, Callable[[str, Any], TensorView]] = {
    "__cuda_array_interface__": _of_cuda_array,
    "__array_interface__": _of_array,
    "__dlpack__": _of_dlpack,
}
