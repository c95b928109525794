"""Tensors of any framework, seen without copies: one frozen view of each."""

from ckgen.tensors.errors import (
    DeviceMismatch,
    DTypeMismatch,
    LayoutMismatch,
    Misaligned,
    OverlappingOutput,
    ReadOnlyOutput,
    ShapeMismatch,
    StreamMismatch,
    TensorError,
)
from ckgen.tensors.sources import view
from ckgen.tensors.view import Place, PlaceKind, TensorView

__all__ = [
    "DTypeMismatch",
    "DeviceMismatch",
    "LayoutMismatch",
    "Misaligned",
    "OverlappingOutput",
    "Place",
    "PlaceKind",
    "ReadOnlyOutput",
    "ShapeMismatch",
    "StreamMismatch",
    "TensorError",
    "TensorView",
    "view",
]
