"""The process in which the dispatcher runs (apart.py). The environment chooses the device (hip_shim/settings.hpp)."""

from __future__ import annotations

import json
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from ckgen.families.fmha.append_problem import goes_back
from ckgen.families.fmha.signature import parse_canonical
from ckgen.runtime import Options, RuntimeFailure, RuntimeLibrary
from ckgen.runtime.fmha import FmhaArgsStruct, FmhaStridesStruct
from ckgen_emulator.apart import work_apart
from ckgen_emulator.fmha.append import AppendProblem, append_data
from ckgen_emulator.fmha.backward import backward_data
from ckgen_emulator.fmha.dispatched import ANSWERS, WORK, Work
from ckgen_emulator.fmha.problem import fmha_data
from ckgen_emulator.gemm.kernel import DEVICE_LIBRARY, LIBRARY
from ckgen_emulator.gemm.memory import Buffers, Hip, HipError
from ckgen_emulator.production.model import compare


def run(work: Work) -> list[dict[str, Any]]:
    """For each problem the instance that the dispatcher chose, how many elements of each array are wrong, how many
    launches there were up to its end, and a hash of the results' bytes.

    A launch of which something was found fails, and has results all the same. Else RuntimeFailure and HipError.
    """
    library = RuntimeLibrary(Path(work.dispatcher), everywhere=True)
    library.add(Path(work.kernel))
    dispatcher = library.dispatcher([LIBRARY], Options(), [DEVICE_LIBRARY])
    device = library.current()
    signature, hip = parse_canonical(work.signature), Hip(work.hip)
    found = []
    for problem in work.problems:
        if isinstance(problem, AppendProblem):
            shape, args, inputs, outputs = append_data(signature, problem)
        elif goes_back(signature.traits):
            shape, args, inputs, outputs = backward_data(signature, problem, work.cut)
        else:
            data = fmha_data(signature, problem)
            shape, args, inputs, outputs = data.shape, data.args, data.inputs, data.outputs
        buffers = Buffers(hip)
        places = {id(one): buffers.give(one) for one in inputs}
        for output in outputs:
            places[id(output.actual)] = buffers.result(output.actual)
            if output.held is not None:
                hip.upload(buffers.results[-1][1], output.held)
        asked = library.fmha_problem(work.signature, shape, deterministic=work.deterministic)
        chosen = dispatcher.select(asked, device).instance
        plan = dispatcher.plan(asked, device)
        try:
            dispatcher.run(plan, FmhaArgsStruct(**{name: _field(value, places) for name, value in args.items()}))
            hip.synchronize()
        except (RuntimeFailure, HipError):
            if not _has_findings(work):
                raise
            with suppress(HipError):  # a stream keeps its failure for who waits
                hip.synchronize()
        buffers.fetch()
        wrong = {one.name: compare(one).wrong for one in outputs}
        bits = sha256(b"".join(one.actual.tobytes() for one in outputs)).hexdigest()
        found.append({"instance": chosen, "wrong": wrong, "launches": len(_launches(work)), "bits": bits})
    return found


def _launches(work: Work) -> list[str]:
    return Path(work.report).read_text(encoding="ascii").splitlines()


def _has_findings(work: Work) -> bool:
    return any('"findings":[{' in line.replace(" ", "") for line in _launches(work))


def _field(value: Any, places: dict[int, int | None]) -> Any:
    if isinstance(value, np.ndarray):
        return places[id(value)]
    return FmhaStridesStruct(*value) if isinstance(value, tuple) else value


def answer(folder: Path) -> None:
    """Runs the folder's Work, and writes the instance and what is wrong in each problem beside it."""
    work = Work.from_json(json.loads((folder / WORK).read_text(encoding="utf-8")))
    (folder / ANSWERS).write_text(json.dumps(run(work)), encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(work_apart(answer))
