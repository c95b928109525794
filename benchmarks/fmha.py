"""Forward attention on this CPU: what `select` takes against PyTorch's scaled_dot_product_attention, its best backend.

torch has no way to write O into memory that is there: each call allocates it. malloc keeps what is freed, so no page of
it is new; the row `allocation` is what it takes.
"""

from __future__ import annotations

from collections.abc import Iterator

from fmha_operands import Attention, Operands
from ours import Ours
from support import Row, Run, main

from ckgen.measure.peers import torch_cpu as peers
from ckgen.measure.timing import Body

_HEADS = 8
_QUICK_LENGTH = 512
CASES = {
    f"{dtype}-d{hdim}-{mask}-s{length}": Attention(
        f"fmha_{dtype}{'_masked' if mask == 'causal' else ''}", 1, length, _HEADS, 1, length, hdim
    )
    for dtype in ("fp32", "bf16")
    for hdim in (64, 128)
    for mask in ("full", "causal")
    for length in (512, 2048, 4096)
}


def rows(run: Run) -> Iterator[Row]:
    """A row for each type, head dim, mask and length."""
    chosen = {name: one for name, one in CASES.items() if run.wants(name)}
    if run.quick:
        chosen = {name: one for name, one in chosen.items() if one.keys <= _QUICK_LENGTH}
    if chosen:
        ours = Ours(run, (attention.signature for attention in chosen.values()), ("fmha",))
    for name, attention in chosen.items():
        operands = Operands(attention)
        selected = operands.ours(ours)
        selected.call()
        operands.check()
        title, body = f"forward, {attention.signature}", Body((selected.call,))
        yield run.measure(name, title, attention.text, body, operands.peers(), kernel=selected.kernel)
    if peers.torch() is not None and run.wants("allocation"):
        like = peers.torch().empty(1, _HEADS, 4096, 128)
        body = Body((lambda: peers.torch().empty_like(like),))
        yield run.measure("allocation", "torch allocates O", f"fp32, 1 × {_HEADS} × 4096 × 128", body, {}, unit="µs")


if __name__ == "__main__":
    main(rows, __doc__)
