"""What the programs of the gallery share: options, numbers, and attention by its definition in float64."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

import ckgen

NAME = "gallery_kernels"
_BUILT = Path(__file__).parents[3] / "build/08/libgallery_python.so"


@dataclass(frozen=True)
class Asked:
    """Heads, lengths and head dims of Q, and of K or V behind them."""

    batch: int
    heads: tuple[int, int]
    seqlen: tuple[int, int]
    hdim: tuple[int, int]
    library: Path
    target: str | None

    def load(self) -> ckgen.Library:
        """The library on the device that was asked for."""
        return ckgen.load(self.library, [NAME], self.target)


def read(batch: int = 2, heads: str = "4", seqlen: str = "48", hdim: str = "64") -> Asked:
    """The command line; what a program has without it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", help="a device such as gfx942:304, simulated; without it this CPU")
    parser.add_argument("--batch", type=int, default=batch)
    parser.add_argument("--heads", type=_pair, default=heads, metavar="Q[,K]")
    parser.add_argument("--seqlen", type=_pair, default=seqlen, metavar="Q[,K]")
    parser.add_argument("--hdim", type=_pair, default=hdim, metavar="Q[,V]")
    parser.add_argument("--library", type=Path, default=_BUILT)
    said = parser.parse_args()
    return Asked(said.batch, said.heads, said.seqlen, said.hdim, said.library, said.target)


def _pair(text: str) -> tuple[int, int]:
    first, _, second = text.partition(",")
    return int(first), int(second or first)


def numbers(*sizes: int, seed: int, dtype: Any = ml_dtypes.bfloat16) -> Any:
    """Multiples of 1/8 from -1 to 7/8."""
    return (np.random.default_rng(seed).integers(-8, 8, sizes) / 8).astype(dtype)


def operands(asked: Asked, dtype: Any = ml_dtypes.bfloat16) -> tuple[Any, Any, Any]:
    """Q, K and V as [batch, row, head, D]."""
    (hq, hk), (sq, sk), (dq, dv) = asked.heads, asked.seqlen, asked.hdim
    sizes = ((sq, hq, dq), (sk, hk, dq), (sk, hk, dv))
    q, k, v = (numbers(asked.batch, *one, seed=seed, dtype=dtype) for seed, one in enumerate(sizes))
    return q, k, v


def pages_of(*matrices: Any, page: int) -> tuple[Any, list[Any]]:
    """A block table in any order, [batch, pages of a sequence], and the caches of each [batch, row, head, D]."""
    batch, rows = matrices[0].shape[:2]
    each = -(-rows // page)
    table = np.arange(batch * each, dtype=np.int32)[::-1].reshape(batch, each).copy()
    caches = []
    for one in matrices:
        padded = np.zeros((batch, each * page, *one.shape[2:]), one.dtype)
        padded[:, :rows] = one
        cache = np.empty((batch * each, page, *one.shape[2:]), one.dtype)
        cache[table.ravel()] = padded.reshape(cache.shape)
        caches.append(cache)
    return table, caches


def window(rows: int, keys: int, left: int, right: int, *, top_left: bool = False) -> Any:
    """Which keys each row sees."""
    i, j = np.indices((rows, keys))
    at = i + (0 if top_left else keys - rows)
    return ((left < 0) | (j >= at - left)) & ((right < 0) | (j <= at + right))


def attention(
    q: Any, k: Any, v: Any, *, visible: Any = True, bias: Any = 0.0, softcap: float = 0.0, sink: Any = None
) -> tuple[Any, Any]:
    """O and lse of one batch, in float64; bias over [batch, head, row, key]."""
    q, k, v = (np.moveaxis(np.asarray(one, np.float64), 1, 2) for one in (q, k, v))
    k, v = (np.repeat(one, q.shape[1] // one.shape[1], axis=1) for one in (k, v))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    scores = np.where(visible, scores + bias, -np.inf)
    if sink is not None:
        column = np.broadcast_to(np.asarray(sink, np.float64)[:, None, None], (*scores.shape[:3], 1))
        scores = np.concatenate([scores, column], axis=-1)
    most = np.maximum(scores.max(-1, keepdims=True), -1e300)
    p = np.exp(scores - most)
    total = p.sum(-1, keepdims=True)
    with np.errstate(divide="ignore"):
        lse = (most + np.log(total))[..., 0]
    p = (p / np.where(total > 0, total, 1))[..., : v.shape[-2]]
    return np.moveaxis(p @ v, 1, 2), lse


class Checks:
    """What was held against something; `end` exits with 1 where some of it was wrong."""

    def __init__(self) -> None:
        self.wrong = 0

    def near(self, what: str, found: Any, right: Any, most: float = 1 / 64) -> None:
        """Every element is."""
        found, right = np.asarray(found, np.float64), np.asarray(right, np.float64)
        off = np.where(found == right, 0.0, np.abs(found - right))
        self.holds(f"{what}, within {off.max(initial=0.0):.1e}", bool((off <= most).all()))

    def holds(self, what: str, right: bool) -> None:
        """Says so."""
        self.wrong += not right
        print(f"{what}: {'correct' if right else 'WRONG'}")

    def refused(self, what: str, call: Any) -> None:
        """The call raises, with a sentence."""
        try:
            call()
        except (ckgen.CkgenError, ckgen.RuntimeFailure) as error:
            print(f"refused: {error}")
            self.holds(what, True)
        else:
            self.holds(what, False)

    def end(self) -> None:
        """Exits."""
        sys.exit(1 if self.wrong else 0)
