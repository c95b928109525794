"""The same questions as problem.py of problems that append to a cache. Integers, equal to src/fmha/append_rules.hpp."""

from __future__ import annotations

from ckgen.families.common.problem_finding import ProblemFinding
from ckgen.families.fmha.constraints import FmhaConstraints
from ckgen.families.fmha.enums import FmhaEntry, FmhaRope, FmhaTraits
from ckgen.model.fmha_shape import FmhaShape

_PADS = 8


def appends(traits: FmhaTraits) -> bool:
    """Whether new rows go into a cache."""
    return traits.entry is FmhaEntry.APPEND


def goes_back(traits: FmhaTraits) -> bool:
    """Whether gradients are computed."""
    return traits.entry is FmhaEntry.BACKWARD


def rotated_rows(traits: FmhaTraits, shape: FmhaShape) -> int:
    """Rows of Q that rotate."""
    return 0 if traits.rope is FmhaRope.NONE else shape.seqlen_q


def is_empty(traits: FmhaTraits, shape: FmhaShape) -> bool:
    """Whether a run of the legal problem does nothing. Backward writes zeros where only one side has no row."""
    if goes_back(traits):
        return shape.seqlen_q == 0 and shape.seqlen_k == 0
    if appends(traits):
        return shape.seqlen_new == 0 and rotated_rows(traits, shape) == 0
    return shape.seqlen_q == 0


def check_append(traits: FmhaTraits, shape: FmhaShape) -> ProblemFinding | None:
    """The first rule that makes the sizes of append illegal, behind those of all of attention."""
    rows = rotated_rows(traits, shape)
    for length in (shape.seqlen_new, rows):
        if not 0 <= length <= shape.seqlen_k:
            return ProblemFinding("fmha.shape.seqlen-new", length, shape.seqlen_k)
    if traits.varlen and rows not in (0, shape.seqlen_new):
        return ProblemFinding("fmha.shape.append-q", rows, shape.seqlen_new)
    if traits.rope is not FmhaRope.NONE and (not 2 <= shape.rotary_dim <= shape.hdim_q or shape.rotary_dim % 2):
        return ProblemFinding("fmha.shape.rotary-dim", shape.rotary_dim, shape.hdim_q)
    return None


def supports_append(asked: FmhaConstraints, traits: FmhaTraits, shape: FmhaShape) -> ProblemFinding | None:
    """What an instance asks of append alone."""
    rows = rotated_rows(traits, shape)
    if not asked.pad_q and rows % asked.m0:
        return ProblemFinding("fmha.instance.q-tile", rows, asked.m0)
    if traits.rope is not FmhaRope.NONE and shape.rotary_dim % asked.rotary_multiple:
        return ProblemFinding("fmha.instance.rotary-multiple", shape.rotary_dim, asked.rotary_multiple)
    return None


def append_cost(asked: FmhaConstraints, traits: FmhaTraits, shape: FmhaShape, cu_num: int) -> int:
    """Rounds of workgroups times the elements of one, then how many sizes are padded: less is better."""
    rows = rotated_rows(traits, shape)
    most = max(-(-rows // asked.m0), -(-shape.seqlen_new // asked.n0))
    rounds = -(-most * shape.batch * (shape.heads_q if rows else shape.heads_k) // max(cu_num, 1))
    pads = asked.pad_q + asked.pad_k + (asked.d_multiple != 0) + (asked.dv_multiple != 0)
    return rounds * max(asked.m0, asked.n0) * (shape.hdim_q + shape.hdim_v) * _PADS + pads
