"""Operations with tensors on an emulated GPU: each call a process, whose GPU code is a library's own."""

from __future__ import annotations

import ctypes
import json
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from inspect import signature
from pathlib import Path
from typing import Any

from ckgen.build.amd.toolchain import load
from ckgen.extension import EmulatedOperations
from ckgen.model.dtype import DType
from ckgen.model.errors import CkgenError, UsageError
from ckgen.model.target import Target
from ckgen.runtime import Library
from ckgen.runtime.abi import failure_of
from ckgen.runtime.gemm_words import gemm_words
from ckgen.runtime.source import LibrarySource
from ckgen.specs import load_archs
from ckgen.specs.native import native_target
from ckgen.specs.targets import parse_targets
from ckgen.tensors import errors
from ckgen.tensors.allocate import maker_like, numpy_dtype
from ckgen.tensors.dtypes import dtype_said
from ckgen.tensors.sources import view
from ckgen_emulator.apart import run_apart
from ckgen_emulator.core_library import core_library
from ckgen_emulator.gemm.drive import RunOptions, table_file, worker_environment
from ckgen_emulator.gemm.runtime import build_hip
from ckgen_emulator.isa import executed_archs
from ckgen_emulator.operations.wire import Stored, restored, stored
from ckgen_emulator.operations.worker import ANSWER, CALL

_RESULTS = {
    "gemm": ("out",),
    "grouped": ("out",),
    "moe": ("out",),
    "attention": ("out", "lse"),
    "attention_backward": ("dq", "dk", "dv", "dbias", "dsink"),
}
_MEMORY = ("stream", "workspace")
_SHOWN = 3


class EmulatorFinding(CkgenError):
    """GPU code ran, and what it did is wrong; the text has the first findings, `launches` of the runner all."""

    exit_code = 1


class EmulatorEnded(CkgenError):
    """The process in which the GPU code ran ended without an answer."""


@dataclass(slots=True)
class Operations:
    """The operations of a library with GPU code, by the names and arguments of ckgen.Library, on an emulated GPU.

    Tensors are the CPU's and are copied; results are torch's where the first operand is, else NumPy's. `out` and other
    results, `stream` and `workspace` cannot be given. `launches`: of the last call, as docs/emulator.md says of them.
    Errors are those of ckgen.Library, and EmulatorFinding.
    """

    source: LibrarySource
    target: Target
    options: RunOptions
    seed: int
    hip: Path | None = None
    launches: tuple[Mapping[str, Any], ...] = ()

    def gemm(self, *operands: Any, **said: Any) -> Any:
        """As ckgen.Library.gemm."""
        return self._call("gemm", operands, said)

    def grouped(self, *operands: Any, **said: Any) -> Any:
        """As ckgen.Library.grouped."""
        return [*self._call("grouped", operands, said)]

    def moe(self, *operands: Any, **said: Any) -> Any:
        """As ckgen.Library.moe."""
        return self._call("moe", operands, said)

    def attention(self, *operands: Any, **said: Any) -> Any:
        """As ckgen.Library.attention."""
        return self._call("attention", operands, said)

    def attention_backward(self, *operands: Any, **said: Any) -> Any:
        """As ckgen.Library.attention_backward."""
        return self._call("attention_backward", operands, said)

    def _call(self, operation: str, operands: tuple[Any, ...], said: Mapping[str, Any]) -> Any:
        given = signature(getattr(Library, operation)).bind(None, *operands, **said).arguments
        given.pop("self")
        if words := given.pop("words", {}):
            gemm_words(**words)  # which refuses words that there are not
            given |= words
        own = [name for name in (*_RESULTS[operation], *_MEMORY) if given.get(name) is not None]
        if own:
            raise UsageError(f"{', '.join(own)}: an emulated call has memory of its own, and returns its results")
        with tempfile.TemporaryDirectory(prefix="ckgen-emulate-") as name:
            folder = Path(name)
            call = {
                "operation": operation,
                **asdict(self.source),
                "path": str(self.source.path),
                "given": {word: stored(one, word, folder) for word, one in given.items()},
            }
            (folder / CALL).write_text(json.dumps(call), encoding="utf-8")
            answer = self._answer(folder)
            like = next(iter(given.values()))
            like = like[0] if operation == "grouped" else like
            return restored(answer["result"], lambda one: _result(folder, one, like))

    def _answer(self, folder: Path) -> Mapping[str, Any]:
        report = folder / "report"
        told = (table_file(load(), self.target.gfx, folder), self.target, str(report), self.options, self.seed)
        self.hip = self.hip or build_hip(_say)
        environment = worker_environment(self.hip, core_library(), *told)
        ended = run_apart("ckgen_emulator.operations.worker", folder, environment)
        lines = report.read_text(encoding="ascii").splitlines() if report.exists() else []
        self.launches = tuple(json.loads(line) for line in lines)
        if found := [(one["kernel"], finding) for one in self.launches for finding in one["findings"]]:
            shown = "; ".join(f"{kernel}: {finding['rule']}: {finding['what']}" for kernel, finding in found[:_SHOWN])
            raise EmulatorFinding(f"{len(found)} found: {shown}")
        file = folder / ANSWER
        if not file.exists():
            raise EmulatorEnded(ended)
        answer: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if "error" in answer:
            raise _error(answer)
        return answer


def emulate(source: LibrarySource, target: str, checked: bool, seed: int, threads: int) -> EmulatedOperations:
    """Operations of that library on a target such as gfx942:304. UsageError for a GPU that is not emulated, or a
    library without GPU code."""
    (device,) = parse_targets(target, env={}, archs=load_archs(), native=native_target)
    if device.gfx not in executed_archs():
        raise UsageError(f"{device.gfx} is not emulated: {', '.join(sorted(executed_archs()))} are")
    if not source.device_names:
        raise UsageError(
            "this library has no GPU code: ckgen.jit(…, device_code=True) or ckgen.load(…, device_names=…)"
        )
    return Operations(source, device, RunOptions(checked=checked, threads=threads), seed)


def _result(folder: Path, one: Stored, like: Any) -> Any:
    dtype = dtype_said(one.dtype)
    assert isinstance(dtype, DType)
    try:
        made = maker_like(like, one.shape, dtype)()
    except errors.DTypeMismatch:  # of a framework whose memory only its own allocates
        import numpy as np

        made = np.empty(one.shape, numpy_dtype(dtype))
    content = (folder / one.file).read_bytes()
    if content:
        ctypes.memmove(view("result", made).address, content, len(content))
    return made


def _error(answer: Mapping[str, Any]) -> Exception:
    if answer["code"] is not None:
        return failure_of(answer["code"], answer["text"])
    kind = getattr(errors, answer["error"], UsageError)
    found: Exception = kind(answer["text"])
    return found


def _say(text: str) -> None:
    print(f"ckgen: {text}", file=sys.stderr)
