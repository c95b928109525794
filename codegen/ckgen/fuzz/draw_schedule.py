"""Schedules of splits in cases of attention."""

from __future__ import annotations

from dataclasses import replace
from math import lcm
from random import Random

from ckgen.families.fmha.constraints import FmhaConstraints
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.problem import page_vector
from ckgen.fuzz.case import Case, Schedule

_SHARE, _SHARE_OF_OTHERS = 0.4, 0.05
_DECODING = 0.8
_SCHEDULES = (*(Schedule.COST,) * 5, *(Schedule.FIXED,) * 3, Schedule.NO_SPLIT)
_HEADS = ((1, 1), (2, 1), (2, 2), (4, 2), (4, 1))
_MOST_ELEMENTS = 1 << 21
_HDIM = 64


def with_schedule(random: Random, case: Case, near: FmhaInstance, *, is_legal: bool) -> Case:
    """A share of cases, few of those whose instance takes none, with a schedule; of the legal ones most have several
    sequences of few queries and many keys."""
    takes = near.constraints.takes_items
    if random.random() >= (_SHARE if takes else _SHARE_OF_OTHERS):
        return case
    if takes and is_legal and random.random() < _DECODING:
        case = _decoding(random, case, near)
    case = scheduled(random, case, near.constraints, is_legal=is_legal)
    return replace(
        case,
        instance=near.name if takes and random.random() < 0.4 else case.instance,
        k_batch=1 if random.random() < 0.9 else case.k_batch,
    )


def scheduled(random: Random, case: Case, tiles: FmhaConstraints, *, is_legal: bool) -> Case:
    """The case with a schedule for a kernel of these tiles, and mostly sequences of their own lengths."""
    n0 = tiles.n0
    return replace(
        case,
        own_lengths=random.random() < 0.7,
        schedule=random.choice(_SCHEDULES),
        split_cu_num=random.choice((0, 0, 1, 3, 40, 304, 304)),
        fixed_split_size=random.choice((1, 64, 100, 256)),
        max_splits=random.choice((0, 0, 0, 0, 1, 2, 3, 5)),
        split_n0=random.choice((0, 0, 0, n0, 2 * n0, 3 * n0)) if is_legal else random.choice((0, n0 + 1, 1, 4097)),
        split_bound=random.random() < 0.4,
        split_spare=random.choice((0, 0, 1, 6)),
    )


def _decoding(random: Random, case: Case, near: FmhaInstance) -> Case:
    """Several tiles of keys; head dims are small where the instance takes any, so that many keys are few elements."""
    asked, n0 = near.constraints, near.constraints.n0
    k, hdim_v = case.k, case.hdim_v
    if asked.d_multiple and asked.dv_multiple:
        unit = lcm(asked.d_multiple, page_vector(near.signature))
        k, hdim_v = -(-min(k, _HDIM) // unit) * unit, -(-min(hdim_v, _HDIM) // asked.dv_multiple) * asked.dv_multiple
    (heads_q, heads_k), batch = random.choice(_HEADS), random.choice((2, 2, 3, 4))
    keys = n0 * random.randint(1, 12) + random.choice((-1, 0, 1, random.randint(0, n0)))
    found = replace(
        case, batch=batch, heads_q=heads_q, heads_k=heads_k, m=random.choice((1, 1, 2, 3, 5, asked.m0 + 1)), k=k,
        hdim_v=hdim_v, n=min(keys, _MOST_ELEMENTS // (batch * heads_q * (k + hdim_v))),
    )  # fmt: skip
    return found if random.random() < 0.6 else replace(found, window_left=random.choice((-1, 0, 20, 130, 500)))
