"""The address of a stream, whichever framework's it is."""

from __future__ import annotations

import sys
from typing import Any

from ckgen.tensors.errors import StreamMismatch
from ckgen.tensors.view import Place, PlaceKind, TensorView


def stream_address(stream: Any) -> int:
    """Of an integer, a torch stream, a CuPy stream, or what has `__cuda_stream__`; StreamMismatch for anything else."""
    if not isinstance(stream, int):
        if hasattr(stream, "__cuda_stream__"):
            stream = stream.__cuda_stream__()[1]
        for word in ("cuda_stream", "ptr"):
            stream = getattr(stream, word, stream)
    if isinstance(stream, bool) or not isinstance(stream, int) or not 0 <= stream < 2**64:
        raise StreamMismatch(
            f"stream is {stream!r}: give a stream of torch or CuPy, an object with __cuda_stream__, or its address"
        )
    return stream


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
