"""Which elements of P dropout keeps: the bytes that they draw, as `ckgen/fmha.hpp` says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint32]

ROUNDS = 7
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_TILE, _CALLS_PER_TILE = 32, 64
_LOW = np.uint64(0xFFFFFFFF)


@dataclass(frozen=True, slots=True)
class Dropout:
    """What a problem says of it: `rand_val` are given bytes, [batch, heads_q, seqlen_q, seqlen_k]; else they are drawn.

    `p_drop` is a value of fp32.
    """

    p_drop: float
    seed: int = 0
    offset: int = 0
    rand_val: Bytes | None = None

    @property
    def most_kept(self) -> int:
        """The largest byte that is kept."""
        return int(np.floor(self._p_keep * np.float32(255)))

    @property
    def factor(self) -> float:
        """What kept elements are multiplied by."""
        return 1 / (1 - self.p_drop)

    @property
    def _p_keep(self) -> np.float32:
        return np.float32(1) - np.float32(self.p_drop)

    def keeps(self, batch: int, head: int, heads_q: int, sizes: tuple[int, int]) -> npt.NDArray[np.bool_]:
        """[length_q, length_k] of one sequence and query head."""
        if self.rand_val is not None:
            drawn = self.rand_val[batch, head, : sizes[0], : sizes[1]]
        else:
            drawn = drawn_bytes(self.seed, self.offset, batch * heads_q + head, sizes)
        kept: npt.NDArray[np.bool_] = drawn <= self.most_kept
        return kept


def drawn_bytes(seed: int, offset: int, plane: int, sizes: tuple[int, int]) -> Bytes:
    """[length_q, length_k]: what the elements of plane batch * heads_q + head draw."""
    i, j = np.ogrid[: sizes[0], : sizes[1]]
    first = np.uint64((offset + _CALLS_PER_TILE * plane) % 2**64)
    call = first + (32 * (i // 8 % 2) + j % 32).astype(np.uint64)
    tile = np.broadcast_arrays(i // _TILE, j // _TILE)
    counter = np.stack([call & _LOW, call >> np.uint64(32), *tile], axis=-1).astype(np.uint32)
    words = philox(counter, seed)
    byte = np.broadcast_to(8 * (i // 16 % 2) + i % 8, sizes)
    word = np.take_along_axis(words, (byte // 4)[..., None], axis=-1)[..., 0]
    return (word >> (8 * (byte % 4)).astype(np.uint32)).astype(np.uint8)


def philox(counter: Words, seed: int, rounds: int = ROUNDS) -> Words:
    """Philox4x32 of counters, [..., 4], under the key that the seed's low and high words are."""
    x = [counter[..., lane].astype(np.uint64) for lane in range(4)]
    key = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(rounds):
        first, second = (x[lane] * np.uint64(by) for lane, by in zip((0, 2), _MULTIPLIERS, strict=True))
        shift = np.uint64(32)
        x = [
            second >> shift ^ x[1] ^ np.uint64(key[0]),
            second & _LOW,
            first >> shift ^ x[3] ^ np.uint64(key[1]),
            first & _LOW,
        ]
        key = [(word + more) & 0xFFFFFFFF for word, more in zip(key, _WEYL, strict=True)]
    return np.stack(x, axis=-1).astype(np.uint32)
