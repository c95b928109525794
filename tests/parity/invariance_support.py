"""Runs of a problem by the dispatcher's own choice, or by a named instance."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from parity_support import Parity

from ckgen.families.gemm.reference import Operands
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.tuned_row import Shape
from ckgen.quickstart.verify import Buffers
from ckgen.runtime import Device


def runner(
    parity: Parity, device: Device, signature: GemmSignature, *, invariant: bool, instance: str | None = None,
    k_batch: int = 1,
) -> Callable[[Operands, int], np.ndarray]:  # fmt: skip
    def run(operands: Operands, m: int) -> np.ndarray:
        n, k = operands.b.shape[-1], operands.a.shape[-1]
        shape = Shape(operands.a.shape[0] if signature.batched else 0, m, n, k)
        buffers = Buffers.of(operands, shape)
        asked = parity.library.problem(
            signature.canonical(), m, n, k, batch=max(shape.batch, 1), batch_invariant=invariant
        )
        parity.dispatcher.run(parity.dispatcher.plan(asked, device, instance, k_batch), buffers.args)
        return buffers.c.reshape(-1, m, n)

    return run
