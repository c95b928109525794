"""The process in which emulated code runs: `python -m ckgen.emulator.gemm.worker WORK.json`.

A crash of the code or of the core ends this process and no other. The environment chooses chip and options
(dispatcher_cpp/hip/shim/settings.hpp).
"""

from __future__ import annotations

import ctypes
import json
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ckgen.emulator.gemm.job import Answer, Work
from ckgen.emulator.gemm.problem import Comparison, GemmProblem, compare, expected_of, operands_of
from ckgen.families.gemm.enums import Quant
from ckgen.families.gemm.reference import Expected, Operands, encode, shuffle_mx_scale, store_a, store_b
from ckgen.families.gemm.signature import GemmSignature, parse_canonical
from ckgen.model.dtype import DType
from ckgen.runtime import Device, Dispatcher, GemmArgsStruct, Options, RuntimeFailure, RuntimeLibrary
from ckgen.runtime.packed import fused_args, packed_args

_TO_DEVICE, _TO_HOST = 1, 2
_UNSUPPORTED = 1  # CKGEN_UNSUPPORTED
_OTHER_ORDER = "kernel reads "  # the refusal of a scale order
_Array = npt.NDArray[Any]


class HipError(Exception):
    """A HIP call that failed."""


class Hip:
    """The HIP functions that a caller of the dispatcher needs."""

    def __init__(self, path: str) -> None:
        self._hip = ctypes.CDLL(path)
        self._hip.hipGetErrorString.restype = ctypes.c_char_p

    def allocate(self, size: int) -> int:
        """Device memory, that counts as uninitialised."""
        memory = ctypes.c_void_p()
        self._done(self._hip.hipMalloc(ctypes.byref(memory), ctypes.c_size_t(size)))
        assert memory.value is not None
        return memory.value

    def free(self, memory: int) -> None:
        """Gives it back."""
        self._done(self._hip.hipFree(ctypes.c_void_p(memory)))

    def upload(self, memory: int, data: _Array) -> None:
        """Copies to the device."""
        self._copy(memory, data.ctypes.data, data.nbytes, _TO_DEVICE)

    def download(self, data: _Array, memory: int) -> None:
        """Copies from the device."""
        self._copy(data.ctypes.data, memory, data.nbytes, _TO_HOST)

    def synchronize(self) -> None:
        """Waits; HipError for a launch that failed."""
        self._done(self._hip.hipDeviceSynchronize())

    def _copy(self, to: int, source: int, size: int, kind: int) -> None:
        pointers = (ctypes.c_void_p(to), ctypes.c_void_p(source))
        self._done(self._hip.hipMemcpy(*pointers, ctypes.c_size_t(size), kind))

    def _done(self, error: int) -> None:
        if error:
            raise HipError(f"HIP error {error}: {self._hip.hipGetErrorString(error).decode()}")


@dataclass(slots=True)
class Buffers:
    """The bytes of a problem on the host or on the device, and the arguments that point to them."""

    hip: Hip | None
    kept: list[_Array] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)

    def give(self, data: _Array | None) -> int | None:
        """The address of a copy."""
        if data is None:
            return None
        stored = np.ascontiguousarray(data)
        if self.hip is None:
            self.kept.append(stored)
            return stored.ctypes.data
        place = self.hip.allocate(stored.nbytes)
        self.memory.append(place)
        self.hip.upload(place, stored)
        return place

    def result(self, c: _Array) -> int:
        """The address of a C that nobody has written; on the host it is NaN where the type has one."""
        if self.hip is not None:
            self.memory.append(self.hip.allocate(c.nbytes))
            return self.memory[-1]
        self.kept.append(c)
        return c.ctypes.data

    def free(self) -> None:
        """Gives back what is on the device."""
        for place in self.memory:
            assert self.hip is not None
            self.hip.free(place)
        self.memory.clear()


@dataclass(frozen=True, slots=True)
class ScaleOrder:
    """How a caller may lay scales out; a kernel that reads another order refuses."""

    a_row_major: bool = True
    mx_shuffled: bool = False


def scale_orders(quant: Quant) -> tuple[ScaleOrder, ...]:
    """The orders there are."""
    if quant is Quant.BLOCKSCALE:
        return (ScaleOrder(), ScaleOrder(a_row_major=False))
    return (ScaleOrder(mx_shuffled=True), ScaleOrder()) if quant is Quant.MX else (ScaleOrder(),)


