"""The process in which an operation runs (apart.py).

Its HIP runtime is the emulator's, as the environment says (hip_shim/settings.hpp). Reads call.json, writes answer.json.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from ckgen.model.dtype import DType
from ckgen.model.errors import CkgenError
from ckgen.runtime import Library, RuntimeFailure
from ckgen.runtime.gpu import Gpu
from ckgen.tensors.allocate import numpy_dtype
from ckgen.tensors.dtypes import name_of
from ckgen.tensors.view import Place, PlaceKind, TensorView
from ckgen_emulator.apart import work_apart
from ckgen_emulator.operations.wire import Stored, restored

CALL, ANSWER = "call.json", "answer.json"


class DeviceLibrary(Library):
    """A library on the emulated GPU: tensors are views of its memory, and so are results."""

    @property
    def gpu(self) -> Gpu:
        """Its memory."""
        return self.library.gpu(self.device)

    def given(self, folder: Path, one: Stored) -> TensorView:
        """A copy on the device."""
        content = (folder / one.file).read_bytes()
        found = self._tensor(one.file, one.dtype, one.itemsize, one.shape, one.strides, len(content))
        if content:
            source = ctypes.create_string_buffer(content, len(content))
            self.gpu.upload(found.address, ctypes.addressof(source), len(content))
        return found

    def fetched(self, folder: Path, result: Any, name: str = "result") -> Any:
        """JSON of results, each with a file of its bytes."""
        if isinstance(result, (list, tuple)):
            return [self.fetched(folder, one, f"{name}[{at}]") for at, one in enumerate(result)]
        if result is None:
            return None
        content = ctypes.create_string_buffer(max(result.extent, 1))
        if result.extent:
            self.gpu.download(ctypes.addressof(content), result.address, result.extent)
        (folder / name).write_bytes(content.raw[: result.extent])
        return Stored(name, result.dtype, result.itemsize, result.shape, result.strides).to_json()

    def maker(self, like: Any, shape: tuple[int, ...], dtype: DType) -> Callable[[], Any]:
        """Of device memory, in rows."""
        strides: list[int] = []
        step = 1
        for length in reversed(shape):
            strides.insert(0, step)
            step *= length
        itemsize = numpy_dtype(dtype).itemsize
        return partial(self._tensor, "result", name_of(dtype), itemsize, shape, tuple(strides), step * itemsize)

    def _tensor(
        self, name: str, dtype: str, itemsize: int, shape: tuple[int, ...], strides: tuple[int, ...], size: int
    ) -> TensorView:
        memory = self.gpu.buffer(size)
        place = Place(PlaceKind.ROCM, self.device.index)
        return TensorView(name, memory.address, dtype, itemsize, shape, strides, place, False, memory)


def run(folder: Path) -> Any:
    """JSON of what the operation returns."""
    call = json.loads((folder / CALL).read_text(encoding="utf-8"))
    lib = DeviceLibrary.load(call["path"], call["names"], None, device_names=call["device_names"])
    if not lib.device.is_gpu:
        raise RuntimeError(f"the emulator is no GPU to the dispatcher: {lib.device}")
    tensor = partial(lib.given, folder)
    given = {name: restored(value, tensor) for name, value in call["given"].items()}
    result = getattr(lib, call["operation"])(**given)
    lib.gpu.synchronize()
    return lib.fetched(folder, result)


def answer(folder: Path) -> None:
    """Answers with the result, or with the class and the text of an error that the caller is to see."""
    try:
        found = {"result": run(folder)}
    except (CkgenError, RuntimeFailure) as error:
        found = {"error": type(error).__name__, "text": str(error), "code": getattr(error, "code", None)}
    (folder / ANSWER).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(work_apart(answer))
