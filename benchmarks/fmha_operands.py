"""One call of attention of the dispatcher's choice over memory of its own, and torch's ways to do the same."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from ours import Ours, Selected, address, numbers
from support import Run

from ckgen.families.fmha.enums import FmhaQuant
from ckgen.families.fmha.signature import FmhaSignature, parse_canonical
from ckgen.measure.peers import torch_cpu as peers
from ckgen.measure.peers.offer import Offer
from ckgen.measure.timing import Body
from ckgen.model.dtype import DType
from ckgen.model.fmha_shape import FmhaShape
from ckgen.runtime.fmha import FmhaArgsStruct, FmhaStridesStruct
from ckgen.runtime.fmha_split import FmhaSplitPlan, FmhaSplitProblem

HEADS = 8
_QUICK_LENGTH = 512
_MATH_LENGTH = 1024
"""Keys beyond which torch's composite backend, which has all scores at once, is far behind."""


@dataclass(frozen=True)
class Attention:
    """A problem. layout of K and V: `heads` [batch, head, key, D], `rows` [batch, key, head, D], or `page<N>`: pages of
    N keys in no order, each [key, head, D]. Q and O are [batch, query, head, D], of `heads` [batch, head, query, D]."""

    signature: str
    batch: int
    queries: int
    heads_k: int
    group: int
    keys: int
    hdim: int
    layout: str = "heads"

    @property
    def parsed(self) -> FmhaSignature:
        """The signature's fields."""
        return parse_canonical(self.signature)

    @property
    def page_size(self) -> int:
        """0 of contiguous KV."""
        return int(self.layout.removeprefix("page")) if self.layout.startswith("page") else 0

    @property
    def pages(self) -> int:
        """Of all sequences."""
        return self.batch * self.keys // self.page_size if self.page_size else 0

    @property
    def shape(self) -> FmhaShape:
        """As ckgen is asked."""
        heads = (self.group * self.heads_k, self.heads_k)
        found = FmhaShape(self.batch, *heads, self.queries, self.keys, self.hdim, self.hdim)
        return replace(found, page_size=self.page_size, pages=self.pages)

    @property
    def text(self) -> str:
        """For people."""
        heads = f"{self.group * self.heads_k} heads over {self.heads_k}" if self.group > 1 else f"{self.heads_k} heads"
        kv = f"pages of {self.page_size}" if self.page_size else self.layout
        return f"batch {self.batch}, {heads}, {self.queries} × {self.keys}, D = {self.hdim}, {kv}"


def self_attention(word: str, lengths: Iterable[int]) -> dict[str, Attention]:
    """Problems of both types, head dims and masks; `word` stands in their signatures behind the type."""
    return {
        f"{dtype}-d{hdim}-{mask}-s{length}": Attention(
            f"fmha_{dtype}{word}{'_masked' if mask == 'causal' else ''}", 1, length, HEADS, 1, length, hdim
        )
        for dtype in ("fp32", "bf16")
        for hdim in (64, 128)
        for mask in ("full", "causal")
        for length in lengths
    }


def chosen_of(run: Run, cases: Mapping[str, Attention]) -> dict[str, Attention]:
    """Those that the run is of; the short ones of a quick run."""
    return {
        name: one for name, one in cases.items() if run.wants(name) and (not run.quick or one.keys <= _QUICK_LENGTH)
    }


@dataclass(frozen=True)
class _Way:
    """How torch is asked: a backend; heads of a group as rows of their KV head; operands copied ahead, by heads."""

    backend: str
    as_rows: bool = False
    copied: bool = False

    def words(self, *, is_paged: bool) -> list[str]:
        """For people, behind the backend."""
        kv = "KV by heads" if self.copied else "contiguous KV" if is_paged else ""
        return [word for word in ("a group's heads as rows" if self.as_rows else "", kv) if word]


