"""One product of the dispatcher's choice, with operands of its own, and what torch and numpy have for the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from ours import Ours, Selected, address, numbers

from ckgen.families.gemm.enums import Quant
from ckgen.families.gemm.signature import GemmSignature, parse_canonical
from ckgen.measure.peers import numpy_blas
from ckgen.measure.peers import torch_cpu as peers
from ckgen.measure.peers.offer import Offer
from ckgen.measure.timing import Body, copies_beyond_cache
from ckgen.model.dtype import DType
from ckgen.model.strategy import Strategy
from ckgen.runtime import GemmArgsStruct

_GROUPS = {Quant.BLOCKSCALE: 128, Quant.MX: 32}


@dataclass(frozen=True)
class Product:
    """C = A · Bᵀ of a signature, (batch, M, N, K). cold: copies of B that are read in turn exceed the cache."""

    signature: str
    sizes: tuple[int, int, int, int]
    cold: bool = False

    @property
    def parsed(self) -> GemmSignature:
        """The signature's fields."""
        return parse_canonical(self.signature)

    @property
    def shape(self) -> str:
        """For people."""
        batch, m, n, k = self.sizes
        return f"{f'{batch} × ' if batch > 1 else ''}{m} × {n} × {k}{', cold B' if self.cold else ''}"


class Operands:
    """Memory of a product, in rows without gaps."""

    def __init__(self, product: Product) -> None:
        signature, (batch, m, n, k) = product.parsed, product.sizes
        self.product = product
        self.a, self.b = numbers(signature.a, batch, m, k), numbers(signature.b, batch, n, k)
        self.c = np.zeros_like(numbers(signature.c, batch, m, n))
        self.copies = copies_beyond_cache(self.b.nbytes) if product.cold else 1
        self.scales = _scales(signature, m, n, k)

    @property
    def read(self) -> int:
        """Bytes of B and of its scales."""
        return int(self.b.nbytes + (self.scales[1].nbytes if self.scales else 0))

    def ours(
        self, ours: Ours, strategy: Strategy = Strategy.ANY, *, packed: bool = False, batch_invariant: bool = False
    ) -> tuple[Selected, Body]:
        """What is selected, and it over all copies of B, which are packed ahead where that is asked for."""
        batch, m, n, k = self.product.sizes
        problem = ours.library.problem(
            self.product.signature, m, n, k, batch=batch, strategy=strategy, batch_invariant=batch_invariant
        )
        first = self.packed(ours) if packed else self.b
        weights = [first, *(first.copy() for _ in range(self.copies - 1))]
        ready = [ours.ready(problem, self._args(b, packed)) for b in weights]
        return ready[0], Body(tuple(_keeping(one, b) for one, b in zip(ready, weights, strict=True)))

    def packed(self, ours: Ours) -> npt.NDArray[np.uint8]:
        """B of a product that is no batch, packed ahead."""
        _, _, n, k = self.product.sizes
        return np.frombuffer(ours.library.pack_b(self.product.signature, self.b.view(np.uint8).data, n, k), np.uint8)

    def _args(self, b: npt.NDArray[Any], packed: bool) -> GemmArgsStruct:
        batch, m, n, k = self.product.sizes
        scales = dict(zip(("a_scale", "b_scale"), map(address, self.scales), strict=False))
        return GemmArgsStruct(
            a=address(self.a), b=address(b), c=address(self.c), **scales, a_scale_row_major=1, m=m, n=n, k=k,
            batch=batch, lda=k, ldb=k, ldc=n, batch_stride_a=m * k, batch_stride_b=n * k, batch_stride_c=m * n,
            b_prepacked=packed, alpha=1.0,
        )  # fmt: skip

    def peers(self) -> dict[str, Offer]:
        """Of the same types where torch has them, and its bf16 of the same shape otherwise."""
        signature, (batch, m, n, k) = self.product.parsed, self.product.sizes
        a, b = self.a[0], self.b[0]
        if batch > 1:
            return _batched(self.a, self.b)
        if signature.quant is Quant.NONE:
            more = numpy_blas.offers(a, b) if signature.a is DType.FP32 and self.copies == 1 else {}
            return peers.products(a, b, sets=self.copies) | more
        plain = peers.products(numbers(DType.BF16, m, k), numbers(DType.BF16, n, k), sets=self.copies)
        found = {name.replace("torch", "torch bf16"): offer for name, offer in plain.items()}
        if signature.b is DType.INT8:
            return found | peers.int8_products(a, b)
        if signature.b is DType.FP8_OCP and signature.quant is Quant.ROWWISE:
            return found | peers.fp8_product(a, b)
        return found | (peers.int4_product(m, n, k) if signature.b is DType.FP4 else {})

    def check(self) -> None:
        """Both must compute the same where they compute of the same operands; RuntimeError where they do not."""
        signature = self.product.parsed
        if peers.torch() is None or signature.quant is not Quant.NONE:
            return
        theirs = peers.tensor(self.a).float() @ peers.tensor(self.b).float().transpose(1, 2)
        if not peers.differ(self.c, theirs) < 0.02:
            raise RuntimeError(f"{self.product}: the results differ")


def _keeping(selected: Selected, b: npt.NDArray[Any]) -> Any:
    def call(kept: object = b) -> None:
        selected.call()

    return call


def _scales(signature: GemmSignature, m: int, n: int, k: int) -> tuple[npt.NDArray[Any], ...]:
    """Ones for the rows of A and for those, or the blocks, of B."""
    if signature.quant is Quant.NONE:
        return ()
    along = -(-k // _GROUPS.get(signature.quant, k))
    rows = (m, -(-n // 128) if signature.quant is Quant.BLOCKSCALE else n)
    is_mx = signature.quant is Quant.MX
    return tuple(np.full((one, along), 127 if is_mx else 1, np.uint8 if is_mx else np.float32) for one in rows)


def _batched(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> dict[str, Offer]:
    def make() -> Any:
        left, right = peers.tensor(a), peers.tensor(b).transpose(1, 2)
        c = peers.torch().empty((a.shape[0], a.shape[1], b.shape[1]), dtype=left.dtype)
        return lambda: peers.torch().bmm(left, right, out=c)

    return peers.offered("torch bmm, out=", make)
