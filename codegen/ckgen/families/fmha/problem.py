"""Is an attention problem legal, and can an instance run it? Integers, equal to src/fmha/rules.hpp."""

from __future__ import annotations

from ckgen.families.common.problem_finding import ProblemFinding, no_instance
from ckgen.families.fmha.append_problem import appends, check_append, goes_back, supports_append
from ckgen.families.fmha.constraints import MAX_HDIM, FmhaConstraints
from ckgen.families.fmha.enums import FmhaKvLayout, FmhaTraits
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.model.fmha_shape import FmhaCorner, FmhaShape

MOST = 2**31 - 1
MOST_HEADS = 65535
MOST_PAGE_SIZE = 2048
MOST_UNORDERED = 2
"""Sums onto zero that are the same in any order."""
_MOST_SPLIT_TILE = 4096
_VECTOR_BITS = 128


def check(traits: FmhaTraits, shape: FmhaShape) -> ProblemFinding | None:
    """The first rule that makes the sizes illegal; None for legal ones. What the traits have no use for is free."""
    if shape.batch < 1:
        return ProblemFinding("fmha.shape.batch", shape.batch, 1)
    if shape.batch > MOST:
        return ProblemFinding("fmha.shape.batch-max", shape.batch, MOST)
    for heads in (shape.heads_q, shape.heads_k):
        if heads < 1:
            return ProblemFinding("fmha.shape.heads", heads, 1)
        if heads > MOST_HEADS:
            return ProblemFinding("fmha.shape.heads-max", heads, MOST_HEADS)
    if shape.heads_q % shape.heads_k:
        return ProblemFinding("fmha.shape.head-groups", shape.heads_q, shape.heads_k)
    for hdim in (shape.hdim_q, shape.hdim_v):
        if not 1 <= hdim <= MAX_HDIM:
            return ProblemFinding("fmha.shape.hdim", hdim, MAX_HDIM)
    for length in (shape.seqlen_q, shape.seqlen_k):
        if not 0 <= length <= MOST:
            return ProblemFinding("fmha.shape.seqlen", length, MOST)
    return _check_traits(traits, shape)


def check_problem(signature: FmhaSignature, shape: FmhaShape) -> ProblemFinding | None:
    """`check`, and what K's type adds: a page in vectors of 16 bytes is of whole ones, along K's rows and V's keys."""
    found, vector = check(signature.traits, shape), page_vector(signature)
    if found is not None or vector == 1:
        return found
    of_part = next((size for size in (shape.hdim_q, shape.page_size) if size % vector), None)
    return ProblemFinding("fmha.shape.vectors", of_part, vector) if of_part is not None else None


def page_vector(signature: FmhaSignature) -> int:
    """Elements of a vector of pages; 1 where they are linear."""
    return _VECTOR_BITS // signature.b.bits if signature.traits.kv_layout is FmhaKvLayout.VECTORIZED else 1


def _check_traits(traits: FmhaTraits, shape: FmhaShape) -> ProblemFinding | None:
    """What only some signatures ask."""
    if traits.masked:
        sides = ((shape.window_left, -1), (shape.window_right, -1), (shape.sink_tokens, 0))
        for size, least in sides:
            if size < least:
                return ProblemFinding("fmha.shape.window", size, least)
    if traits.is_paged:
        if not 1 <= shape.page_size <= MOST_PAGE_SIZE:
            return ProblemFinding("fmha.shape.page-size", shape.page_size, MOST_PAGE_SIZE)
        if not 0 <= shape.pages <= MOST:
            return ProblemFinding("fmha.shape.pages", shape.pages, MOST)
    if traits.varlen and not 0 <= shape.total_q <= MOST:
        return ProblemFinding("fmha.shape.total-q", shape.total_q, MOST)
    if has_lengths(traits) and not 0 <= shape.min_seqlen_k <= shape.seqlen_k:
        return ProblemFinding("fmha.shape.min-seqlen", shape.min_seqlen_k, shape.seqlen_k)
    return (check_append(traits, shape) if appends(traits) else None) or _check_schedule(shape)


