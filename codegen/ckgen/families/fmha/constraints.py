"""What an attention instance asks of a problem, as the numbers of `ckgen::FmhaConfig`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from ckgen.families.common.asm_config import AsmConfig
from ckgen.families.fmha.append_config import CkTileAppendConfig, HipAppendConfig
from ckgen.families.fmha.asm_kernels import BackwardForm, asm_fmha_kernel_of
from ckgen.families.fmha.backward_config import CkTileBackwardConfig, HipBackwardConfig
from ckgen.families.fmha.config import CkTileFmhaConfig, FmhaPipeline
from ckgen.families.fmha.enums import FmhaBias, FmhaCorner, FmhaEntry
from ckgen.families.fmha.forward_config import HipForwardConfig
from ckgen.families.fmha.grammar import AnyFmhaConfig
from ckgen.families.fmha.hip_config import LOAD_BYTES, MOST_SPLITS, HipFmhaConfig
from ckgen.families.fmha.host_config import HostFmhaConfig
from ckgen.families.fmha.lds import lds_bytes
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.families.fmha.tree import why_no_tiles
from ckgen.model.arch import ArchSpec
from ckgen.specs.archs import load_archs

MAX_HDIM = 256
_LOAD_BITS = 128
_SHIPPED_CACHE = 2**30
"""Elements of 16 bits that a shipped kernel reaches: 2 GiB."""
_ROTATED_VECTOR = 8
_MOST_BYTES = 2**31 - 1
_MOST_DISTANCE = 1 << 16
_NOTE_BYTES = 4
_ROWS_IN_PLACE = 32  # kRowsInPlace of backends/host/fmha/geometry.cpp


@dataclass(frozen=True, slots=True)
class FmhaConstraints:
    """Tile, largest head dims, which lengths need not be whole tiles, and what sizes must be multiples of.

    d_multiple and dv_multiple of 0: a head dim must be the largest itself. Rows of a page and of Q in a sequence, and
    query heads per KV head, are at most max_page, max_rows and max_group, 0: any. causal_only: a mask must be causal
    and end at the last key; topleft_only: causal and start at the first. needs_keys: each sequence has one.
    cache_limit: the most elements of a cache of pages, of which there are as many as the problem says; max_keys of a
    sequence; 0: any. sink_tokens: of masks, it takes some. unordered_dq: tiles of n0 keys add to dQ in no fixed order.
    last_resort: it answers where no other instance does, whatever they cost.
    """

    m0: int
    n0: int
    k0: int
    n1: int
    k1: int
    hdim_q: int
    hdim_v: int
    pad_q: bool
    pad_k: bool
    d_multiple: int
    dv_multiple: int
    max_splits: int = 1
    page_multiple: int = 1
    takes_items: bool = False
    merge_heads: bool = False
    always_combines: bool = False
    rotary_multiple: int = 2
    rows_together: int = 0
    max_page: int = 0
    max_rows: int = 0
    max_group: int = 0
    causal_only: bool = False
    topleft_only: bool = False
    needs_keys: bool = False
    needs_finite: bool = False
    cache_limit: int = 0
    max_keys: int = 0
    sink_tokens: bool = True
    takes_gaps_q: bool = True
    topleft_slopes: bool = True
    unordered_dq: bool = False
    last_resort: bool = False


def _gathering() -> Iterator[ArchSpec]:
    """The archs of kernels that gather: those of waves of 64 that the CK tree has tiles for."""
    return (arch for arch in load_archs().values() if arch.wave_size == 64 and why_no_tiles(arch.name) is None)


@cache
def constraints_of(signature: FmhaSignature, config: AnyFmhaConfig) -> FmhaConstraints:
    """The numbers that a problem of `signature` must satisfy for `config`."""
    if isinstance(config, HipFmhaConfig):
        return _of_decode(signature, config)
    if isinstance(config, AsmConfig):
        return _of_shipped(config)
    if isinstance(config, CkTileAppendConfig):
        return _of_append(signature, config)
    if isinstance(config, HipAppendConfig):
        return _of_any(config.rows, config.rows)
    if isinstance(config, CkTileBackwardConfig):
        return _of_backward(signature, config)
    if isinstance(config, HipBackwardConfig):
        return _without_matrix_instructions(config)
    if isinstance(config, HipForwardConfig):
        combines = signature.c.bits > 8
        found = replace(_without_matrix_instructions(config), merge_heads=True)
        return replace(found, max_splits=MOST_SPLITS) if combines else found
    if isinstance(config, HostFmhaConfig):
        return _of_host(signature, config)
    multiple, traits = _multiple(signature, config), signature.traits
    gathers = config.pipeline is FmhaPipeline.QR_ASYNC_GATHER  # whose copies of K go on into the next row
    return FmhaConstraints(
        m0=config.m0,
        n0=config.n0,
        k0=config.k0,
        n1=config.n1,
        k1=config.k1,
        hdim_q=config.k0_max,
        hdim_v=config.n1,
        pad_q=config.pad_q,
        pad_k=config.pad_k,
        d_multiple=multiple if config.pad_hdim_q and not gathers else 0,
        dv_multiple=multiple if config.pad_hdim_v and not gathers else 0,
        max_splits=MOST_SPLITS if config.pipeline.splits else 1,
        page_multiple=config.n0 if signature.traits.is_paged and not gathers else 1,  # keys of a step are of one page
        merge_heads=config.pipeline is FmhaPipeline.QR_SPLITKV_MERGED,
        always_combines=config.pipeline.splits,
        cache_limit=_MOST_BYTES * 8 // signature.b.bits if gathers else 0,
        max_keys=_max_keys(signature, config),
        sink_tokens=False,
        takes_gaps_q=not (traits.varlen and (traits.is_paged or config.pipeline.splits)),
        topleft_slopes=not (traits.masked and traits.bias is FmhaBias.ALIBI),
    )


def _of_decode(signature: FmhaSignature, config: HipFmhaConfig) -> FmhaConstraints:
    """Of our kernel over a KV cache: head dims as they are, lengths as they come."""
    vector = LOAD_BYTES * 8 // signature.b.bits
    return FmhaConstraints(
        m0=config.m0,
        n0=config.n0,
        k0=4 * vector,
        n1=config.hdim_v,
        k1=32,
        hdim_q=config.hdim_q,
        hdim_v=config.hdim_v,
        pad_q=True,
        pad_k=True,
        d_multiple=0,
        dv_multiple=0,
        max_splits=MOST_SPLITS,
        takes_items=True,
        merge_heads=True,
    )


def _of_shipped(config: AsmConfig) -> FmhaConstraints:
    """Of a kernel that AMD ships: its own head dims, lengths as they are.

    One with windows takes lse of what lies behind the last row: rows must be whole steps. It pads what others pad, and
    costs as much; so its head dim is said as a multiple.
    """
    kernel, tile = asm_fmha_kernel_of(config), config.tile
    whole_rows = kernel.goes_back and kernel.form is BackwardForm.WINDOWS
    return FmhaConstraints(
        m0=tile.k if kernel.goes_back else tile.m,
        n0=tile.m if kernel.goes_back else tile.k,
        k0=kernel.hdim_q,
        n1=tile.n,
        k1=tile.k,
        hdim_q=kernel.hdim_q,
        hdim_v=kernel.hdim_v,
        pad_q=not whole_rows,
        pad_k=True,
        d_multiple=kernel.hdim_q if whole_rows else 0,
        dv_multiple=0,
        page_multiple=kernel.page or 1,
        max_page=kernel.page,
        max_rows=1 if kernel.is_paged else 0,
        max_group=kernel.max_group,
        causal_only=kernel.corner is FmhaCorner.BOTTOM_RIGHT,
        topleft_only=kernel.corner is FmhaCorner.TOP_LEFT,
        needs_keys=kernel.needs_keys,
        needs_finite=kernel.is_paged,
        cache_limit=_SHIPPED_CACHE if kernel.is_paged else 0,
        sink_tokens=not kernel.goes_back,
        takes_gaps_q=not kernel.varlen,
        unordered_dq=kernel.goes_back,
    )


def _of_any(m0: int, n0: int) -> FmhaConstraints:
    """Of kernels that take all sizes."""
    return FmhaConstraints(m0, n0, 1, MAX_HDIM, 1, MAX_HDIM, MAX_HDIM, True, True, 1, 1)


def _without_matrix_instructions(config: HipForwardConfig | HipBackwardConfig) -> FmhaConstraints:
    """Of kernels of ours that take all sizes up to a head dim, slower than any other."""
    hdim = config.hdim
    return replace(_of_any(config.m0, config.n0), n1=hdim, hdim_q=hdim, hdim_v=hdim, last_resort=True)


def _of_host(signature: FmhaSignature, config: HostFmhaConfig) -> FmhaConstraints:
    """Of the CPU's own kernels: threads share the keys of one sequence where there are few."""
    found = _of_any(config.m0, config.n0)
    if signature.traits.entry is not FmhaEntry.FORWARD:
        return found
    return replace(found, max_splits=MOST_SPLITS, takes_items=True, merge_heads=True, rows_together=_ROWS_IN_PLACE)


