"""Operands of attention of which almost every element of O has only one right value, as docs/exactness_ops.md derives.

Scores are integers of ln 2: 0 for the keys that count, -1 for some, and so far below for all others that their weights
are 0. O is then a mean of small integers over a power of two. Which keys count is drawn for each row. All dimensions of
Q and K are needed for that: those of a key sum up to its score, and fewer of them to another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ckgen.families.common.storage import Values
from ckgen.families.fmha.dropout import Dropout
from ckgen.families.fmha.enums import FmhaBias, FmhaQuant
from ckgen.families.fmha.mask import FmhaMask
from ckgen.families.fmha.operands import Descales, FmhaOperands, Lengths, make_operands
from ckgen.families.fmha.reference_exact import LN2
from ckgen.families.fmha.scores import key_descales, query_descales
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.model.dtype import DType
from ckgen.model.fmha_shape import FmhaShape

_Bools = npt.NDArray[np.bool_]
_Integers = npt.NDArray[np.int64]

_MOST_COUNT = 64
_MOST_V = 4
_K = 4.0
_DEAD = 64.0
"""K and Q of a key whose weight is 0, times their descales; 8-bit types hold them with any descale of ours."""
_HALVINGS = 256
"""Of the weight of such a key, at least."""
_BIAS = -192.0
_NO_SINK = -1000.0
_SINKS = 3
_CAP = 80.0
_SATURATES = 16.0
"""Scores behind softcap, in units of the cap: tanh is 1 in fp32, or -1 for keys whose weight is 0."""


def exact_operands(
    signature: FmhaSignature, shape: FmhaShape, seed: int, lengths: Lengths | None = None
) -> FmhaOperands:
    """Data as make_operands has them, with lengths and pages of the same kind, on which all but few results are exact.

    docs/exactness_ops.md says which options leave some results that are within a bound.
    """
    return _Drawn.of(make_operands(signature, shape, seed, lengths), seed).operands()


@dataclass(frozen=True, slots=True)
class _Drawn:
    """`like` has what is the same for all data, and the descales, sinks, dropout and bias of these."""

    like: FmhaOperands
    random: np.random.Generator
    visible: _Bools
    """[batch, heads_q, queries, keys] that are seen and not lost to the bias."""

    @classmethod
    def of(cls, like: FmhaOperands, seed: int) -> _Drawn:
        random = np.random.default_rng((seed, 11))
        traits, shape = like.signature.traits, like.shape
        sink: Values | None = None
        if like.sink is not None:
            heads = np.arange(shape.heads_q)
            logits = (_CAP if traits.softcap else 0.0) + (heads % _SINKS) * LN2
            logits = np.where((heads % 4 == 3) | (traits.bias is FmhaBias.ALIBI), _NO_SINK, logits)
            sink = logits.astype(np.float32).astype(np.float64)
        dropout = like.dropout
        if dropout is not None:
            dropout = Dropout(float(random.choice((0.5, 0.75))), dropout.seed, dropout.offset, dropout.rand_val)
        bias = _bias(like, random)
        found = replace(like, descales=_descales(like, random), bias=bias, sink=sink, dropout=dropout, is_exact=True)
        return cls(replace(found, softcap=_CAP if traits.softcap else 0.0), random, _visible(found))

    def operands(self) -> FmhaOperands:
        """All of it."""
        like, shape = self.like, self.like.shape
        q, k = np.zeros_like(like.q), np.zeros_like(like.k)
        v = self.random.integers(1, _MOST_V + 1, like.v.shape) * _signs(self.random, (1, *like.v.shape[2:]))
        group = shape.heads_q // shape.heads_k
        for b in range(shape.batch):
            keys, queries = like.lengths.k[b], like.lengths.q[b]
            for g in range(shape.heads_k if keys else 0):
                classes = _Classes.of(self.random, keys, shape.hdim_q)
                k[b, :keys, g] = classes.rows() * _K / key_descales(like, b, g * group)
                for h in range(g * group, (g + 1) * group):
                    rows = self._queries(classes, self.visible[b, h, :queries, :keys], h)
                    q[b, :queries, h] = rows / query_descales(like, b, h)
        return replace(like, q=q, k=k, v=v.astype(np.float64), scale=float(np.float32(LN2)) * self._scale)

    @property
    def _has_lone_rows(self) -> bool:
        """Rows of one key are exact where P may be cut, and where O is not rounded to fewer bits."""
        return self.like.signature.a is DType.FP16 or self.like.signature.c is DType.FP32

    @property
    def _unit(self) -> float:
        """What one halving of a weight is in Q."""
        return _DEAD / self._halvings

    @property
    def _halvings(self) -> int:
        """Of a key whose weight is 0: alibi may take as much from one that counts."""
        farthest = 2 * (self.like.shape.seqlen_q + self.like.shape.seqlen_k)
        if self.like.signature.traits.bias is not FmhaBias.ALIBI:
            return _HALVINGS
        return int(2 ** np.ceil(np.log2(_HALVINGS + farthest)))

    @property
    def _scale(self) -> float:
        """In units of ln 2, a power of two; with softcap so large that keys that count saturate it."""
        plain = 1 / (_K * self._unit)
        if not self.like.signature.traits.softcap:
            return plain
        return plain * float(2 ** np.ceil(np.log2(_SATURATES * _CAP / (self._halvings * LN2))))

    def _queries(self, classes: _Classes, visible: _Bools, h: int) -> Values:
        """Rows of Q before descales, [queries, hdim_q]."""
        counted, halved = self._chosen(classes, visible, h)
        sizes = counted.shape
        if self.like.signature.traits.softcap:  # any score far above the cap is the cap
            last = np.where(counted, _DEAD, -_DEAD) * self.random.choice((1.0, 2.0), sizes)
            return classes.queries(self.random, last, np.ones(sizes, np.bool_), self._unit)
        last = np.where(halved, -self._unit, np.where(counted, 0.0, -_DEAD))
        return classes.queries(self.random, last, ~(counted | halved), self._unit)

    def _chosen(self, classes: _Classes, visible: _Bools, h: int) -> tuple[_Bools, _Bools]:
        """The classes of keys that count in full, and by half, [queries, classes]."""
        traits, random = self.like.signature.traits, self.random
        counts, rows = classes.counts(visible), len(visible)
        order = classes.in_order(random, visible)
        seen = counts.sum(axis=1)
        most = np.minimum(np.maximum(seen, 1), _MOST_COUNT)
        target = 2 ** np.floor(np.log2(most)).astype(np.int64)
        halves = random.random(rows) < 0.5
        halves &= not traits.softcap and traits.bias is not FmhaBias.ALIBI
        if self.like.sink is not None and self.like.sink[h] != _NO_SINK:
            target = np.minimum(target, 2 ** (h % _SINKS))
            halves[:] = False
        elif traits.bias is FmhaBias.ALIBI:
            target[:] = 2
            order = classes.neighbours_first(random, visible, order)
        else:
            fewer = (random.random(rows) < 0.5) & (np.arange(rows) % 4 > 1)
            target = np.where(fewer, 2 ** random.integers(0, 7, rows), target)
            target = np.where(halves, np.maximum(target // 4, 1), target)
        if self._has_lone_rows:
            is_lone = (np.arange(rows) + h) % 2 == 1
            target, halves = np.where(is_lone, 1, target), halves & ~is_lone
        fewest = np.where(counts > 0, counts, np.iinfo(np.int64).max).min(axis=1, initial=np.iinfo(np.int64).max)
        counted = _greedy(
            counts, order, np.where(seen > 0, np.maximum(target, fewest), 0), np.zeros(counts.shape, np.bool_)
        )
        halved = _greedy(counts, order, np.where(halves, 2 * target, 0), counted)
        unseen = (counts == 0) & (random.random(counts.shape) < 0.5)  # to be seen where a mask is wrong
        return counted | unseen, halved


@dataclass(frozen=True, slots=True)
class _Classes:
    """Keys of a class have the same row of K, and no two classes share a dimension: `of_key` and `of_dim`."""

    of_key: _Integers
    of_dim: _Integers
    signs: Values
    count: int

    @classmethod
    def of(cls, random: np.random.Generator, keys: int, dims: int) -> _Classes:
        """As many classes as there are keys or dimensions; keys that follow one another have different ones."""
        count = min(keys, dims)
        runs = [random.permutation(count) for _ in range(-(-keys // count))]
        of_dim = random.permutation(np.arange(dims) % count)
        return cls(np.concatenate(runs)[:keys], of_dim, _signs(random, (dims,)), count)

    def rows(self) -> Values:
        """K, [keys, dims], of 1 and -1."""
        return np.where(self.of_key[:, None] == self.of_dim, self.signs, 0.0)

    def queries(self, random: np.random.Generator, last: Values, is_free: _Bools, unit: float) -> Values:
        """Q, [queries, dims]: a class's dimensions add up to `last`, or are about that where it is free.

        `last` is [queries, classes]. The dimensions are small multiples of `unit` but for the one that is last.
        """
        rows, dims = len(last), np.argsort(self.of_dim, kind="stable")  # by class, of which the first may have one more
        found, drawn = np.zeros((rows, len(dims))), unit * random.integers(-2, 3, rows * len(dims))
        least, larger = divmod(len(dims), self.count)
        for size, classes in ((least + 1, np.arange(larger)), (least, np.arange(larger, self.count))):
            own, dims = np.split(dims, [size * len(classes)])
            steps, drawn = np.split(drawn, [rows * len(own)])
            partial = steps.reshape(len(classes), rows, size)
            partial[..., -1] = last.T[classes]
            if size > 1:
                partial[..., -1] += np.where(is_free.T[classes], partial[..., -2], 0.0)
                partial[..., 1:] -= partial[..., :-1].copy()
            found[:, own] = partial.swapaxes(0, 1).reshape(rows, len(own))
        return found * self.signs

    def counts(self, visible: _Bools) -> _Integers:
        """Visible keys of each class, [queries, classes]."""
        found: _Integers = (visible.astype(np.float32) @ self._members()).astype(np.int64)
        return found

    def in_order(self, random: np.random.Generator, visible: _Bools) -> _Integers:
        """Classes in the order in which a row chooses, [queries, classes].

        First come keys from end to end of the visible ones; half the time, before these, the first and last of them.
        """
        rows, keys = visible.shape
        seen = visible.sum(axis=1, keepdims=True)
        apart = np.maximum(seen // np.minimum(np.maximum(seen, 1), _MOST_COUNT), 1)
        place = np.cumsum(visible, axis=1) - 1
        at = random.integers(0, apart)
        rank = random.random((rows, keys)) + np.where(place % apart == at, 1.0, 2.0)
        is_edge = (place == 0) | (place == seen - 1)
        rank = np.where(is_edge & (random.random((rows, 1)) < 0.5), 0.0, rank)
        return self._ordered(np.where(visible, rank, np.inf))

    def neighbours_first(self, random: np.random.Generator, visible: _Bools, order: _Integers) -> _Integers:
        """The classes of two neighbours first, which are visible where there are two."""
        pairs = visible[:, 1:] & visible[:, :-1]
        if not pairs.shape[1]:
            return order
        first = np.argmax(pairs * random.random(pairs.shape), axis=1)
        rank = np.where(visible, 2.0, np.inf)
        rank[np.arange(len(rank)), first] = rank[np.arange(len(rank)), first + 1] = 1.0
        return self._ordered(rank)

    def _ordered(self, rank: Values) -> _Integers:
        best = np.full((len(rank), self.count), np.inf)
        for first in range(0, len(self.of_key), self.count):
            own = slice(first, first + self.count)
            best[:, self.of_key[own]] = np.minimum(best[:, self.of_key[own]], rank[:, own])
        return np.argsort(best, axis=1)

    def _members(self) -> npt.NDArray[np.float32]:
        found: npt.NDArray[np.float32] = (self.of_key[:, None] == np.arange(self.count)).astype(np.float32)
        return found


def _greedy(counts: _Integers, order: _Integers, target: _Integers, taken: _Bools) -> _Bools:
    """Classes in order, as long as no more than `target` keys are chosen; [queries, classes]."""
    more = np.ascontiguousarray(np.take_along_axis(counts, order, 1).T)
    fits = np.ascontiguousarray(np.take_along_axis((counts > 0) & ~taken, order, 1).T)
    left = target.copy()
    for one, own in zip(more, fits, strict=True):
        own &= one <= left
        left -= one * own
    found = np.zeros(counts.shape, np.bool_)
    np.put_along_axis(found, order, fits.T, 1)
    return found


def _visible(operands: FmhaOperands) -> _Bools:
    shape = operands.shape
    found = np.zeros((shape.batch, shape.heads_q, shape.seqlen_q, shape.seqlen_k), np.bool_)
    mask = FmhaMask.of(shape, operands.signature.traits.masked)
    for b, (queries, keys) in enumerate(zip(operands.lengths.q, operands.lengths.k, strict=True)):
        found[b, :, :queries, :keys] = mask.over(queries, keys).array()
    if operands.bias is not None and operands.signature.traits.bias is FmhaBias.ELEMENTWISE:
        found &= operands.bias > _BIAS / 2
    return found


def _bias(like: FmhaOperands, random: np.random.Generator) -> Values | None:
    """Elements that take a key's weight, on some small integer for each row; slopes of ln 2 and 2 ln 2."""
    if like.bias is None:
        return None
    if like.signature.traits.bias is FmhaBias.ALIBI:
        slopes: Values = (float(np.float32(LN2)) * random.integers(1, 3, like.bias.shape)).astype(np.float64)
        return slopes
    whole = random.integers(-2, 3, (*like.bias.shape[:3], 1)) * (like.sink is None)
    return np.where(random.random(like.bias.shape) < 0.25, _BIAS, whole.astype(np.float64))


def _descales(like: FmhaOperands, random: np.random.Generator) -> Descales:
    """Powers of two, of the sizes that there are; neighbours differ."""
    if like.signature.traits.quant is FmhaQuant.NONE:
        return like.descales

    def powers(of: Values | None) -> Values | None:
        if of is None:
            return None
        places = np.indices(of.shape).sum(axis=0) + random.integers(0, 3)
        found: Values = np.exp2(places % 3 - 1.0)
        return found

    return Descales(*(powers(one) for one in (like.descales.q, like.descales.k, like.descales.v)))


def _signs(random: np.random.Generator, sizes: tuple[int, ...]) -> Values:
    return random.choice((-1.0, 1.0), sizes)