def _check_schedule(shape: FmhaShape) -> ProblemFinding | None:
    most = MOST if shape.split_items else 0
    for count, limit in ((shape.split_items, MOST), (shape.split_combines, most), (shape.split_rows, most)):
        if not 0 <= count <= limit:
            return ProblemFinding("fmha.shape.split-items", count, limit)
    for tile in (shape.split_m0, shape.split_n0):
        if shape.split_items and not 1 <= tile <= _MOST_SPLIT_TILE:
            return ProblemFinding("fmha.shape.split-tile", tile, _MOST_SPLIT_TILE)
    return None


def has_lengths(traits: FmhaTraits) -> bool:
    """Whether sequences may have fewer keys than seqlen_k whatever the arguments."""
    return traits.varlen or traits.is_paged


def supports(
    constraints: FmhaConstraints, traits: FmhaTraits, shape: FmhaShape, splits: int = 1
) -> ProblemFinding | None:
    """The first demand of an instance that a legal problem of its signature fails; None if it can run.

    Keys that do not fill their tiles are the padded instances', and no keys at all fill none.
    """
    asked = constraints
    if traits.varlen and not (asked.pad_q and asked.pad_k):
        return ProblemFinding("fmha.instance.varlen", asked.m0, asked.n0)
    for hdim, most in ((shape.hdim_q, asked.hdim_q), (shape.hdim_v, asked.hdim_v)):
        if hdim > most:
            return ProblemFinding("fmha.instance.hdim", hdim, most)
    beyond = _beyond_limits(asked, traits, shape) or _multiples(asked, traits, shape)
    if beyond is not None:
        return beyond
    most_splits = 1 if shape.split_items else asked.max_splits
    if splits > most_splits:
        return ProblemFinding("fmha.instance.splits", splits, most_splits)
    if traits.varlen and shape.gaps_q and not asked.takes_gaps_q:
        return ProblemFinding("fmha.instance.gaps-q", 0, 0)
    if traits.is_paged and asked.cache_limit:
        rows = shape.pages * shape.page_size
        most = asked.cache_limit // (shape.heads_k * max(shape.hdim_q, shape.hdim_v))
        if not 1 <= rows <= most:
            return ProblemFinding("fmha.instance.cache", rows, most)
    least = shape.min_seqlen_k if has_lengths(traits) else shape.seqlen_k
    if asked.needs_keys and least < 1:
        return ProblemFinding("fmha.instance.keys", least, 1)
    if asked.needs_finite and not shape.finite_kv:
        return ProblemFinding("fmha.instance.finite", 0, 0)
    return _supports_schedule(asked, shape) if shape.split_items else None