def _of_append(signature: FmhaSignature, config: CkTileAppendConfig) -> FmhaConstraints:
    """Of ck_tile's kernel that appends: a tile lies in two pages at most, vectors of cosines are whole."""
    return FmhaConstraints(
        m0=config.m0,
        n0=config.n0,
        k0=1,
        n1=config.hdim,
        k1=1,
        hdim_q=config.hdim,
        hdim_v=config.hdim,
        pad_q=config.pad_q,
        pad_k=True,
        d_multiple=_ROTATED_VECTOR if config.pad_hdim_q else 0,
        dv_multiple=_ROTATED_VECTOR if config.pad_hdim_v else 0,
        page_multiple=config.n0 if signature.traits.is_paged else 1,
        rotary_multiple=2 * _ROTATED_VECTOR,
    )


def _of_backward(signature: FmhaSignature, config: CkTileBackwardConfig) -> FmhaConstraints:
    """Of ck_tile's gradients: lengths as they come; dK and dV of several query heads where they are summed."""
    traits = signature.traits
    return FmhaConstraints(
        m0=config.m0,
        n0=config.n0,
        k0=config.hdim,
        n1=config.hdim,
        k1=config.m0,
        hdim_q=config.hdim,
        hdim_v=config.hdim,
        pad_q=True,
        pad_k=True,
        d_multiple=config.pad,
        dv_multiple=config.pad,
        max_group=0 if config.grouped else 1,
        max_keys=_MOST_DISTANCE if traits.bias is FmhaBias.ALIBI else 0,
        sink_tokens=False,
        topleft_slopes=not (traits.masked and traits.bias is FmhaBias.ALIBI),
        unordered_dq=not config.ordered,
    )


def _multiple(signature: FmhaSignature, config: CkTileFmhaConfig) -> int:
    """Padded head dims: whole vectors where loads go straight to LDS, any where they pass registers."""
    return 1 if config.pipeline.passes_registers else _LOAD_BITS // signature.a.bits


def _max_keys(signature: FmhaSignature, config: CkTileFmhaConfig) -> int:
    """Slopes count 16 bits of distance; of a gathering kernel rows of all keys are noted in LDS beside its tiles."""
    if config.pipeline is FmhaPipeline.QR_ASYNC_GATHER:
        smallest = min(_gathering(), key=lambda arch: arch.lds_bytes - lds_bytes(signature, config, arch))
        entries = (smallest.lds_bytes - lds_bytes(signature, config, smallest)) // _NOTE_BYTES
        return max((entries - config.k1) // max(config.n0, 1) - 1, 1) * config.n0
    return _MOST_DISTANCE if signature.traits.bias is FmhaBias.ALIBI else 0
