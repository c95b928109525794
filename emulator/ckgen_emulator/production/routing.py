"""Which tokens go to which experts, as the fused mixture-of-experts kernels read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_CHOICE_SHIFT = 24


@dataclass(frozen=True, slots=True)
class Routing:
    """`experts`, `weights` [token, choice], and the same sorted by expert.

    `ids`: token | choice << 24, for every expert padded to whole blocks by one token more than there is; `id_weights`:
    theirs; `block_experts`: the expert of each block; `valid`: padded ids, tokens. As aiter's moe_sorting makes them.
    """

    experts: NDArray[np.int64]
    weights: NDArray[np.float32]
    ids: NDArray[np.int32]
    id_weights: NDArray[np.float32]
    block_experts: NDArray[np.int32]
    valid: NDArray[np.int32]

    @property
    def blocks(self) -> int:
        """Blocks of ids."""
        return int(self.block_experts.size)


def routed(generator: np.random.Generator, tokens: int, experts: int, choices: int, block: int) -> Routing:
    """Tokens that choose different experts at random, in blocks of so many ids."""
    chosen = np.stack([generator.permutation(experts)[:choices] for _ in range(tokens)])
    weights = generator.uniform(0.1, 1, chosen.shape).astype(np.float32)
    return by_expert(chosen, weights, experts, block)


def by_expert(chosen: NDArray[np.integer[Any]], weights: NDArray[np.float32], experts: int, block: int) -> Routing:
    """Tokens by the experts that they have `chosen`, [token, choice], in blocks of so many ids."""
    tokens, choices = chosen.shape
    ids: list[int] = []
    id_weights: list[float] = []
    block_experts: list[int] = []
    for expert in range(experts):
        hits = np.argwhere(chosen == expert)
        if not len(hits):
            continue
        padding = -len(hits) % block
        ids += [int(token | choice << _CHOICE_SHIFT) for token, choice in hits]
        ids += [tokens | choices << _CHOICE_SHIFT] * padding
        id_weights += [float(weights[token, choice]) for token, choice in hits] + [0.0] * padding
        block_experts += [expert] * ((len(hits) + padding) // block)
    return Routing(
        chosen.astype(np.int64),
        weights,
        np.array(ids, np.int32),
        np.array(id_weights, np.float32),
        np.array(block_experts, np.int32),
        np.array([len(ids), tokens], np.int32),
    )
