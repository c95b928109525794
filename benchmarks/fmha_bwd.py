"""Attention's backward on this CPU: what `select` takes against the backward of PyTorch's flash attention.

Both are given O and lse, and compute dQ, dK and dV. torch has no way to write them into memory that is there; malloc
keeps what is freed, so no page of them is new. The two take turns, and results are compared before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from fmha_operands import Attention, chosen_of, self_attention
from ours import Ours, Selected, address, numbers
from support import Row, Run, main

from ckgen.families.common.storage import encode
from ckgen.measure.peers import torch_cpu as peers
from ckgen.measure.timing import Body
from ckgen.model.dtype import DType
from ckgen.runtime.fmha import FmhaArgsStruct, FmhaStridesStruct

_PEER = "torch sdpa flash, backward"
CASES = self_attention("_bwd", (512, 2048, 8192))


class Operands:
    """Memory of a problem, all [batch, head, row, D]; O and lse are torch's where it is there, else of their size."""

    def __init__(self, attention: Attention) -> None:
        x, dtype = attention, attention.parsed.a
        sizes = (x.batch, x.heads_k, x.keys, x.hdim)
        self.attention, self.scale = x, x.hdim**-0.5
        self.q, self.k, self.v, self.dout = (numbers(dtype, *sizes).copy() for _ in range(4))
        random = np.random.default_rng(1)
        for array in (self.q, self.k, self.v, self.dout):
            array[...] = encode(random.standard_normal(sizes), dtype)
        self.o, self.lse = numbers(dtype, *sizes).copy(), np.full(sizes[:3], np.log(x.keys), np.float32)
        self.dq, self.dk, self.dv = (np.zeros_like(self.q) for _ in range(3))
        if peers.torch() is not None:
            o, lse = self._forward(*(peers.tensor(one) for one in (self.q, self.k, self.v)))
            peers.tensor(self.o).copy_(o)
            peers.tensor(self.lse).copy_(lse)

    def ours(self, ours: Ours) -> Selected:
        """What is selected."""
        x = self.attention
        strides = FmhaStridesStruct(x.hdim, x.keys * x.hdim, x.heads_k * x.keys * x.hdim)
        names = ("q", "k", "v", "o", "dout", "dq", "dk", "dv")
        args = FmhaArgsStruct(
            **{name: address(getattr(self, name)) for name in names},
            **{f"{name}_strides": strides for name in names},
            lse=address(self.lse), lse_head_stride=x.keys, lse_batch_stride=x.heads_k * x.keys, scale=self.scale,
        )  # fmt: skip
        return ours.ready(ours.library.fmha_problem(x.signature, x.shape), args)

    def _forward(self, q: Any, k: Any, v: Any) -> tuple[Any, Any]:
        flash = peers.torch().ops.aten._scaled_dot_product_flash_attention_for_cpu
        o, lse = flash(q, k, v, 0.0, self.attention.parsed.traits.masked, scale=self.scale)
        return o, lse

    def _backward(self, *given: Any) -> Any:
        flash = peers.torch().ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
        return flash(*given, 0.0, self.attention.parsed.traits.masked, scale=self.scale)

    def theirs(self) -> Callable[[], Any]:
        """torch's dQ, dK and dV."""
        given = [peers.tensor(one) for one in (self.dout, self.q, self.k, self.v, self.o, self.lse)]
        return lambda: self._backward(*given)

    def check(self) -> None:
        """RuntimeError where a gradient is not what torch computes of the same numbers in fp32.

        In bf16 torch adds dK and dV up in bf16: of 8,192 keys it is itself 0.03 of the largest away from that.
        """
        if peers.torch() is None:
            return
        dout, *qkv = (peers.tensor(one).float() for one in (self.dout, self.q, self.k, self.v))
        wanted_of_all = self._backward(dout, *qkv, *self._forward(*qkv))
        for name, wanted in zip(("dq", "dk", "dv"), wanted_of_all, strict=True):
            ours = peers.tensor(getattr(self, name)).float()
            worst = float((ours - wanted).abs().max() / wanted.abs().max())
            if not worst < (1e-4 if self.attention.parsed.a is DType.FP32 else 1e-2):
                raise RuntimeError(f"{self.attention}: {name} differs by {worst:.4f} of the largest")


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
        title = f"backward, {attention.signature}"
        theirs = peers.offered(_PEER, operands.theirs)
        yield run.measure(name, title, attention.text, Body((selected.call,)), theirs, kernel=selected.kernel)


if __name__ == "__main__":
    main(rows, __doc__)
