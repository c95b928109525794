"""A gated bf16 MoE layer on this CPU: what `select` takes against PyTorch's ways to write one, the best of them.

The loop takes each expert's tokens, multiplies with its weights and adds what comes out; also with weights packed
ahead. `grouped_mm` sorts the tokens by expert and multiplies all of them at once; also compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from ours import Ours, address, numbers
from support import Row, Run, main

from ckgen.measure.model import Effort
from ckgen.measure.peers import torch_cpu as peers
from ckgen.measure.peers.offer import Offer
from ckgen.measure.timing import Body
from ckgen.model.dtype import DType
from ckgen.model.groups import Routing
from ckgen.runtime.moe import MoeArgsStruct

SIGNATURE = "moe_bf16_rcr_layer_gated_epi_silu"
ROUTING, MODEL, INTER = Routing(32, 4), 2048, 768
TOKENS = (8, 64, 128)
_EFFORT = Effort(seconds=8.0)


def _packed_linear(product: Callable[..., Any], weight: Any, x: Any) -> Any:
    return product(x, weight, None, "none", [], "")


class Layer:
    """Weights of all experts, gate rows of W1 first, and tokens with their routing; no expert twice for a token."""

    def __init__(self, tokens: int) -> None:
        source, experts = np.random.default_rng(1), ROUTING.experts
        self.tokens = tokens
        self.w1, self.w2 = numbers(DType.BF16, experts, 2 * INTER, MODEL), numbers(DType.BF16, experts, MODEL, INTER)
        self.w1, self.w2 = (w * w.dtype.type(w.shape[-1] ** -0.5) for w in (self.w1, self.w2))
        self.a, self.c = numbers(DType.BF16, tokens, MODEL), numbers(DType.BF16, tokens, MODEL).copy()
        self.ids = source.permuted(np.tile(np.arange(experts, dtype=np.int32), (tokens, 1)), axis=1)[:, : ROUTING.top_k]
        self.ids = np.ascontiguousarray(self.ids)
        self.weights = source.dirichlet(np.ones(ROUTING.top_k), tokens).astype(np.float32)

    def args(self) -> MoeArgsStruct:
        """What ckgen reads and writes."""
        at = {name: address(getattr(self, name)) for name in ("a", "w1", "w2", "c")}
        routed = {"topk_ids": address(self.ids), "topk_weights": address(self.weights)}
        return MoeArgsStruct(tokens=self.tokens, lda=MODEL, ldc=MODEL, a_scale_row_major=1, **at, **routed)

    def tensors(self) -> tuple[Any, Any, Any, Any, Any]:
        """A, W1, W2, ids and weights as torch has them."""
        ids, weights = peers.torch().from_numpy(self.ids).long(), peers.torch().from_numpy(self.weights)
        return peers.tensor(self.a), peers.tensor(self.w1), peers.tensor(self.w2), ids, weights

    def loop(self, linears: tuple[list[Callable[[Any], Any]], list[Callable[[Any], Any]]]) -> Callable[[], Any]:
        """Expert by expert, as models in PyTorch do."""
        torch, (a, _, _, ids, weights) = peers.torch(), self.tensors()
        silu = torch.nn.functional.silu

        def call() -> Any:
            out = torch.zeros_like(a)
            for expert in ids.unique().tolist():
                token, slot = torch.where(ids == expert)
                gate, up = linears[0][expert](a[token]).chunk(2, dim=-1)
                found = linears[1][expert](silu(gate) * up)
                out.index_add_(0, token, (found * weights[token, slot, None]).bfloat16())
            return out

        return call

    def plain(self) -> Callable[[], Any]:
        """The loop with weights as they are."""
        linear, (_, w1, w2, _, _) = peers.torch().nn.functional.linear, self.tensors()
        return self.loop(([partial(linear, weight=w) for w in w1], [partial(linear, weight=w) for w in w2]))

    def packed(self) -> Callable[[], Any]:
        """The loop with weights packed for as many rows as an expert has in the mean."""
        ops, (_, w1, w2, _, _) = peers.torch().ops.mkldnn, self.tensors()
        mean = max(1, self.tokens * ROUTING.top_k // ROUTING.experts)

        def linears(weights: Any) -> list[Callable[[Any], Any]]:
            made = [ops._reorder_linear_weight(w, mean) for w in weights]
            return [partial(_packed_linear, ops._linear_pointwise, w) for w in made]

        return self.loop((linears(w1), linears(w2)))

    def grouped(self, *, compiled: bool = False) -> Callable[[], Any]:
        """Tokens sorted by expert, and a grouped product for each of both weights."""
        torch, (a, w1, w2, ids, weights) = peers.torch(), self.tensors()
        functional, experts, top_k = torch.nn.functional, ROUTING.experts, ROUTING.top_k

        def layer(a: Any, w1: Any, w2: Any, ids: Any, weights: Any) -> Any:
            order = ids.flatten().argsort()
            token = order // top_k
            ends = torch.bincount(ids.flatten(), minlength=experts).cumsum(0).int()
            gate, up = functional.grouped_mm(a[token], w1.transpose(1, 2), offs=ends).chunk(2, dim=-1)
            found = functional.grouped_mm(functional.silu(gate) * up, w2.transpose(1, 2), offs=ends)
            scaled = (found * weights.flatten()[order, None]).bfloat16()
            return torch.zeros_like(a).index_add_(0, token, scaled)

        ready = torch.compile(layer, dynamic=False) if compiled else layer
        return lambda: ready(a, w1, w2, ids, weights)

    def ways(self, *, quick: bool) -> dict[str, Offer]:
        """Every way of torch; compiling takes seconds, and is left out of a quick run."""
        found = peers.offered("torch loop", self.plain) | peers.offered("torch loop, weights packed", self.packed)
        found |= peers.offered("torch grouped_mm", self.grouped)
        compiled = "torch.compile of grouped_mm"
        if quick:
            return found | {compiled: "not compiled in a quick run"}
        return found | peers.offered(compiled, lambda: self.grouped(compiled=True))

    def check(self) -> None:
        """RuntimeError where the layer is not what a way of torch computes."""
        if peers.torch() is None:
            return
        for way in (self.plain, self.grouped):
            if not peers.differ(self.c, way()()) < 0.02:
                raise RuntimeError(f"{self.tokens} tokens: the results differ from those of {way.__name__}")


def rows(run: Run) -> Iterator[Row]:
    """A row for each number of tokens."""
    chosen = {f"tokens{tokens}": tokens for tokens in TOKENS if run.wants(f"tokens{tokens}")}
    if not chosen:
        return
    ours = Ours(run, (SIGNATURE,), ("moe",))
    for name, tokens in chosen.items():
        layer = Layer(tokens)
        problem = ours.library.problem(SIGNATURE, tokens, INTER, MODEL, routing=ROUTING)
        selected = ours.ready(problem, layer.args())
        selected.call()
        layer.check()
        shape = f"{tokens} tokens, {ROUTING.experts} experts, top {ROUTING.top_k}, {MODEL} × {INTER}"
        ways = layer.ways(quick=run.quick)
        body = Body((selected.call,))
        yield run.measure(name, f"layer, {SIGNATURE}", shape, body, ways, kernel=selected.kernel, effort=_EFFORT)


if __name__ == "__main__":
    main(rows, __doc__)
