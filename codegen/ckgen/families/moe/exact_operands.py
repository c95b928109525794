"""Operands of a mixture of experts of which almost every element of C has only one right value (docs/exactness_ops.md).

A layer's first product. Dimensions of K are of a few classes. A row of A adds up to 1 or 2 over one class and to 0 over
all others; in each matrix a class's rows are the same up to signs. So each sum is one chosen number: of a gate so large
that the activation gives it back or gives 0, of the other half a small integer. All dimensions are needed for it.
H is then known to the last bit, and the largest of those that share a scale is the type's largest value times a power
of two. Down adds small integers, so few that C's own type holds any sum of a token's slots.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ckgen.families.common.storage import Values
from ckgen.families.gemm.enums import MX_K, MoePart, Quant
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.moe.reference import MoeOperands, MoeSize, Weights, make_operands
from ckgen.model.dtype import DType

_Ids = npt.NDArray[np.int32]

_CLASSES = 8
_INTEGERS = frozenset({DType.INT4, DType.INT8})
_SATURATED = {DType.FP16: 96}
"""Of gates, a size at which silu and gelu give them back, and of negative ones nothing; 128 of other types of C."""
_LARGEST_H = {DType.FP8_FNUZ: 15, DType.INT8: 127, DType.FP4: 3}
"""The type's largest value, up to a power of two; 7 of all others."""
_MOST_UP = {DType.FP4: 3, DType.INT4: 3, DType.INT8: 127}
_GATE = {DType.FP4: 2, DType.INT4: 2}
_GATE_FP16 = {DType.FP4: 3, DType.INT4: 3}
_GATE_ALONE = {DType.FP4: 1, DType.INT4: 1, DType.INT8: 1}
_UNSCALED_GATE = {DType.FP4: 4, DType.INT4: 4, DType.INT8: 64}
_HELD = {DType.BF16: 256, DType.FP16: 2048}
"""C's type holds integers up to this."""


def exact_operands(signature: GemmSignature, size: MoeSize, seed: int, ids: _Ids | None = None) -> MoeOperands:
    """As make_operands; `ids` are the routing where it is given."""
    like = make_operands(signature, size, seed)
    random = np.random.default_rng((seed, 13))
    slots = np.indices(like.weights.shape).sum(axis=0) + random.integers(0, 2)
    apart = 3 if size.routing.top_k <= 4 and not signature.moe.weight_first else 2
    like = replace(
        like, ids=like.ids if ids is None else ids, weights=np.exp2(-(slots % apart)).astype(np.float32), is_exact=True
    )
    if signature.moe.part is MoePart.DOWN:
        return _down(like, random)
    return _Layer.of(like, random).operands()


