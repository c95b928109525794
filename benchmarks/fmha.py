"""Forward attention on this CPU: what `select` takes against PyTorch's scaled_dot_product_attention, its best backend.

torch has no way to write O into memory that is there: each call allocates it. malloc keeps what is freed, so no page of
it is new; the row `allocation` is what it takes.
"""

from __future__ import annotations

from collections.abc import Iterator

from fmha_operands import HEADS, Operands, chosen_of, self_attention
from ours import Ours
from support import Row, Run, main

from ckgen.measure.peers import torch_cpu as peers
from ckgen.measure.timing import Body

CASES = self_attention("", (512, 2048, 4096))


def rows(run: Run) -> Iterator[Row]:
    """A row for each type, head dim, mask and length."""
    chosen = chosen_of(run, CASES)
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
        like = peers.torch().empty(1, HEADS, 4096, 128)
        body = Body((lambda: peers.torch().empty_like(like),))
        yield run.measure("allocation", "torch allocates O", f"fp32, 1 × {HEADS} × 4096 × 128", body, {}, unit="µs")


if __name__ == "__main__":
    main(rows, __doc__)