class Operands:
    """Memory of a problem."""

    def __init__(self, attention: Attention) -> None:
        x, signature = attention, attention.parsed
        self.attention = x
        self.q = numbers(signature.a, x.batch, x.queries, x.heads_k * x.group, x.hdim)
        self.k, self.v = (numbers(signature.b, x.batch, x.keys, x.heads_k, x.hdim).copy() for _ in "kv")
        self.o = numbers(signature.c, *self.q.shape).copy()
        self.table = np.random.default_rng(0).permutation(x.pages).astype(np.int32)
        self.lengths = np.full(x.batch, x.keys, np.int32)
        self.ones = np.ones(1, np.float32)

    @property
    def read(self) -> int:
        """Bytes of K and V."""
        return int(self.k.nbytes + self.v.nbytes)

    def ours(self, ours: Ours) -> Selected:
        """What is selected."""
        problem = ours.library.fmha_problem(self.attention.signature, self.attention.shape)
        return ours.ready(problem, self._args())

    def _args(self) -> FmhaArgsStruct:
        x, more = self.attention, {}
        by_heads = x.layout == "heads"
        q = _strides(x.queries, x.group * x.heads_k, x.hdim, by_heads)
        kv = _strides(x.page_size or x.keys, x.heads_k, x.hdim, by_heads)
        if x.page_size:
            more = {"block_table": address(self.table), "block_table_stride": x.pages // x.batch}
            more["seqlen_k"] = address(self.lengths)
        if x.parsed.traits.quant is not FmhaQuant.NONE:
            more |= {f"{name}_descale": address(self.ones) for name in "kv"}
        at = {name: address(getattr(self, name)) for name in "qkvo"}
        return FmhaArgsStruct(**at, q_strides=q, o_strides=q, k_strides=kv, v_strides=kv, scale=x.hdim**-0.5, **more)

    def tensors(self) -> tuple[Any, Any, Any]:
        """Q, K and V as [batch, head, row, D]; those of pages in the order of their memory, in the type of Q."""
        found = []
        for array in (self.q, self.k, self.v):
            one = peers.tensor(array).to(peers.tensor(self.q).dtype)
            batch, rows, heads, hdim = one.shape
            by_heads = self.attention.layout == "heads"
            found.append(one.view(batch, heads, rows, hdim) if by_heads else one.transpose(1, 2))
        return found[0], found[1], found[2]

    def peers(self) -> dict[str, Offer]:
        """scaled_dot_product_attention by each backend; query heads of a KV head also as rows of one, and other layouts
        than by heads also copied ahead into that one, which torch reads fastest.
        """
        x, found = self.attention, dict[str, Offer]()
        scores_are_few = x.queries == x.keys <= _MATH_LENGTH
        backends = {"flash": "FLASH_ATTENTION"} | ({"math": "MATH"} if scores_are_few else {})
        for name, word in backends.items():
            for as_rows in (False, True) if x.group > 1 and x.queries == 1 else (False,):
                for copied in (False, True) if x.layout != "heads" else (False,):
                    way = _Way(word, as_rows, copied)
                    words = [f"torch sdpa, {name}", *way.words(is_paged=x.page_size > 0)]
                    found |= peers.offered(", ".join(words), partial(self._sdpa, way))
        return found

    def _sdpa(self, way: _Way) -> Callable[[], Any]:
        torch, (q, k, v) = peers.torch(), self.tensors()
        attention, more = torch.nn.functional.scaled_dot_product_attention, dict[str, Any]()
        causal = self.attention.parsed.traits.masked and self.attention.queries > 1
        if way.copied:
            q, k, v = (one.contiguous() for one in (q, k, v))
        if way.as_rows:
            q = q.reshape(q.shape[0], self.attention.heads_k, self.attention.group, q.shape[3])
        elif self.attention.group > 1:
            more["enable_gqa"] = True
        if causal and q.shape[2] != k.shape[2]:
            hidden = torch.full((q.shape[2], k.shape[2]), -torch.inf, dtype=q.dtype)
            more["attn_mask"] = hidden.triu(1 + k.shape[2] - q.shape[2])
        elif causal:
            more["is_causal"] = True
        chosen = [getattr(torch.nn.attention.SDPBackend, way.backend)]

        def call() -> Any:
            with torch.nn.attention.sdpa_kernel(chosen):
                return attention(q, k, v, **more)

        return call

    def check(self) -> None:
        """RuntimeError where O, of contiguous KV, is not what torch computes."""
        x = self.attention
        if peers.torch() is None or x.page_size:
            return
        theirs = self._sdpa(_Way("FLASH_ATTENTION"))()
        ours = peers.tensor(self.o)
        ours = ours.view(theirs.shape) if x.layout == "heads" else ours.transpose(1, 2)
        worst = float((ours.float() - theirs.float()).abs().max() / theirs.float().abs().max())
        if not worst < (1e-4 if x.parsed.a is DType.FP32 else 2e-2):
            raise RuntimeError(f"{x}: the results differ by {worst:.4f} of the largest")


@dataclass(frozen=True)
class Batch:
    """Requests of unequal lengths, one behind the other: Q and O [query, head, D], K and V [key, head, D]."""

    signature: str
    queries: int
    heads_k: int
    group: int
    hdim: int
    keys: tuple[int, ...]

    @property
    def shape(self) -> FmhaShape:
        """Without a schedule."""
        heads = (self.group * self.heads_k, self.heads_k)
        return FmhaShape(len(self.keys), *heads, self.queries, max(self.keys), self.hdim, self.hdim)

    @property
    def lengths(self) -> list[int]:
        """Queries of each request."""
        return [self.queries] * len(self.keys)


class BatchOperands:
    """Memory of a batch."""

    def __init__(self, batch: Batch) -> None:
        x, signature = batch, parse_canonical(batch.signature)
        self.batch = batch
        self.q = numbers(signature.a, len(x.keys) * x.queries, x.group * x.heads_k, x.hdim)
        self.k, self.v = (numbers(signature.b, sum(x.keys), x.heads_k, x.hdim).copy() for _ in "kv")
        self.o = np.zeros_like(self.q)
        self.starts = [np.cumsum([0, *lengths]).astype(np.int32) for lengths in (x.lengths, x.keys)]

    def ours(self, ours: Ours, asked: FmhaSplitProblem | None = None, made: FmhaSplitPlan | None = None) -> Selected:
        """By the dispatcher's own account, or by a schedule."""
        x, shape, arrays = self.batch, self.batch.shape, {}
        if asked is not None and made is not None:
            sizes = made.sizes
            shape = replace(
                shape, split_items=sizes.items, split_combines=sizes.combine_items, split_rows=sizes.partial_rows,
                split_m0=asked.m0, split_n0=asked.n0, split_merged=asked.merge_heads,
            )  # fmt: skip
            arrays = {"split_items": address(made.items)}
            arrays |= {"split_combines": address(made.combine_items)} if sizes.combine_items else {}
        q = _strides(0, x.group * x.heads_k, x.hdim, False)
        kv = _strides(0, x.heads_k, x.hdim, False)
        at = {name: address(getattr(self, name)) for name in "qkvo"}
        starts = {"seqstart_q": address(self.starts[0]), "seqstart_k": address(self.starts[1])}
        args = FmhaArgsStruct(
            **at, **starts, **arrays, q_strides=q, o_strides=q, k_strides=kv, v_strides=kv, scale=x.hdim**-0.5
        )
        return ours.ready(ours.library.fmha_problem(x.signature, shape), args)


def reader(library: ctypes.CDLL, operands: Operands) -> Body:
    """Reads K and V in the order of the pages, or of addresses, and does nothing with them."""
    k, v = (ctypes.c_void_p(address(array)) for array in (operands.k, operands.v))
    half, pages = operands.k.nbytes, operands.attention.pages
    if pages:
        table, counts = ctypes.c_void_p(address(operands.table)), (ctypes.c_int64(pages), ctypes.c_int64(half // pages))
        return Body((lambda: library.bench_read_pages(k, v, table, *counts),))
    count = ctypes.c_int64(half)
    return Body((lambda: (library.bench_read(k, count), library.bench_read(v, count)),))


def _strides(rows: int, heads: int, hdim: int, by_heads: bool) -> FmhaStridesStruct:
    if by_heads:
        return FmhaStridesStruct(hdim, rows * hdim, heads * rows * hdim)
    return FmhaStridesStruct(heads * hdim, hdim, rows * heads * hdim)


def same(left: npt.NDArray[Any], right: npt.NDArray[Any]) -> bool:
    """Whether two results of 16 bits are one but for the order of additions."""
    ours, wanted = left.astype(np.float32), right.astype(np.float32)
    return bool(np.abs(ours - wanted).max() < 2e-2 * np.abs(wanted).max())