def check_order(asked: FmhaConstraints, shape: FmhaShape) -> ProblemFinding | None:
    """Why a deterministic result may not be asked for; None where it may: two tiles of keys add up alike."""
    tiles = -(-shape.seqlen_k // asked.n0)
    is_ordered = not asked.unordered_dq or tiles <= MOST_UNORDERED
    return None if is_ordered else ProblemFinding("fmha.instance.unordered-dq", tiles, MOST_UNORDERED)


def _supports_schedule(asked: FmhaConstraints, shape: FmhaShape) -> ProblemFinding | None:
    """Whether a kernel reads the problem's schedule of splits, which was made for its tiles."""
    if not asked.takes_items:
        return ProblemFinding("fmha.instance.items", shape.split_items, 0)
    if shape.split_m0 != asked.m0:
        return ProblemFinding("fmha.instance.split-tile", shape.split_m0, asked.m0)
    if shape.split_n0 % asked.n0:
        return ProblemFinding("fmha.instance.split-tile", shape.split_n0, asked.n0)
    if shape.split_merged != asked.merge_heads:
        return ProblemFinding("fmha.instance.split-heads", int(shape.split_merged), int(asked.merge_heads))
    return None


def _beyond_limits(asked: FmhaConstraints, traits: FmhaTraits, shape: FmhaShape) -> ProblemFinding | None:
    """What few instances take no more of, or nothing at all."""
    group = shape.heads_q // shape.heads_k
    if asked.max_keys and shape.seqlen_k > asked.max_keys:
        return ProblemFinding("fmha.instance.max-keys", shape.seqlen_k, asked.max_keys)
    if traits.masked and shape.sink_tokens and not asked.sink_tokens:
        return ProblemFinding("fmha.instance.sink-tokens", shape.sink_tokens, 0)
    if not asked.topleft_slopes and not has_corner(traits, shape, FmhaCorner.BOTTOM_RIGHT):
        return ProblemFinding("fmha.instance.slopes", 0, 0)
    if traits.is_paged and asked.max_page and shape.page_size > asked.max_page:
        return ProblemFinding("fmha.instance.page", shape.page_size, asked.max_page)
    if asked.max_rows and shape.seqlen_q > asked.max_rows:
        return ProblemFinding("fmha.instance.rows", shape.seqlen_q, asked.max_rows)
    if asked.max_group and group > asked.max_group:
        return ProblemFinding("fmha.instance.group", group, asked.max_group)
    if asked.causal_only and not is_causal(traits, shape, FmhaCorner.BOTTOM_RIGHT):
        return ProblemFinding("fmha.instance.mask", 0, 0)
    if asked.topleft_only and not is_causal(traits, shape, FmhaCorner.TOP_LEFT):
        return ProblemFinding("fmha.instance.mask-topleft", 0, 0)
    return None


def _multiples(asked: FmhaConstraints, traits: FmhaTraits, shape: FmhaShape) -> ProblemFinding | None:
    """What must be whole vectors, tiles or steps."""
    for hdim, of in (
        (shape.hdim_q, asked.d_multiple or asked.hdim_q),
        (shape.hdim_v, asked.dv_multiple or asked.hdim_v),
    ):
        if hdim % of:
            return ProblemFinding("fmha.instance.hdim-multiple", hdim, of)
    if appends(traits):
        if (finding := supports_append(asked, traits, shape)) is not None:
            return finding
    elif not asked.pad_q and shape.seqlen_q % asked.m0:
        return ProblemFinding("fmha.instance.q-tile", shape.seqlen_q, asked.m0)
    elif not asked.pad_k and (shape.seqlen_k == 0 or shape.seqlen_k % asked.n0):
        return ProblemFinding("fmha.instance.k-tile", shape.seqlen_k, asked.n0)
    if traits.is_paged and shape.page_size % asked.page_multiple:
        return ProblemFinding("fmha.instance.page-multiple", shape.page_size, asked.page_multiple)
    return None


def is_causal(traits: FmhaTraits, shape: FmhaShape, corner: FmhaCorner) -> bool:
    """Whether each row sees all keys up to its own: the first row the first key, or the last row the last one."""
    causal = shape.window_left == -1 and shape.window_right == 0
    return not traits.masked or (causal and has_corner(traits, shape, corner))


def has_corner(traits: FmhaTraits, shape: FmhaShape, corner: FmhaCorner) -> bool:
    """Whether the diagonal of a mask has this corner; where lengths are the same it has both."""
    same = not has_lengths(traits) and shape.seqlen_q == shape.seqlen_k
    return shape.corner is corner or same


def no_fmha_instance(traits: FmhaTraits, shape: FmhaShape) -> ProblemFinding:
    """Why nothing can have a signature of which there is no instance at all."""
    if appends(traits):
        return ProblemFinding("fmha.no-append", 0, 0)
    if goes_back(traits):
        return ProblemFinding("fmha.no-backward", 0, 0)
    return ProblemFinding("fmha.no-paged-kv", shape.page_size, 0) if traits.is_paged else no_instance()
