"""Products of few rows on this CPU, with weights beyond the last-level cache: what `select` takes against torch.

Weights of each precision are read from memory in every call. Rows that end in `-read` are held against a loop on the
same threads that only reads the weights and their scales.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

from gemm_operands import Operands, Product
from ours import Ours, address, own_library
from support import Row, Run, main

from ckgen.measure.timing import Body

_N, _K = 16384, 7168
_MIB = 1 << 20
SIGNATURES = {
    "bf16": "gemm_bf16_rcr",
    "int8-rowwise": "gemm_int8_bf16_rcr_rowwise",
    "fp8-rowwise": "gemm_fp8_ocp_bf16_rcr_rowwise",
    "fp8-blockscale": "gemm_fp8_ocp_bf16_rcr_blockscale",
    "mxfp8": "gemm_fp8_ocp_bf16_rcr_mx",
    "mxfp4": "gemm_fp4_bf16_rcr_mx",
}
ROWS = (1, 4)


def rows(run: Run) -> Iterator[Row]:
    """A row for each type and number of rows, and one against reading for each type at one row."""
    cases = {f"{name}-rows{m}": (text, m) for name, text in SIGNATURES.items() for m in ROWS}
    chosen = {name: case for name, case in cases.items() if run.wants(name) or run.wants(f"{name}-read")}
    if not chosen:
        return
    ours = Ours(run, (text for text, _ in chosen.values()), ("gemm",))
    library = own_library(run.folder, "read")
    for name, (text, m) in chosen.items():
        operands = Operands(Product(text, (1, m, _N, _K)))
        selected, body = operands.ours(ours)
        selected.call()
        operands.check()
        if run.wants(name):
            product, kernel = operands.product, selected.kernel
            yield run.measure(name, f"product, {text}", product.shape, body, operands.peers(), kernel=kernel)
        if m == 1 and run.wants(f"{name}-read"):
            yield _reading(run, library, f"{name}-read", operands, body, selected.kernel)


def _reading(run: Run, library: ctypes.CDLL, name: str, operands: Operands, ours: Body, kernel: str) -> Row:
    whole = -(-operands.read // _MIB) * _MIB
    weights = operands.b if whole <= operands.b.nbytes else operands.b.repeat(2)[: whole // operands.b.itemsize]
    at, count = ctypes.c_void_p(address(weights)), ctypes.c_int64(whole)
    reader = {"a loop that only reads": Body((lambda: library.bench_read(at, count),))}
    title = f"product against reading, {operands.product.signature}"
    shape = f"{operands.product.shape}, {operands.read / 1e6:.0f} MB"
    return run.measure(name, title, shape, ours, reader, kernel=kernel)


if __name__ == "__main__":
    main(rows, __doc__)
