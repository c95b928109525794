"""What empties a GPU's cache: a product of few rows, of the library itself, that reads a large B and writes little.

Memory that is written to empty a cache stays there until it is written back, while the next kernel runs.
"""

from __future__ import annotations

from collections.abc import Callable

from ckgen.families.gemm.enums import Layout, OperandOp, Quant
from ckgen.families.gemm.signature import GemmSignature
from ckgen.fuzz.space import Space
from ckgen.measure.device_memory import DeviceMemory
from ckgen.model.op_words import Op
from ckgen.model.tuned_row import Shape
from ckgen.runtime import Device, Dispatcher, RuntimeLibrary
from ckgen.runtime.packed import packed_args

_ROWS, _COLUMNS, _STEP = 16, 8192, 128
_TIMES = 4
"""So many times as large as the cache is what is read."""


def sweep_of(
    library: RuntimeLibrary, dispatcher: Dispatcher, device: Device, space: Space, memory: DeviceMemory
) -> Callable[[], object] | None:
    """None where the library has no plain GEMM of 16-bit types that runs on the device."""
    signature = next((unit.signature for unit in space.units if _is_plain(unit.signature)), None)
    if signature is None:
        return None
    size = signature.b.bits // 8
    shape = Shape(0, _ROWS, _COLUMNS, -(-_TIMES * memory.cache // (size * _COLUMNS * _STEP)) * _STEP)
    plan = dispatcher.plan(library.problem(signature.canonical(), shape.m, shape.n, shape.k), device)
    if plan.refusal:
        return None
    buffers = [memory.gpu.buffer(size * count) for count in (shape.m * shape.k, shape.n * shape.k, shape.m * shape.n)]
    workspace = memory.gpu.buffer(plan.workspace_size)
    a, b, c = (one.address for one in buffers)
    args = packed_args(signature.layout, shape, a=a, b=b, c=c)
    launch = dispatcher.launcher(plan, args, workspace.address, memory.stream)

    def sweep(kept: object = (buffers, workspace)) -> None:
        launch()

    return sweep


def _is_plain(signature: GemmSignature) -> bool:
    is_dense = signature.op is Op.GEMM and not signature.batched and signature.layout is Layout.RCR
    is_bare = not signature.bias and not signature.epilogue and not signature.preshuffle_b
    are_read = signature.a_op is signature.b_op is OperandOp.NONE and signature.quant is Quant.NONE
    return is_dense and is_bare and are_read and signature.a is signature.b and signature.a.bits == 16