@dataclass(frozen=True, slots=True)
class _Layer:
    """`gate` times `base` is the size of an element of W1's gates; A's rows add up to `sum_of_a`, or twice that."""

    like: MoeOperands
    random: np.random.Generator
    gate: float
    base: float
    sum_of_a: float

    @classmethod
    def of(cls, like: MoeOperands, random: np.random.Generator) -> _Layer:
        signature, w1 = like.signature, like.w1
        assert w1 is not None
        wanted = float(_SATURATED.get(signature.c, 128) * (2 if signature.moe.weight_first else 1))
        if signature.b is DType.INT8 and signature.c is DType.FP16:
            wanted = float(_SATURATED[DType.FP16])  # H of more would leave fp16
        if w1.scales is not None:
            gate = float(_GATE_FP16.get(signature.b, 24) if signature.c is DType.FP16 else _GATE.get(signature.b, 32))
            if not signature.moe.gated:
                gate = float(_GATE_ALONE.get(signature.b, 4))
            return cls(like, random, gate, wanted / gate, 1.0)
        gate = float(min(wanted, _UNSCALED_GATE.get(signature.b, 128 if signature.b.bits == 8 else 2048)))
        if not signature.moe.gated and signature.b.bits <= 8:
            gate = min(gate, float(_GATE_ALONE.get(signature.b, 4)))
        return cls(like, random, gate, 1.0, wanted / gate)

    def operands(self) -> MoeOperands:
        """All of it."""
        like, w1, random = self.like, self.like.w1, self.random
        assert w1 is not None
        signature, k, n = like.signature, like.size.k, like.size.n
        count = min(_CLASSES, max(k // 8, 1))
        of_dim, signs = random.permutation(np.arange(k) % count), random.choice((-1.0, 1.0), k)
        a = self._rows(of_dim, count) * signs
        a_scale = _powers(random, like.a_scale, signature.a)
        wanted, most = self._columns(count)
        whole = wanted[:, of_dim] * signs[:, None]
        scales = _powers(random, w1.scales, signature.b)
        if scales is not None and signature.b is DType.INT8:
            scales = _within(whole, scales, signature)
        stored = _divided(whole, scales, signature, of_weights=True)
        made = Weights(stored, None if scales is None else scales * self.base)
        w2 = None
        if like.w2 is not None:
            rare: npt.NDArray[np.bool_] = np.zeros((len(whole), n), np.bool_)
            if _largest_h(signature) > 15:
                rare |= most.any(axis=1)
            energy = 2.0 + (0 if rare.any() else _largest_h(signature) ** 2 / _shared(signature, n))
            w2 = _sparse(random, like, like.w2, n * energy, rare)
        return replace(like, a=_divided(a, a_scale, signature, of_weights=False), a_scale=a_scale, w1=made, w2=w2)

    @property
    def _unit(self) -> float:
        """Of H: 8-bit integers of one scale hold it times two routing weights."""
        signature = self.like.signature
        is_tight = signature.quant is Quant.PER_TENSOR and signature.a is signature.b is DType.INT8
        return 4.0 if is_tight and signature.moe.weight_first else 1.0

    def _rows(self, of_dim: npt.NDArray[np.int64], count: int) -> Values:
        """A before signs and scales: small integers, and in one class one that may be larger."""
        random, tokens = self.random, self.like.size.tokens
        own, found = random.integers(0, count, tokens), np.zeros((tokens, len(of_dim)))
        is_one = self.like.signature.c is DType.FP16 or self.like.signature.quant is Quant.PER_TENSOR
        twice = 1 if is_one else random.integers(1, 3, tokens)
        for one in range(count):
            dims = np.flatnonzero(of_dim == one)
            partial = random.integers(-1, 2, (tokens, len(dims))).astype(np.float64)
            partial[:, -1] = np.where(own == one, self.sum_of_a * twice, 0.0)
            found[:, dims] = np.diff(partial, axis=1, prepend=0.0)
        return found

    def _columns(self, count: int) -> tuple[Values, npt.NDArray[np.bool_]]:
        """W1 by class before signs and scales, [experts, classes, gates * n], and which columns have the largest H."""
        random, signature = self.random, self.like.signature
        experts, n = self.like.size.routing.experts, self.like.size.n
        sizes = (experts, count, n)
        largest = min(_largest_h(signature), _MOST_UP.get(signature.b, 15))
        up = self._unit * random.choice((1.0, 1.0, 2.0, 3.0), sizes) * random.choice((-1.0, 1.0), sizes)
        positive = random.random(sizes) < 0.5
        most = np.zeros(sizes, np.bool_)
        for first in range(0, n, _shared(signature, n)):
            at = random.integers(first, min(first + _shared(signature, n), n), sizes[:2])
            np.put_along_axis(most, at[..., None], True, axis=2)
        up, positive = np.where(most, largest, up), positive | most
        if not signature.moe.gated:
            return self.gate * np.abs(up) * np.where(positive, 1.0, -1.0), most
        return np.concatenate([self.gate * np.where(positive, 1.0, -1.0), up], axis=2), most


def _down(like: MoeOperands, random: np.random.Generator) -> MoeOperands:
    """Small integers of A and W2."""
    signature, w2 = like.signature, like.w2
    assert w2 is not None
    a = random.integers(1, 3, like.a.shape) * random.choice((-1.0, 0.0, 1.0), like.a.shape)
    a_scale = _powers(random, like.a_scale, signature.a)
    none = np.zeros((like.size.routing.experts, like.size.k), np.bool_)
    made = _sparse(random, like, w2, 2.0 * like.size.k, none)
    return replace(like, a=_divided(a, a_scale, signature, of_weights=False), a_scale=a_scale, w2=made)


def _sparse(
    random: np.random.Generator, like: MoeOperands, w2: Weights, energy: float, rare: npt.NDArray[np.bool_]
) -> Weights:
    """-1, 0 and 1, so many that sums over K and slots stay within C's integers; few in rows that are `rare`.

    `energy`: the sum of the squares of the numbers that a column is multiplied by.
    """
    signature, top_k = like.signature, like.size.routing.top_k
    held = _HELD.get(signature.c, 2048)
    density = np.where(rare, 0.02, min(1.0, (held / 10) ** 2 / (top_k * max(energy, 1.0))))[..., None]
    values = random.choice((-1.0, 1.0), w2.values.shape) * (random.random(w2.values.shape) < density)
    scales = _powers(random, w2.scales, signature.b)
    less = 1.0 if signature.moe.part is MoePart.DOWN else 2.0**-9
    if scales is None:
        unit = 1.0 if signature.b in _INTEGERS | {DType.FP4} else max(less, 2.0**-6 if signature.b.bits == 8 else less)
        return Weights(values * unit, None)
    return Weights(_divided(values, scales, signature, of_weights=True), scales * less)


def _largest_h(signature: GemmSignature) -> int:
    """Up to a power of two, of what shares a scale."""
    return _LARGEST_H.get(signature.a, 7)


def _shared(signature: GemmSignature, n: int) -> int:
    """Columns of H that share a scale."""
    match signature.quant:
        case Quant.BLOCKSCALE:
            return signature.scale_block.k
        case Quant.MX:
            return MX_K
    return max(n, 1)


def _powers(random: np.random.Generator, like: Values | None, dtype: DType) -> Values | None:
    """Scales of 1/2, 1 and 2, neighbours different; integers are doubled at most."""
    if like is None:
        return None
    places = np.indices(like.shape).sum(axis=0) + random.integers(0, 6)
    found: Values = np.exp2(-(places % 2.0) if dtype in _INTEGERS else places % 3 - 1.0)
    return found


def _within(whole: Values, scales: Values, signature: GemmSignature) -> Values:
    """Scales of 1 where 8-bit integers would not hold an element divided by less."""
    fits = np.abs(_divided(whole, scales, signature, of_weights=True)) <= 127
    if signature.quant is Quant.ROWWISE:
        return np.where(fits.all(axis=1), scales, 1.0)
    return scales if fits.all() else np.ones_like(scales)


def _divided(values: Values, scales: Values | None, signature: GemmSignature, *, of_weights: bool) -> Values:
    """What is stored of A, [rows, K], or of weights, [experts, K, rows]."""
    if scales is None:
        return values
    rows = np.swapaxes(values, -1, -2) if of_weights else values
    block = signature.scale_block
    n, k = {Quant.BLOCKSCALE: (block.n if of_weights else 1, block.k), Quant.MX: (1, MX_K)}.get(signature.quant, (1, 1))
    if signature.quant is Quant.PER_TENSOR:
        whole = scales.reshape(-1, 1, 1) if of_weights else scales
    elif signature.quant is Quant.ROWWISE:
        whole = scales[..., None]
    else:
        whole = np.repeat(np.repeat(scales, n, axis=-2), k, axis=-1)[..., : rows.shape[-2], : rows.shape[-1]]
    return np.swapaxes(rows / whole, -1, -2) if of_weights else rows / whole
