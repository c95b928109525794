"""Which experts the tokens of a case go to, and how sorted tokens lie, as `ckgen/moe.hpp` defines it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ckgen.fuzz.case import Case, Route
from ckgen.model.groups import Routing

_Ids = npt.NDArray[np.int32]


def ids_of(case: Case) -> _Ids:
    """[tokens, top_k], each token's experts different ones."""
    random = np.random.default_rng((case.seed, 7))
    experts, top_k = case.experts, case.top_k
    order = random.permutation(experts)  # so that any expert may be the busy one
    likely: npt.NDArray[np.float64] = np.zeros(experts)
    if case.route is Route.SKEWED:
        likely -= np.arange(experts) * np.log(2.0)
    elif case.route is Route.ONE:
        likely -= np.arange(experts) * 1e6
    elif case.route is Route.SOME:
        likely[max(experts // 2, top_k) :] = -1e6
    chance = likely + random.gumbel(size=(case.m, experts))
    found: _Ids = order[(-chance).argsort(axis=1)[:, :top_k]].astype(np.int32)
    return np.ascontiguousarray(found)


def sorted_tokens(
    ids: _Ids, weights: npt.NDArray[np.float32], routing: Routing, block_m: int
) -> tuple[_Ids, npt.NDArray[np.float32], _Ids, _Ids]:
    """The entries in use of token_ids, weights, expert_ids and valid."""
    tokens, top_k = ids.shape
    entries: list[int] = []
    own: list[float] = []
    blocks: list[int] = []
    for expert in range(routing.experts):
        rows = [(token, slot) for token, slot in np.argwhere(ids == expert).tolist()]
        padding = -len(rows) % block_m
        entries += [slot << 24 | token for token, slot in rows] + [top_k << 24 | tokens] * padding
        own += [float(weights[token, slot]) for token, slot in rows] + [0.0] * padding
        blocks += [expert] * ((len(rows) + padding) // block_m)
    return (
        np.array(entries, np.uint32).view(np.int32),
        np.array(own, np.float32),
        np.array(blocks, np.int32),
        np.array([len(entries), tokens], np.int32),
    )
