"""torch as far as calls with GPU tensors ask it, of a GPU whose memory is this process's: the mock CUDA driver's.

Its tensors have DLPack's exchange of C functions as torch's have, so that calls take the same ways.
"""

from __future__ import annotations

import ctypes
from ctypes import (
    CFUNCTYPE,
    POINTER,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
)
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np

_DTYPES = {"bfloat16": (ml_dtypes.bfloat16, (4, 16)), "int8": (np.int8, (0, 8)), "int64": (np.int64, (0, 64))}
_CUDA = 2


class _DlTensor(ctypes.Structure):
    _fields_ = (
        ("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32), ("code", c_uint8),
        ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    )  # fmt: skip


_FROM_OBJECT = CFUNCTYPE(c_int, ctypes.py_object, POINTER(_DlTensor))
_CURRENT_STREAM = CFUNCTYPE(c_int, c_int32, c_int32, POINTER(c_void_p))


class _Exchange(ctypes.Structure):
    _fields_ = (
        ("major", c_uint32), ("minor", c_uint32), ("previous", c_void_p), ("allocate", c_void_p),
        ("from_object_managed", c_void_p), ("to_object", c_void_p), ("from_object", _FROM_OBJECT),
        ("current_stream", _CURRENT_STREAM),
    )  # fmt: skip


class Tensor:
    """An array that is called a GPU's."""

    layout = "torch.strided"
    is_nested = False

    def __init__(self, array: Any, device: str = "cuda:0") -> None:
        self.array = array
        kind, _, index = device.partition(":")
        self.device = SimpleNamespace(type=kind, index=int(index) if index else None)
        self.dtype = f"torch.{array.dtype.name}"
        self.shape = array.shape
        self._strides = tuple(stride // array.itemsize for stride in array.strides)
        self._c_sizes = [(c_int64 * max(len(one), 1))(*one) for one in (array.shape, self._strides)]

    def stride(self) -> tuple[int, ...]:
        return self._strides

    def data_ptr(self) -> int:
        return int(self.array.ctypes.data)

    def element_size(self) -> int:
        return int(self.array.itemsize)

    def is_neg(self) -> bool:
        return False

    def is_conj(self) -> bool:
        return False

    @property
    def T(self) -> Tensor:  # noqa: N802
        return type(self)(self.array.T, f"{self.device.type}:{self.device.index or 0}")


class FakeTorch:
    """In place of the module. `stream`: the current one's address; `made`: every tensor that `empty` made."""

    Tensor = Tensor
    version = SimpleNamespace(hip=None)
    bfloat16, int8 = "bfloat16", "int8"

    def __init__(self) -> None:
        self.stream = 0
        self.made: list[Tensor] = []
        self._C = SimpleNamespace(_functorch=SimpleNamespace(is_functorch_wrapped_tensor=lambda tensor: False))
        self.cuda = SimpleNamespace(current_stream=lambda index: SimpleNamespace(cuda_stream=self.stream))
        from_object, current = _FROM_OBJECT(_read), _CURRENT_STREAM(self._current)
        self._exchange = _Exchange(1, 3, None, None, None, None, from_object, current)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (c_void_p, c_char_p, c_void_p)
        # A class of its own: a library remembers how a class is read.
        self.Tensor = type("Tensor", (Tensor,), {})
        self.Tensor.__dlpack_c_exchange_api__ = new(  # type: ignore[attr-defined]
            ctypes.addressof(self._exchange), b"dlpack_exchange_api", None
        )

    def empty_strided(self, shape: Any, strides: Any, dtype: str, device: Any) -> Any:
        one = self.tensor(aligned(shape, _DTYPES[dtype][0]), f"{device.type}:{device.index}")
        self.made.append(one)
        return one

    def tensor(self, array: Any, device: str = "cuda:0") -> Any:
        return self.Tensor(array, device)

    def _current(self, kind: int, index: int, out: Any) -> int:
        out[0] = self.stream
        return 0


def aligned(shape: Any, dtype: Any) -> Any:
    """Memory as torch's allocator aligns it, at least."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    room = np.empty(size + 512, np.uint8)
    skip = -room.ctypes.data % 512
    return room[skip : skip + size].view(dtype).reshape(shape)


def _read(tensor: Tensor, out: Any) -> int:
    found = out[0]
    found.data, found.byte_offset = tensor.data_ptr(), 0
    found.device_type = _CUDA if tensor.device.type == "cuda" else 1
    found.device_id, found.ndim = tensor.device.index or 0, len(tensor.shape)
    found.code, found.bits = _DTYPES[tensor.dtype.removeprefix("torch.")][1]
    found.lanes = 1
    found.shape, found.strides = tensor._c_sizes
    return 0
