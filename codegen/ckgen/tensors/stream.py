"""The address of a stream, from the object that keeps the stream alive."""

from __future__ import annotations

import sys
from typing import Any

from ckgen.tensors.errors import StreamMismatch
from ckgen.tensors.view import Place, PlaceKind, TensorView

_PROTOCOL_VERSION = 0  # of __cuda_stream__
_OF_THE_DRIVER = range(3)
"""The default stream, the legacy one and the thread's, of CUDA and of HIP. None of them is ever destroyed."""
_NEVER_CLOSED = "torch.cuda.streams"
"""The module of torch's streams, which nobody closes."""
_known: set[type] = set()
"""Types of that module that were asked in full once: their address alone is read from then on."""


def stream_address(stream: Any) -> int:
    """Of an object with `__cuda_stream__`, or an older stream of torch or CuPy; 0, 1 and 2 are the driver's own.

    StreamMismatch for anything else, for a stream that was closed, and for any other address: it may be that of a
    stream which is gone. A driver cannot be asked, as it reads what lies there. Who calls keeps the object until its
    launch has returned; nothing of a launch needs the stream later.
    """
    if type(stream) in _known:
        known: int = stream.cuda_stream
        return known
    if isinstance(stream, int):
        if stream in _OF_THE_DRIVER and not isinstance(stream, bool):
            return stream
        raise StreamMismatch(
            f"stream is {stream!r}, an address alone, whose stream may be gone: give the object that owns the stream, "
            "or, for one that you keep alive, torch.cuda.ExternalStream(address), cupy.cuda.ExternalStream(address) or "
            "any object whose __cuda_stream__() is (0, address)"
        )
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        try:
            version, address = protocol()
        except RuntimeError as error:  # of cuda.core's that was closed
            raise StreamMismatch(f"stream is a {type(stream).__name__} that gives no address: {error}") from error
        if version != _PROTOCOL_VERSION:
            raise StreamMismatch(f"stream's __cuda_stream__ has version {version}, and version 0 is read")
    else:
        address = getattr(stream, "cuda_stream", getattr(stream, "ptr", None))
    if not isinstance(address, int) or not 0 <= address < 2**64:
        raise StreamMismatch(f"stream is {stream!r}: give a stream of torch or CuPy, or an object with __cuda_stream__")
    if _is_closed(stream, address):
        raise StreamMismatch(f"stream is a {type(stream).__name__} that was closed: give one that is open")
    if type(stream).__module__ == _NEVER_CLOSED and hasattr(stream, "cuda_stream"):
        _known.add(type(stream))
    return address


def _is_closed(stream: Any, address: int) -> bool:
    """Of a class whose streams can be closed: they forget their address then, and say 0, the default stream's."""
    if address != 0 or not hasattr(stream, "close"):
        return False
    return bool(getattr(stream, "is_closed", True))


def stream_of(views: tuple[TensorView, ...], place: Place, given: int | None) -> int:
    """The stream of a run on a place: the caller's, else that of the framework of its tensors; 0 of none."""
    if place.kind is PlaceKind.CPU:
        if given is not None:
            raise StreamMismatch("stream is given, and the tensors are the CPU's, whose runs are done when they return")
        return 0
    if given is not None:
        return given
    torch = sys.modules.get("torch")
    for view in views:
        if torch is not None and isinstance(view.owner, torch.Tensor):
            return int(torch.cuda.current_stream(place.index).cuda_stream)
        said = getattr(view.owner, "__cuda_array_interface__", {}).get("stream")
        if said is not None:
            return int(said)
    return 0
