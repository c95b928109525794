"""The process in which emulated code runs (apart.py). The environment chooses chip and options
(hip_shim/settings.hpp).
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ckgen.families.common.comparison import Comparison, Wrong
from ckgen.families.gemm.signature import parse_canonical
from ckgen.runtime import Device, Dispatcher, Options, RuntimeFailure, RuntimeLibrary
from ckgen_emulator.apart import work_apart
from ckgen_emulator.bindings import last_origin
from ckgen_emulator.gemm.call import Call, call_of, scale_orders
from ckgen_emulator.gemm.job import Answer, Job
from ckgen_emulator.gemm.memory import Buffers, Hip, HipError
from ckgen_emulator.gemm.problem import GemmProblem

_UNSUPPORTED = 1  # CKGEN_UNSUPPORTED
_OTHER_ORDER = "kernel reads "  # the refusal of a scale order


class Session:
    """The libraries of a worker, loaded."""

    def __init__(self, work: Job) -> None:
        self.work = work
        self.signature = parse_canonical(work.signature)
        self.library = RuntimeLibrary(Path(work.dispatcher), everywhere=True)
        self.library.add(Path(work.kernel))
        self.dispatcher: Dispatcher = self.library.dispatcher([work.library], Options(), [work.device_library])
        self.hip = Hip(work.hip)
        self._read = 0

    def answer(self, problem: GemmProblem) -> Answer:
        """Runs the problem on the simulated GPU and with the host twin."""
        call = call_of(self.signature, problem)
        trouble: list[str] = []
        began = time.perf_counter()
        gpu, launches = self.on_gpu(problem, call, trouble)
        seconds = time.perf_counter() - began
        origin = self.origin(problem, call, gpu, trouble) if self.work.trace_wrong and gpu is not None else None
        twin = self._run(problem, call, self.library.simulated(self.work.target), None, trouble)
        seen = call.sensitivity() if gpu is not None else None
        return Answer(gpu, twin, seen, tuple(trouble), seconds, tuple(launches), origin)

    def on_gpu(
        self, problem: GemmProblem, call: Call, trouble: list[str]
    ) -> tuple[Comparison | None, list[dict[str, Any]]]:
        """The simulated GPU's result, and what the HIP runtime reports of its launches; None adds to `trouble`."""
        device = self.library.current()
        if not str(device).endswith("(gpu)"):
            raise RuntimeError(f"the emulator is no GPU to the dispatcher: {device}")
        gpu = self._run(problem, call, device, self.hip, trouble)
        launches = self._launches()
        self._read += len(launches)
        return gpu, launches

    def origin(self, problem: GemmProblem, call: Call, gpu: Comparison, trouble: list[str]) -> Mapping[str, Any] | None:
        """What wrote the first wrong element, from the same run once more; None for a right result."""
        wrong = gpu.first
        if wrong is None:
            return None
        again = self._run(problem, call, self.library.current(), self.hip, trouble, wrong)
        told = [launch["origin"] for launch in self._launches()]
        self._read += len(told)
        first = again.first if again is not None else None
        if first is None or (first.batch, first.row, first.column) != (wrong.batch, wrong.row, wrong.column):
            trouble.append("not traced: the run went differently when it was repeated")
            return None
        return last_origin(told)

    def _run(
        self, problem: GemmProblem, call: Call, device: Device, hip: Hip | None, trouble: list[str],
        watched: Wrong | None = None,
    ) -> Comparison | None:  # fmt: skip
        asked = call.asked(self.library)
        refusals: list[str] = []
        for order in scale_orders(self.signature.quant):
            buffers = Buffers(hip)
            try:
                plan = self.dispatcher.plan(asked, device, self.work.instance, problem.k_batch)
                args = call.arguments(buffers, order)
                if hip is not None and watched is not None:
                    hip.watch(*buffers.place_of(*call.element(watched)))
                try:
                    self.dispatcher.run(plan, args)
                    if hip is not None:
                        hip.synchronize()
                except (RuntimeFailure, HipError):
                    if hip is None or not self._has_findings():
                        raise
                    with suppress(HipError):  # a stream keeps its failure for who waits
                        hip.synchronize()
                buffers.fetch()
                return call.compared()
            except (RuntimeFailure, HipError) as failure:
                refusals.append(str(failure))
                if not isinstance(failure, RuntimeFailure) or failure.code != _UNSUPPORTED:
                    break
            finally:
                if hip is not None and watched is not None:
                    hip.watch(0, 0)
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


def answer_all(file: Path) -> None:
    """Works off a file of Job."""
    work = Job.from_json(json.loads(file.read_text(encoding="utf-8")))
    session = Session(work)
    with Path(work.answers).open("w", encoding="ascii") as answers:
        for problem in work.problems:
            answer = session.answer(problem)
            answers.write(json.dumps(answer.to_json()) + "\n")
            answers.flush()


if __name__ == "__main__":
    raise SystemExit(work_apart(answer_all))
