"""The process in which the dispatcher appends: `python -m ckgen_emulator.fmha.append_worker WORK.json`.

The environment chooses the device (hip_shim/settings.hpp). Prints the instance and what is wrong.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ckgen.families.fmha.signature import parse_canonical
from ckgen.runtime import Options, RuntimeFailure, RuntimeLibrary
from ckgen.runtime.fmha import FmhaArgsStruct, FmhaStridesStruct
from ckgen_emulator.fmha.append import append_data
from ckgen_emulator.fmha.dispatched import AppendWork
from ckgen_emulator.gemm.kernel import DEVICE_LIBRARY, LIBRARY
from ckgen_emulator.gemm.memory import Buffers, Hip, HipError
from ckgen_emulator.production.model import compare


def run(work: AppendWork) -> dict[str, Any]:
    """The instance that the dispatcher chose, and how many elements of each array are wrong.

    A launch of which something was found fails, and has results all the same. Else RuntimeFailure and HipError.
    """
    library = RuntimeLibrary(Path(work.dispatcher), everywhere=True)
    library.add(Path(work.kernel))
    dispatcher = library.dispatcher([LIBRARY], Options(), [DEVICE_LIBRARY])
    device = library.current()
    shape, args, inputs, outputs = append_data(parse_canonical(work.signature), work.problem)
    hip = Hip(work.hip)
    buffers = Buffers(hip)
    places = {id(one): buffers.give(one) for one in inputs}
    for output in outputs:
        places[id(output.actual)] = buffers.result(output.actual)
        if output.held is not None:
            hip.upload(buffers.results[-1][1], output.held)
    problem = library.fmha_problem(work.signature, shape)
    chosen = dispatcher.select(problem, device).instance
    plan = dispatcher.plan(problem, device)
    try:
        dispatcher.run(plan, FmhaArgsStruct(**{name: _field(value, places) for name, value in args.items()}))
        hip.synchronize()
    except (RuntimeFailure, HipError):
        if '"findings":[{' not in Path(work.report).read_text(encoding="ascii").replace(" ", ""):
            raise
        with suppress(HipError):  # a stream keeps its failure for who waits
            hip.synchronize()
    buffers.fetch()
    return {"instance": chosen, "wrong": {one.name: compare(one).wrong for one in outputs}}


def _field(value: Any, places: dict[int, int | None]) -> Any:
    if isinstance(value, np.ndarray):
        return places[id(value)]
    return FmhaStridesStruct(*value) if isinstance(value, tuple) else value


def main(arguments: list[str]) -> int:
    """Runs a file of AppendWork."""
    work = AppendWork.from_json(json.loads(Path(arguments[0]).read_text(encoding="utf-8")))
    print(json.dumps(run(work)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
