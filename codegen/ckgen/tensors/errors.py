"""What can be wrong with a tensor of a call: a class each, whose text says which tensor it is and what to do."""

from __future__ import annotations

from ckgen.model.errors import CkgenError


class TensorError(CkgenError, ValueError):
    """A tensor, or the lack of one, that a call cannot take."""

    exit_code = 3


class DTypeMismatch(TensorError, TypeError):
    """Of another type than the call asks for, or no tensor at all."""


class ShapeMismatch(TensorError):
    """Sizes that contradict those of the other tensors."""


class LayoutMismatch(TensorError):
    """Strides that no kernel follows."""


class DeviceMismatch(TensorError):
    """Memory that the device does not read."""


class ReadOnlyOutput(TensorError):
    """A result's memory must not be written."""


class OverlappingOutput(TensorError):
    """A result shares elements with another tensor, or with itself."""


class StreamMismatch(TensorError):
    """No stream of the device, one that was closed, or an address alone, whose stream may be gone."""


class Misaligned(TensorError):
    """An address that is no multiple of the element's size, or of a workspace's 64 bytes."""
