"""Runs of one GEMM on the emulator over data whose sums round: `order_worker.py REQUEST.json`, JSON on stdout.

The request is a Job, and beside it `places`: of each problem where row 0 stands among others. The answer is the bytes
of that row of C, in hex, of each problem.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from ckgen.families.gemm.reference import of_rows
from ckgen_emulator.gemm.call import GemmCall, scale_orders
from ckgen_emulator.gemm.job import Job
from ckgen_emulator.gemm.memory import Buffers
from ckgen_emulator.gemm.worker import Session
from rounding_data import rounding_operands


def main(asked: dict[str, Any]) -> None:
    """Works off the problems."""
    session = Session(Job.from_json(asked["job"]))
    found = []
    for problem, place in zip(session.work.problems, asked["places"], strict=True):
        shape = problem.shape
        rows = np.insert(1 + (np.arange(shape.m - 1) * 7) % 31, place, 0)
        most = type(shape)(shape.batch, 32, shape.n, shape.k)
        operands = of_rows(rounding_operands(session.signature, most), rows)
        call = GemmCall(problem, operands, expected=None)  # type: ignore[arg-type]
        problem_asked = call.asked(session.library)
        problem_asked.batch_invariant = int(problem.k_batch <= 2)
        device, buffers = session.library.current(), Buffers(session.hip)
        plan = session.dispatcher.plan(problem_asked, device, session.work.instance, problem.k_batch)
        args = call.arguments(buffers, scale_orders(session.signature.quant)[0])
        session.dispatcher.run(plan, args)
        session.hip.synchronize()
        buffers.fetch()
        buffers.free()
        found.append(np.ascontiguousarray(call.c[:, place]).tobytes().hex())
    print(json.dumps(found))


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