class Session:
    """The libraries of a worker, loaded."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.signature = parse_canonical(work.signature)
        self.library = RuntimeLibrary(Path(work.dispatcher), everywhere=True)
        self.library.add(Path(work.kernel))
        self.dispatcher: Dispatcher = self.library.dispatcher([work.library], Options(), [work.device_library])
        self.hip = Hip(work.hip)
        self._read = 0

    def answer(self, problem: GemmProblem) -> Answer:
        """Runs the problem on the simulated GPU and with the host twin."""
        operands = operands_of(self.signature, problem)
        expected = expected_of(operands, problem)
        trouble: list[str] = []
        began = time.perf_counter()
        gpu, launches = self.on_gpu(problem, operands, expected, trouble)
        seconds = time.perf_counter() - began
        twin = self._run(problem, operands, expected, self.library.simulated(self.work.target), None, trouble)
        return Answer(gpu, twin, tuple(trouble), seconds, tuple(launches))

    def on_gpu(
        self, problem: GemmProblem, operands: Operands, expected: Expected, trouble: list[str]
    ) -> tuple[Comparison | None, list[dict[str, Any]]]:
        """The simulated GPU's result, and what the HIP runtime reports of its launches; None adds to `trouble`."""
        device = self.library.current()
        if not str(device).endswith("(gpu)"):
            raise RuntimeError(f"the emulator is no GPU to the dispatcher: {device}")
        gpu = self._run(problem, operands, expected, device, self.hip, trouble)
        launches = self._launches()
        self._read += len(launches)
        return gpu, launches

    def _run(
        self,
        problem: GemmProblem,
        operands: Operands,
        expected: Expected,
        device: Device,
        hip: Hip | None,
        trouble: list[str],
    ) -> Comparison | None:
        shape, signature = problem.shape, self.signature
        batch = shape.batch if signature.batched else 1
        asked = self.library.problem(signature.canonical(), shape.m, shape.n, shape.k, batch=batch)
        refusals: list[str] = []
        for order in scale_orders(signature.quant):
            buffers = Buffers(hip)
            c = _unwritten((batch, shape.m, shape.n), signature.c)
            try:
                plan = self.dispatcher.plan(asked, device, self.work.instance, problem.k_batch)
                args = arguments(operands, problem, buffers, buffers.result(c), order)
                try:
                    self.dispatcher.run(plan, args)
                    if hip is not None:
                        hip.synchronize()
                except (RuntimeFailure, HipError):
                    if hip is None or not self._has_findings():
                        raise
                    with suppress(HipError):  # a stream keeps its failure for who waits
                        hip.synchronize()
                if hip is not None:
                    hip.download(c, args.c)
                return compare(expected, c)
            except (RuntimeFailure, HipError) as failure:
                refusals.append(str(failure))
                if not isinstance(failure, RuntimeFailure) or failure.code != _UNSUPPORTED:
                    break
            finally:
                buffers.free()
        said = [text for text in refusals if _OTHER_ORDER not in text] or refusals
        trouble.append(f"{'GPU' if hip is not None else 'host twin'}: {said[-1]}")
        return None

    def _has_findings(self) -> bool:
        """Whether a launch of this problem failed because of what was found: then there is a result all the same."""
        return any(launch["findings"] for launch in self._launches())

    def _launches(self) -> list[dict[str, Any]]:
        """What the HIP runtime reports of this problem."""
        try:
            lines = Path(self.work.report).read_text(encoding="ascii").splitlines()
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in lines[self._read :]]


def arguments(operands: Operands, problem: GemmProblem, to: Buffers, c: int, order: ScaleOrder) -> GemmArgsStruct:
    """Operands in `to`, without gaps between rows or batches, and the arguments that point to them."""
    signature = operands.signature
    a_scale, b_scale = (_scale(signature, values, order) for values in (operands.a_scale, operands.b_scale))
    if a_scale is not None and signature.quant is Quant.BLOCKSCALE and not order.a_row_major:
        a_scale = np.swapaxes(a_scale, -1, -2)
    bias = operands.bias.astype(np.float32) if operands.bias is not None else None
    return packed_args(
        signature.layout,
        problem.shape,
        a=to.give(store_a(operands)),
        b=to.give(store_b(operands)),
        c=c,
        a_scale=to.give(a_scale),
        b_scale=to.give(b_scale),
        bias=to.give(bias),
        **fused_args(operands, problem.shape, to.give),
        a_scale_row_major=int(order.a_row_major),
        mx_scale_shuffled=int(order.mx_shuffled),
    )


def _scale(signature: GemmSignature, values: npt.NDArray[np.float64] | None, order: ScaleOrder) -> _Array | None:
    if values is None or signature.scale is None:
        return None
    stored = encode(values, signature.scale)
    return shuffle_mx_scale(stored) if order.mx_shuffled else stored


def _unwritten(sizes: tuple[int, ...], dtype: DType) -> _Array:
    """Storage of ones only: NaN in every float type."""
    c = encode(np.zeros(sizes), dtype)
    c.view(np.uint8)[...] = 0xFF
    return c


def main(argv: list[str]) -> int:
    """Works off a file of Work."""
    work = Work.from_json(json.loads(Path(argv[0]).read_text(encoding="utf-8")))
    session = Session(work)
    with Path(work.answers).open("w", encoding="ascii") as answers:
        for problem in work.problems:
            answer = session.answer(problem)
            answers.write(json.dumps(answer.to_json()) + "\n")
            answers.flush()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
