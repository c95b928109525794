"""Small problems that reach what an attention kernel distinguishes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ckgen.families.fmha.config import CkTileFmhaConfig
from ckgen.families.fmha.constraints import FmhaConstraints, constraints_of
from ckgen.families.fmha.enums import FmhaBias, FmhaCorner
from ckgen.families.fmha.signature import FmhaSignature
from ckgen_emulator.fmha.pages import page_count
from ckgen_emulator.fmha.problem import FmhaProblem

_SPLITS = (1, 2, 3, 5, 8)
_PAGE = 16
_MANY = 1 << 31


def cases(signature: FmhaSignature, config: CkTileFmhaConfig) -> tuple[FmhaProblem, ...]:
    """For a kernel of the Config: one tile, several with rests, masks from both corners, a smaller head dim.

    A kernel with splits of keys has them in turn, and few rows of many keys besides.
    """
    found = tuple(dict.fromkeys(_cases(signature, config)))
    if not config.pipeline.splits:
        return found
    if signature.traits.varlen:  # the kernel has lengths of Q from where sequences begin
        found = tuple(replace(one, spare=0) for one in found)
    split = (replace(one, splits=_SPLITS[at % len(_SPLITS)]) for at, one in enumerate(found))
    return *split, *_decoding(found[0], signature, config)


def _decoding(plain: FmhaProblem, signature: FmhaSignature, config: CkTileFmhaConfig) -> Iterator[FmhaProblem]:
    """A row per sequence: all keys the same, and where padded one sequence long, one short and one empty."""
    lengths = (5 * config.n0, 5 * config.n0) if not config.pad_k else (5 * config.n0 + 3, 7, 0)
    rows = 1 if config.pad_q else config.m0
    some = replace(plain, lengths_q=(rows,) * len(lengths), lengths_k=lengths, heads_q=8, heads_k=2, seed=8)
    for splits in (1, 4, 8):
        yield replace(some, splits=splits)
    if signature.traits.masked:
        yield replace(some, window_left=config.n0 + 3, splits=8)


def _cases(signature: FmhaSignature, config: CkTileFmhaConfig) -> Iterator[FmhaProblem]:
    plain = FmhaProblem((config.m0,), (config.n0,), hdim_q=config.k0_max, hdim_v=config.n1)
    if signature.traits.is_paged:
        multiple = constraints_of(signature, config).page_multiple
        plain = replace(plain, page_size=multiple if multiple > 1 else _PAGE)
    yield plain
    larger = _varlen(plain, config) if signature.traits.varlen else _batch(plain, config)
    if signature.traits.is_paged:
        larger = _paged(larger, config, multiple)
        larger = *larger, _last_pages(larger[0], signature, constraints_of(signature, config))
    yield from larger
    rested = larger[0]
    if signature.traits.masked:
        yield replace(rested, window_left=20, window_right=5, seed=2)
        if signature.traits.bias is not FmhaBias.ALIBI:
            yield replace(rested, corner=FmhaCorner.TOP_LEFT, seed=3)
            yield replace(rested, corner=FmhaCorner.TOP_LEFT, window_left=9, window_right=40, seed=4)
    asked = constraints_of(signature, config)
    if asked.d_multiple and asked.dv_multiple:
        yield replace(rested, hdim_q=config.k0_max - asked.d_multiple, hdim_v=config.n1 - asked.dv_multiple, seed=5)


def _varlen(plain: FmhaProblem, config: CkTileFmhaConfig) -> tuple[FmhaProblem, ...]:
    rested = replace(
        plain, lengths_q=(5, config.m0 + 9, 0, 33), lengths_k=(config.n0 + 2, 2 * config.n0 - 28, 7, 0), heads_q=2
    )
    counted = replace(
        plain, lengths_q=(config.m0 - 1, 9), lengths_k=(config.n0, config.n0 + 21), heads_q=2, heads_k=2, spare=3
    )
    return rested, counted


def _batch(plain: FmhaProblem, config: CkTileFmhaConfig) -> tuple[FmhaProblem, ...]:
    rows, keys = config.m0 + (5 if config.pad_q else config.m0), 2 * config.n0 - (27 if config.pad_k else 0)
    rested = replace(plain, lengths_q=(rows, rows), lengths_k=(keys, keys), heads_q=4, heads_k=2)
    others = [replace(rested, head_first=True, seed=1)]
    if config.pad_k:
        others.append(replace(rested, lengths_k=(keys, config.n0 + 1), spare=2))
    return rested, *others


def _paged(problems: tuple[FmhaProblem, ...], config: CkTileFmhaConfig, multiple: int) -> tuple[FmhaProblem, ...]:
    """Without spare rows; the first once more with larger pages, and a window that begins in a later, smallest one."""
    found = tuple(replace(one, spare=0) for one in problems)
    first = found[0]
    far = replace(
        first,
        lengths_q=(9, 9),
        lengths_k=(4 * config.n0 + 5, 3 * config.n0),
        window_left=20,
        page_size=multiple,
        seed=7,
    )
    return *found, replace(first, page_size=2 * first.page_size, seed=6), far


def _last_pages(some: FmhaProblem, signature: FmhaSignature, asked: FmhaConstraints) -> FmhaProblem:
    """In the last pages of as large a cache as the kernel takes, or beyond 2 GiB."""
    elements = asked.cache_limit or _MANY * 8 // signature.b.bits
    pages = elements // (some.heads_k * max(some.hdim_q, some.hdim_v)) // some.page_size
    own = page_count(some.lengths_k, some.page_size)
    return replace(some, pages_before=pages - own if asked.cache_limit else pages + 1, seed=9)
