"""Cases of attention."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from random import Random
from typing import Any, get_type_hints

from ckgen.families.fmha.append_problem import appends
from ckgen.families.fmha.enums import FmhaCorner, FmhaEntry, FmhaKvLayout, FmhaRope, FmhaTraits
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.problem import page_vector
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.fuzz.case import Case, Data
from ckgen.fuzz.draw_schedule import with_schedule
from ckgen.fuzz.signatures import any_value
from ckgen.fuzz.sizes import edge
from ckgen.fuzz.space import Space
from ckgen.model.backend import Backend
from ckgen.model.dtype import DType
from ckgen.model.strategy import Strategy

_MOST_LENGTH = 200
_WINDOWS = (-1, -1, -1, 0, 0, 1, 7, 63, 64, 65)
_HEADS = ((1, 1), (1, 1), (2, 1), (2, 2), (4, 2), (3, 3), (8, 1), (6, 2))
_WRONG = (0, -1, -(2**31), 2**31 - 1, 257, 65_536)
"""Sizes that most rules forbid, all within 32 bits."""


@dataclass(frozen=True, slots=True)
class _Draw:
    random: Random
    near: FmhaInstance
    is_legal: bool

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def pick(self, *choices: int) -> int:
        return self.random.choice(choices)


def fmha_case(space: Space, random: Random) -> Case:
    """A case about one of the built instances."""
    unit = random.choice(space.units_of(FmhaSignature))
    draw = _Draw(random, random.choice(unit.instances), random.random() < 0.85)
    signature = unit.signature if draw.chance(0.96) else _mutated(random, unit.signature)
    sizes = _append_sizes(draw) if appends(draw.near.signature.traits) else _sizes(draw)
    if not draw.is_legal:
        for name in random.sample(tuple(sizes), draw.pick(1, 1, 2)):
            sizes[name] = random.choice(_WRONG)
    more: dict[str, Any] = {f"gap_{side}": draw.pick(0, 0, 1, 8, 63) for side in "abcd"}
    if draw.chance(0.6):
        more |= {name: random.choice(_WINDOWS) for name in ("window_left", "window_right")}
    forced = draw.chance(0.4)
    case = Case(
        signature.canonical(),
        _target(space, draw),
        instance=draw.near.name if forced else "",
        k_batch=draw.pick(1, 2, 3, 9) if forced and draw.near.constraints.max_splits > 1 else 1,
        deterministic=draw.chance(0.2),
        strategy=Strategy.ANY if draw.chance(0.9) else random.choice(list(Strategy)),
        data=random.choice((Data.RANDOM, Data.RANDOM, Data.RANDOM, Data.INTEGERS, Data.ZEROS, Data.EXTREME)),
        seed=random.getrandbits(16),
        corner=random.choice(list(FmhaCorner)),
        sink_tokens=draw.pick(0, 0, 0, 1, 5, 64) if draw.chance(0.5) else 0,
        own_lengths=draw.chance(0.25),
        spare=draw.pick(0, 0, 0, 1, 17),
        head_first=draw.chance(0.4),
        in_place=draw.chance(0.3),
        page_size=_page_size(draw) if unit.signature.traits.is_paged else 0,
        **(sizes | more),
    )
    if draw.near.signature.traits.entry is not FmhaEntry.FORWARD:
        return case
    return with_schedule(random, case, draw.near, is_legal=draw.is_legal)


def _sizes(draw: _Draw) -> dict[str, int]:
    asked, random = draw.near.constraints, draw.random
    queries = draw.pick(1, 1, 2, edge(random, asked.m0, _MOST_LENGTH), edge(random, asked.m0, _MOST_LENGTH))
    keys = edge(random, asked.n0, _MOST_LENGTH)
    if draw.chance(0.85):
        queries = queries if asked.pad_q else -(-queries // asked.m0) * asked.m0
        keys = keys if asked.pad_k else -(-keys // asked.n0) * asked.n0
    if draw.chance(0.03):
        queries, keys = draw.pick(0, queries), draw.pick(0, keys)
    heads_q, heads_k = random.choice(_HEADS)
    return {
        "m": queries,
        "n": keys,
        "k": _hdim_q(draw),
        "hdim_v": _hdim(draw, asked.hdim_v, asked.dv_multiple),
        "batch": draw.pick(1, 1, 2, 3),
        "heads_q": heads_q,
        "heads_k": heads_k,
    }


def _hdim_q(draw: _Draw) -> int:
    """Whole vectors where pages have them."""
    asked, vector = draw.near.constraints, page_vector(draw.near.signature)
    return -(-_hdim(draw, asked.hdim_q, asked.d_multiple) // vector) * vector


def _append_sizes(draw: _Draw) -> dict[str, int]:
    """Mostly few new rows, as many of Q, in a cache with room for them; whole vectors where pages have them."""
    asked, signature = draw.near.constraints, draw.near.signature
    traits = signature.traits
    added = draw.pick(1, 1, 2, edge(draw.random, asked.n0, _MOST_LENGTH), 0 if draw.chance(0.1) else 3)
    room = added + draw.pick(0, 1, 5, draw.random.randint(0, _MOST_LENGTH))
    rows = 0
    if traits.rope is not FmhaRope.NONE:
        rows = draw.pick(added, added, 0) if traits.varlen else draw.pick(added, 0, draw.random.randint(0, room))
        rows = rows if asked.pad_q else rows // asked.m0 * asked.m0
    hdim = _hdim_q(draw)
    heads_q, heads_k = draw.random.choice(_HEADS)
    turning = asked.rotary_multiple
    return {
        "m": rows,
        "n": room,
        "k": hdim,
        "hdim_v": _hdim(draw, asked.hdim_v, asked.dv_multiple),
        "batch": draw.pick(1, 1, 2, 3),
        "heads_q": heads_q,
        "heads_k": heads_k,
        "new": added,
        "rotary_dim": draw.random.randint(1, max(hdim // turning, 1)) * turning if draw.chance(0.7) else hdim,
    }


def _page_size(draw: _Draw) -> int:
    if draw.near.signature.traits.kv_layout is FmhaKvLayout.VECTORIZED:
        return draw.pick(16, 32, 48, 128) if draw.is_legal else draw.pick(0, 12, 2056)
    return draw.pick(1, 3, 16, 32, 64, 128) if draw.is_legal else draw.pick(0, -1, 2048, 2049)


def _hdim(draw: _Draw, most: int, multiple: int) -> int:
    """The largest, or another that the instance takes; a few that it does not."""
    if not multiple or draw.chance(0.3):
        return most if draw.chance(0.95) else draw.pick(most - 1, most + 1, 32, 100)
    return max(draw.pick(64, draw.random.randint(1, most), most) // multiple, 1) * multiple


def _target(space: Space, draw: _Draw) -> str:
    archs = draw.near.archs if draw.chance(0.92) else tuple(space.archs)
    names = [name for name in archs if name in space.archs]
    if draw.near.backend is Backend.HOST and draw.chance(0.5):
        names = names[:1]  # the lowest level: this CPU has it
    return str(draw.random.choice(space.by_arch[draw.random.choice(names)]))


def _mutated(random: Random, signature: FmhaSignature) -> FmhaSignature:
    """One or two fields changed to anything; it need not mean anything."""
    kinds: dict[str, Any] = get_type_hints(FmhaTraits)
    names = [one.name for one in fields(FmhaTraits)]
    changes = {name: any_value(random, kinds[name]) for name in random.sample(names, random.choice((1, 2)))}
    found = replace(signature, traits=replace(signature.traits, **changes))
    return found if random.random() < 0.7 else replace(found, b=random.choice(list(DType)))
