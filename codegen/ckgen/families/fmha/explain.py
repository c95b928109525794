"""What is said of attention in a selection's trail: sizes, demands, and why tables have no row."""

from __future__ import annotations

from ckgen.families.fmha.append_problem import appends
from ckgen.families.fmha.constraints import FmhaConstraints
from ckgen.families.fmha.enums import FmhaCorner, FmhaRope, FmhaTraits
from ckgen.families.fmha.measured import FmhaUnit
from ckgen.families.fmha.problem import MOST_UNORDERED, has_lengths
from ckgen.model.fmha_shape import SIZES, FmhaShape
from ckgen.model.selection import Tier
from ckgen.model.target import Target

_SCHEDULE = ("split_items", "split_combines", "split_rows", "split_m0", "split_n0", "split_merged")


def sizes_text(traits: FmhaTraits, shape: FmhaShape) -> str:
    """The sizes that the traits have a use for; a mask as its corner, its window, and sink tokens if any."""
    words = [f"{name}={getattr(shape, name)}" for name in SIZES]
    if traits.masked:
        words.append(f"mask={mask_text(shape)}")
    if traits.is_paged:
        words += [f"page_size={shape.page_size}", f"pages={shape.pages}"]
    if appends(traits):
        words.append(f"seqlen_new={shape.seqlen_new}")
    if traits.rope is not FmhaRope.NONE:
        words.append(f"rotary_dim={shape.rotary_dim}")
    if traits.varlen and shape.total_q:
        words.append(f"total_q={shape.total_q}")
    if has_lengths(traits) and shape.min_seqlen_k:
        words.append(f"min_seqlen_k={shape.min_seqlen_k}")
    if traits.is_paged and shape.finite_kv:
        words.append("finite_kv=1")
    if traits.varlen and shape.gaps_q:
        words.append("gaps_q=1")
    if shape.split_items:
        words += [f"{name}={int(getattr(shape, name))}" for name in _SCHEDULE]
    return " ".join(words)


def mask_text(shape: FmhaShape) -> str:
    """As in `b:-1,0`, or `t:127,0,4` with sink tokens."""
    sink = f",{shape.sink_tokens}" if shape.sink_tokens else ""
    corner = "t" if shape.corner is FmhaCorner.TOP_LEFT else "b"
    return f"{corner}:{shape.window_left},{shape.window_right}{sink}"


def demands(asked: FmhaConstraints) -> str:
    """What an instance asks, as in `hdim_q = 128, hdim_v ≤ 128, seqlen_q % 128 = 0`."""
    texts = [
        _hdim_demand("hdim_q", asked.hdim_q, asked.d_multiple),
        _hdim_demand("hdim_v", asked.hdim_v, asked.dv_multiple),
    ]
    if not asked.pad_q:
        texts.append(f"seqlen_q % {asked.m0} = 0")
    if not asked.pad_k:
        texts.append(f"seqlen_k % {asked.n0} = 0")
    if asked.page_multiple > 1:
        texts.append(f"page_size % {asked.page_multiple} = 0")
    if asked.rotary_multiple > 2:
        texts.append(f"rotary_dim % {asked.rotary_multiple} = 0")
    if asked.max_rows:
        texts.append(f"seqlen_q ≤ {asked.max_rows}")
    if asked.max_group:
        texts.append(f"heads_q ≤ {asked.max_group} heads_k")
    if asked.max_page:
        texts.append(f"page_size ≤ {asked.max_page}")
    if asked.causal_only:
        texts.append("causal")
    if asked.topleft_only:
        texts.append("causal from the first key")
    if asked.needs_keys:
        texts.append("keys ≥ 1")
    if asked.needs_finite:
        texts.append("finite pages")
    if not asked.takes_gaps_q:
        texts.append("no gaps in Q")
    if not asked.topleft_slopes:
        texts.append("slopes to the last key")
    if asked.unordered_dq:
        texts.append(f"deterministic: seqlen_k ≤ {MOST_UNORDERED * asked.n0}")
    if asked.max_keys:
        texts.append(f"seqlen_k ≤ {asked.max_keys}")
    if asked.cache_limit:
        texts.append(f"cache ≤ {asked.cache_limit} elements")
    if asked.last_resort:
        texts.append("where no other does")
    return ", ".join(texts)


def _hdim_demand(name: str, most: int, multiple: int) -> str:
    if not multiple:
        return f"{name} = {most}"
    return f"{name} ≤ {most}" + (f", {name} % {multiple} = 0" if multiple > 1 else "")


def why_no_row(unit: FmhaUnit, target: Target, tier: Tier) -> str:
    """Why tables offer nothing at one of the tiers exact, near, far, other_cu."""
    has_tables = any(table.target.gfx == target.gfx for table in unit.tables)
    if has_tables and tier in (Tier.FAR, Tier.OTHER_CU):
        return "not asked of attention"
    if tier in (Tier.EXACT, Tier.NEAR) and unit.tables_on(target):
        return "no row for these sizes" if tier is Tier.EXACT else "no row for lengths near these"
    if tier is Tier.OTHER_CU:
        return f"no table of {target.gfx} at another CU count"
    return f"no table for {target}"
