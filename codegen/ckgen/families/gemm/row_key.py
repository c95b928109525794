"""What tells ladders of M apart beside N and K: the batch of their keys, as people, names and C++ say it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RowKey:
    """`words` with their numbers, as in `B=2`; `cpp` is the batch of the key as a C++ expression. Neither: no batch."""

    words: tuple[tuple[str, int], ...] = ()
    cpp: str = ""

    def text(self, n: int, k: int) -> str:
        """As in `B=2 N=1024 K=2048`."""
        return " ".join(f"{word}={value}" for word, value in (*self.words, ("N", n), ("K", k)))

    def name(self, n: int, k: int) -> str:
        """As in `n1024_k2048_b2`."""
        return "_".join(f"{word.lower()}{value}" for word, value in (("N", n), ("K", k), *self.words))


def batch_key(batch: int) -> RowKey:
    """That of a batch; 0 where the signature has none."""
    return RowKey((("B", batch),), str(batch)) if batch else RowKey()
