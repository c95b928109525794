"""Few rows on this CPU with weights packed once: against the same weights as they lie, and against reading them.

Weights are beyond the last-level cache and read from memory in every call. `-rows1-read` is held against a loop on the
same threads that only reads the packed bytes. Where torch is installed, its prepacked linear is among the peers.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from functools import partial

from gemm_operands import Operands, Product
from ours import Ours, address, own_library
from support import Row, Run, main

from ckgen.measure.timing import Body

_N, _K = 16384, 7168
_MIB = 1 << 20
SIGNATURES = {"fp32": "gemm_fp32_rcr", "bf16": "gemm_bf16_rcr", "int8": "gemm_int8_int32_rcr"}
ROWS = (1, 4, 8, 16)


def compared(run: Run) -> Iterator[Row]:
    """A row for each type and number of rows, and one against reading for each type at one row."""
    cases = {f"{name}-rows{m}": (text, m) for name, text in SIGNATURES.items() for m in ROWS}
    chosen = {name: case for name, case in cases.items() if run.wants(name) or run.wants(f"{name}-read")}
    if not chosen:
        return
    ours = Ours(run, (text for text, _ in chosen.values()), ("gemm",))
    library = own_library(run.folder, "read")
    for name, (text, m) in chosen.items():
        operands = Operands(Product(text, (1, m, _N, _K)))
        selected, body = operands.ours(ours, packed=True)
        selected.call()
        operands.check()
        shape = operands.product.shape
        if run.wants(name):
            plain = {"plain B": operands.ours(ours)[1]}
            peers = plain | operands.peers()
            yield run.measure(name, f"prepacked product, {text}", shape, body, peers, kernel=selected.kernel)
        if m == 1 and run.wants(f"{name}-read"):
            packed = operands.packed(ours)
            whole = packed.nbytes // _MIB * _MIB
            at, count = ctypes.c_void_p(address(packed)), ctypes.c_int64(whole)
            reader = {"a loop that only reads": Body((partial(library.bench_read, at, count),))}
            title = f"prepacked product against reading, {text}"
            size = f"{shape}, {whole / 1e6:.0f} MB"
            yield run.measure(f"{name}-read", title, size, body, reader, kernel=selected.kernel)


if __name__ == "__main__":
    main(compared, __doc__)
