"""Attention over a KV cache beyond the last-level cache, on this CPU: what `select` takes against torch and reading.

Decode has one query per sequence, prefill 512 causal ones. torch's attention takes no pages: beside ours in pages it
has the same KV contiguous. Rows that end in `-read` are held against a loop on the same threads that only reads K and
V, pages in their order.
"""

from __future__ import annotations

from collections.abc import Iterator

from fmha_operands import Attention, Operands, reader
from ours import Ours, own_library
from support import Row, Run, main

from ckgen.measure.timing import Body

_FP8 = "fmha_bf16_fp8_ocp_bf16_masked_pertensor_blocktable"


def _decode(layout: str, group: int) -> Attention:
    signature = "fmha_bf16_blocktable" if layout.startswith("page") else "fmha_bf16"
    return Attention(signature, 2, 1, 8, group, 32768, 128, layout)


DECODE = {
    f"bf16-group{group}-{layout}": _decode(layout, group)
    for group in (8, 1)
    for layout in ("heads", "rows", "page128", "page16", "page1")
}
DECODE |= {f"fp8-group{group}-page16": Attention(_FP8, 2, 1, 8, group, 65536, 128, "page16") for group in (8, 1)}
DECODE |= {"fp32-group8-heads": Attention("fmha_fp32", 2, 1, 8, 8, 16384, 128, "heads")}
PREFILL = {
    f"prefill-{layout}": Attention(
        f"fmha_bf16_masked{'_blocktable' if layout.startswith('page') else ''}", 1, 512, 2, 4, 4096, 128, layout
    )
    for layout in ("rows", "page16")
}


def rows(run: Run) -> Iterator[Row]:
    """A row for each layout, and one against reading for each of decode."""
    cases = DECODE | PREFILL
    chosen = {name: one for name, one in cases.items() if run.wants(name) or run.wants(f"{name}-read")}
    if not chosen:
        return
    ours = Ours(run, (attention.signature for attention in chosen.values()), ("fmha",))
    library = own_library(run.folder, "read")
    for name, attention in chosen.items():
        operands = Operands(attention)
        selected = operands.ours(ours)
        selected.call()
        operands.check()
        body, kernel, text = Body((selected.call,)), selected.kernel, attention.text
        if run.wants(name):
            title = f"{'decode' if name in DECODE else 'prefill'}, {attention.signature}"
            yield run.measure(name, title, text, body, operands.peers(), kernel=kernel)
        if name in DECODE and run.wants(f"{name}-read"):
            title = f"decode against reading, {attention.signature}"
            loop = {"a loop that only reads": reader(library, operands)}
            text = f"{text}, {operands.read / 1e6:.0f} MB"
            yield run.measure(f"{name}-read", title, text, body, loop, kernel=kernel)


if __name__ == "__main__":
    main(rows, __doc__)
