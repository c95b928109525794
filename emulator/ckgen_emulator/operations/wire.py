"""A call and its answer between two processes: JSON, and a file of bytes for each tensor."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ckgen.tensors.errors import DeviceMismatch
from ckgen.tensors.sources import view
from ckgen.tensors.view import PlaceKind

_PROTOCOLS = ("__dlpack__", "__array_interface__", "__cuda_array_interface__")
_TENSOR = "tensor"
"""The key of an object that stands for a tensor."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A tensor as ckgen.tensors.TensorView has it; its bytes, gaps included, are those of the file."""

    file: str
    dtype: str
    itemsize: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @classmethod
    def of_json(cls, fields: Mapping[str, Any]) -> Stored:
        """The inverse of `to_json`."""
        return cls(**{**fields, "shape": tuple(fields["shape"]), "strides": tuple(fields["strides"])})

    def to_json(self) -> dict[str, Any]:
        """All fields."""
        return {_TENSOR: asdict(self)}


def stored(value: Any, name: str, folder: Path) -> Any:
    """JSON of an argument, and in the folder a file for each tensor in it. TensorError for a tensor that is not the
    CPU's, or none."""
    if isinstance(value, (list, tuple)):
        return [stored(one, f"{name}[{at}]", folder) for at, one in enumerate(value)]
    is_number = not getattr(value, "shape", True) and hasattr(value, "item")  # of NumPy or torch, without dimensions
    if is_number:
        return value.item()
    if not any(hasattr(value, protocol) for protocol in _PROTOCOLS):
        return value
    one = view(name, value)
    if one.place.kind is not PlaceKind.CPU:
        raise DeviceMismatch(f"{name} is on {one.place}, and the emulator reads the CPU's memory: move it")
    (folder / name).write_bytes(ctypes.string_at(one.address, one.extent) if one.extent else b"")
    return Stored(name, one.dtype, one.itemsize, one.shape, one.strides).to_json()


def restored(value: Any, tensor: Callable[[Stored], Any]) -> Any:
    """What JSON stands for, lists as tuples; `tensor` makes one of what is stored."""
    if isinstance(value, list):
        return tuple(restored(one, tensor) for one in value)
    if isinstance(value, dict):
        return tensor(Stored.of_json(value[_TENSOR]))
    return value
