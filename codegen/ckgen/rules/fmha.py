"""What ck_tile's attention kernels, and ours on a CPU, ask of a Config."""

from __future__ import annotations

from ckgen.families.fmha.config import CkTileFmhaConfig, FmhaPipeline
from ckgen.families.fmha.enums import FmhaBias, FmhaDropout, FmhaEntry, FmhaKv, FmhaKvLayout, FmhaQuant
from ckgen.families.fmha.host_config import HostFmhaConfig
from ckgen.families.fmha.lds import ASYNC_BUFFERS, async_vector, lds_bytes
from ckgen.families.fmha.signature import FLOAT8, WIDE, FmhaSignature
from ckgen.families.fmha.tree import plain, types_of, why_no_tiles
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.dtype import DType
from ckgen.model.finding import Finding
from ckgen.rules.registry import exceeds, first, no_multiple, not_among, rule

_TILE, _HOST = Backend.CK_TILE, Backend.HOST
_FACTORY = "the factories of the pinned CK tree, fmha_fwd.py"
_PAGED_FACTORIES = "the factories of the pinned CK tree, fmha_pagedkv_prefill.py and fmha_batch_prefill.py"
_SPLIT_FACTORY = "the factories of the pinned CK tree, fmha_fwd_splitkv.py, and ck_tile's split-KV pipeline"
_SHAPE = "ck_tile's TileFmhaShape"
_LOOP = "ck_tile's attention pipelines"
_HEAD_DIM_GRAIN = 8
_MAX_HEAD_DIM = 256
_FLOAT8_TILE = Tile(32, 32, 32)
_WHOLE_HEAD_DIMS = (32, 48, 64, 128, 192, 256)
_ASYNC_ORDERS = {
    (4, 4): (1, 2, 0, 1, 0, 1, 2, 0), (4, 2): (1, 2, 0, 1, 2, 0), (2, 4): (1, 2, 0, 1, 2, 0),
    (3, 3): (1, 2, 0, 1, 2, 0), (3, 4): (1, 2, 0, 0, 1, 2, 0), (2, 2): (1, 2, 1, 0),
}  # fmt: skip
"""Buffers of LDS that parts of K, then of V, of a step take in turn, by their numbers; else in a regular order."""
_SCHEDULED = 8
_MAX_HOST_TILE = 1024
_MAX_HOST_KEYS = 256
_ASYNC = (FmhaPipeline.QR_ASYNC, FmhaPipeline.QR_ASYNC_GATHER)
_KV = {FmhaPipeline.QR_PAGEDKV: ("blocktable",), FmhaPipeline.QR_ASYNC_GATHER: ("blocktable", "pagelist")}


@rule("ck_tile.fmha.arch", backend=_TILE, source=_FACTORY)
def arch_has_tiles(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> Finding | None:
    """The pinned tree has attention kernels for the arch."""
    reason = why_no_tiles(arch.name)
    return Finding("", reason, arch.name, "an arch with tiles") if reason else None


@rule("ck_tile.fmha.types", backend=_TILE, source=_FACTORY)
def types_have_tiles(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> Finding | None:
    """Q, K and V are of one type that the arch's matrix instructions take, and O of one that goes with it."""
    if signature.b is not signature.a:
        return Finding("", "K and V of another type than Q", f"{signature.a} {signature.b}", "one type")
    if signature.a in FLOAT8 and arch.fp8_flavour is None:
        return Finding("", f"{arch.name} has no 8-bit matrix instructions", str(signature.a), "16 bits")
    types = (plain(signature.a), plain(signature.c))
    if types in types_of(arch.name):
        return None
    allowed = tuple(sorted(f"{a}→{c}" for a, c in types_of(arch.name)))
    return not_among("→".join(map(str, types)), allowed, f"no tiles for these types on {arch.name}")


@rule("ck_tile.fmha.features", backend=_TILE, source="kernels and pipelines of the pinned CK tree")
def features_exist(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> Finding | None:
    """The pinned tree has the feature: no sinks, scales of blocks, columns of V, random bytes or vectors in pages."""
    traits = signature.traits
    absent = {
        "append": traits.entry is FmhaEntry.APPEND,
        "vectorized": traits.kv_layout is not FmhaKvLayout.LINEAR,
        "sink": traits.sink,
        str(traits.quant): traits.quant in (FmhaQuant.BLOCKSCALE, FmhaQuant.KV_BLOCKSCALE),
        "vcolumn": traits.v_column,
        "randval": traits.dropout is FmhaDropout.RANDVAL,
    }
    word = next((word for word, asked in absent.items() if asked), None)
    return Finding("", "no kernel of the pinned CK tree has it", word, "none") if word else None


@rule("ck_tile.fmha.pages", backend=_TILE, source=_PAGED_FACTORIES)
def pages_go(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> Finding | None:
    """Of whole keys, pipelines over pages, and they alone, read them, with padded keys; qr_pagedkv has no lse."""
    traits, pipeline = signature.traits, config.pipeline
    known = _KV.get(pipeline, ("contiguous",))
    if pipeline.splits or (pipeline not in _KV and not traits.is_paged):
        return None
    asked = {"lse": traits.lse, str(traits.dropout): traits.dropout is not FmhaDropout.NONE}
    word = next((word for word, present in asked.items() if present), "none")
    narrow = signature.a in FLOAT8
    return first(
        not_among(str(traits.kv), known, f"{pipeline} does not read keys and values there"),
        not_among(word, ("none",), "the factory of qr_pagedkv makes no such option")
        if pipeline is FmhaPipeline.QR_PAGEDKV
        else None,
        not_among(str(signature.c), (str(signature.a),), "O is cut to 8 bits over pages") if narrow else None,
        Finding("", "qr_async_gather is for 16 bits", str(signature.a), "16 bits")
        if narrow and pipeline is FmhaPipeline.QR_ASYNC_GATHER
        else None,
        not_among(str(int(config.pad_k)), ("1",), "sequences end within a page: pad the keys"),
    )


@rule("ck_tile.fmha.splits", backend=_TILE, source=_SPLIT_FACTORY)
def splits_go(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> Finding | None:
    """Split keys: no dropout, O not in 8 bits, 8-bit K not in pages; pages and a matrix of bias need padded keys.

    Splits begin anywhere, so a matrix of bias is not read by vectors. Merged heads: of 128, without mask and bias.
    """
    traits, pipeline = signature.traits, config.pipeline
    if not pipeline.splits:
        return None
    by_table, matrix = traits.kv is FmhaKv.BLOCK_TABLE, traits.bias is FmhaBias.ELEMENTWISE
    kv = f"{'8-bit ' if signature.a in FLOAT8 else ''}{traits.kv}"
    merged = {"masked": traits.masked, str(traits.bias): traits.bias is not FmhaBias.NONE}
    word = next((word for word, present in merged.items() if present), "plain")
    return first(
        not_among(str(traits.dropout), ("none",), "the factory of split keys makes no dropout"),
        not_among(f"{signature.c.bits}", ("16", "32"), "what combines splits does not write O in so many bits"),
        not_among(kv, ("contiguous", "8-bit contiguous", "blocktable"), "the factory of split keys has no pages"),
        not_among(str(int(config.pad_k)), ("1",), "pad the keys: sequences end within a page, splits within a vector")
        if by_table or matrix
        else None,
        None
        if pipeline is FmhaPipeline.QR_SPLITKV
        else first(
            not_among(word, ("plain",), "rows of other heads are no later rows: merged heads have no such option"),
            not_among(f"{config.k0_max}x{config.n1}", ("128x128",), "merged heads are of 128"),
        ),
    )


@rule("ck_tile.fmha.fp8-features", backend=_TILE, source=_FACTORY)
def fp8_features(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> Finding | None:
    """8-bit attention has neither softcap, lse nor dropout, and its matrix of bias would be fp32, not of Q's type."""
    traits = signature.traits
    asked = {"softcap": traits.softcap, "lse": traits.lse, "dropout": traits.dropout is not FmhaDropout.NONE}
    asked["elementwise"] = traits.bias is FmhaBias.ELEMENTWISE
    word = next((word for word, present in asked.items() if present), None)
    return Finding("", "not with 8-bit types", word, "none") if word and signature.a in FLOAT8 else None


@rule("ck_tile.fmha.softcap-bias", backend=_TILE, source=_FACTORY)
def softcap_has_no_bias(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> Finding | None:
    """softcap goes without a bias."""
    bias = signature.traits.bias
    wrong = signature.traits.softcap and bias is not FmhaBias.NONE
    return Finding("", "softcap goes without a bias", str(bias), "none") if wrong else None


@rule("ck_tile.fmha.varlen-pads", backend=_TILE, source=_FACTORY)
def varlen_is_padded(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> Finding | None:
    """Sequences that differ in length need padded rows of Q and of K."""
    pads = f"{int(config.pad_q)}{int(config.pad_k)}"
    return not_among(pads, ("11",), "varlen needs both lengths padded") if signature.traits.varlen else None


@rule("ck_tile.fmha.narrow-v", backend=_TILE, source=_FACTORY)
def narrow_v_is_plain(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> Finding | None:
    """Where heads of Q are wider than 128 and than those of V (192 and 128), there is no bias and no dropout."""
    traits = signature.traits
    if config.k0_max <= max(config.n1, 128):
        return None
    return first(
        not_among(str(traits.bias), ("none",), "heads of V narrower than those of Q: no bias"),
        not_among(str(traits.dropout), ("none",), "heads of V narrower than those of Q: no dropout"),
    )


@rule("ck_tile.fmha.head-dims", backend=_TILE, source=_SHAPE)
def head_dims_fit(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> Finding | None:
    """Head dims are multiples of 8, at most 256, of whole steps k0 and k1; one that is computed wider is padded."""
    return first(
        no_multiple(config.k0_max, _HEAD_DIM_GRAIN, "head dim of Q must be a multiple of 8"),
        no_multiple(config.n1, _HEAD_DIM_GRAIN, "head dim of V must be a multiple of 8"),
        exceeds(max(config.k0_max, config.n1), _MAX_HEAD_DIM, "head dim"),
        no_multiple(config.k0_max, config.k0, "K0max must be whole steps of k0"),
        no_multiple(config.n0, config.k1, "keys of a step must be whole steps of k1"),
        None if config.pad_hdim_q else not_among(
            str(config.k0_max), tuple(map(str, _WHOLE_HEAD_DIMS)), "K0max is computed wider: pad the head dim"
        ),
    )  # fmt: skip


@rule("ck_tile.fmha.waves", backend=_TILE, source=_SHAPE)
def waves_fit(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> Finding | None:
    """Waves stand along M alone; tiles are whole warp tiles of each wave; no more threads than a block has."""
    (waves, along_n, along_k), part = config.warps, config.warp_tile
    return first(
        not_among(f"{along_n}x{along_k}", ("1x1",), "waves along N and K"),
        no_multiple(config.m0, waves * part.m, "m0 must be whole warp tiles of each wave"),
        no_multiple(config.n0, part.n, "n0 must be whole warp tiles"),
        no_multiple(config.k0, part.k, "k0 must be whole warp tiles"),
        no_multiple(config.n1, part.n, "n1 must be whole warp tiles"),
        no_multiple(config.k1, part.k, "k1 must be whole warp tiles"),
        exceeds(waves * arch.wave_size, arch.max_threads_per_block, "threads per block"),
    )


@rule("ck_tile.fmha.warp-tile", backend=_TILE, source="ck_tile's warp GEMMs, as arch_specs lists them")
def warp_tile_exists(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> Finding | None:
    """The arch has the warp tile for the type of Q: WMMA archs have 16x16x16 alone, others of 8 bits 32x32x32."""
    tiles = {row.tile for row in arch.warp_tiles_for(_TILE, signature.a, signature.a, DType.FP32)}
    if signature.a in FLOAT8 and arch.wave_size == 64:
        tiles &= {_FLOAT8_TILE}  # the pipelines' own swizzle
    if config.warp_tile in tiles:
        return None
    allowed = tuple(sorted(map(str, tiles)))
    return not_among(str(config.warp_tile), allowed, f"no such warp tile on {arch.name}")


@rule("ck_tile.fmha.pipeline", backend=_TILE, source=_LOOP)
def pipeline_goes(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> Finding | None:
    """qr_async: waves of 64, padded but for K. qr_async_trload: gfx950, batches without bias, softcap and dropout."""
    if config.pipeline.passes_registers:
        steps = config.k0_max // config.k0
        return Finding("", f"{config.pipeline} needs two steps of k0 in a head dim", steps, 2) if steps < 2 else None
    if config.pipeline in _ASYNC:
        pads = "".join(str(int(pad)) for pad in (config.pad_q, config.pad_hdim_q, config.pad_hdim_v))
        return first(
            not_among(str(arch.wave_size), ("64",), f"{config.pipeline} loads with waves of 64"),
            not_among(pads, ("111",), f"{config.pipeline} pads rows of Q and both head dims"),
            not_among(str(signature.traits.bias), ("none", "alibi"), "qr_async takes no matrix of bias")
            if config.pipeline is FmhaPipeline.QR_ASYNC
            else None,
        )
    traits = signature.traits
    options = {"varlen": traits.varlen, str(traits.bias): traits.bias is not FmhaBias.NONE, "softcap": traits.softcap}
    options[str(traits.dropout)] = traits.dropout is not FmhaDropout.NONE
    word = next((word for word, present in options.items() if present), "plain")
    return first(
        not_among(arch.name, ("gfx950",), "only gfx950 reads LDS transposed"),
        not_among(f"{config.k0_max}x{config.n1}", ("64x64", "128x128"), "qr_async_trload has these head dims alone"),
        not_among(word, ("plain",), "qr_async_trload has no such option"),
    )


@rule("ck_tile.fmha.tile", backend=_TILE, source=_FACTORY)
def tile_goes(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> Finding | None:
    """On waves of 64, below fp32, keys whole: n0 = 128 for heads of 128, else m0 = 128; trload the other way round."""
    if arch.wave_size != 64 or signature.a is DType.FP32 or config.pipeline.splits:
        return None
    of_128 = (config.k0_max, config.n1) == (128, 128)
    if config.pipeline is FmhaPipeline.QR_ASYNC_TRLOAD:
        wrong = of_128 and config.n0 == 128
        return Finding("", "qr_async_trload takes fewer keys in a step", config.n0, "below 128") if wrong else None
    if of_128:
        return not_among(str(config.n0), ("128",), "heads of 128 take 128 keys in a step")
    return not_among(str(config.m0), ("128",), "heads other than 128 take 128 rows of Q")


@rule("ck_tile.fmha.gather-spills", backend=_TILE, source="docs/upstream/ck_tile_fmha.md")
def loads_have_registers(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> Finding | None:
    """qr_async_gather: 128 rows of Q and no slopes, as else registers are spilled that its own loads are to fill."""
    if config.pipeline is not FmhaPipeline.QR_ASYNC_GATHER:
        return None
    return first(
        not_among(str(config.m0), ("128",), "copies of K would not wait for their addresses"),
        not_among(str(signature.traits.bias), ("none", "elementwise"), "Q would be spilled before it has come"),
    )


@rule("ck_tile.fmha.scheduling", backend=_TILE, source=_LOOP)
def instructions_are_grouped(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> Finding | None:
    """qr with heads of 256 on waves of 64 schedules matrix instructions in eights."""
    if config.pipeline is not FmhaPipeline.QR or config.k0_max != _MAX_HEAD_DIM or arch.wave_size != 64:
        return None
    part = config.warp_tile
    rows = arch.warp_tiles_for(_TILE, signature.a, signature.a, DType.FP32)
    issues = next((row.issues for row in rows if row.tile == part), 1)
    count = (config.m0 // part.m) * (config.n0 // part.n) * (config.k0 // part.k) * issues // max(config.warps[0], 1)
    return no_multiple(count, _SCHEDULED, "matrix instructions of a step must be whole eights")


@rule("ck_tile.fmha.loads", backend=_TILE, source="ck_tile's async copies")
def loads_are_whole(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> Finding | None:
    """Async copies of K: every lane loads as much."""
    if config.pipeline not in _ASYNC:
        return None
    grain = config.warps[0] * arch.wave_size * async_vector(signature, arch)
    return no_multiple(config.n0 * config.k1, grain, "elements of K in a step must be whole loads of all lanes")


@rule("ck_tile.fmha.lds-order", backend=_TILE, source="LdsBufferSequence; docs/upstream/ck_tile_fmha.md")
def v_spares_k(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> Finding | None:
    """qr_async: the first part of V goes to another buffer of LDS than the last part of K is read from."""
    if config.pipeline not in _ASYNC:
        return None
    of_k, of_v = async_buffers(config.k0_max // max(config.k0, 1), config.n0 // max(config.k1, 1))
    reason = "V overwrites K in LDS, and no barrier is between"
    return Finding("", reason, of_v, "another buffer") if of_k == of_v else None


def async_buffers(parts_k: int, parts_v: int) -> tuple[int, int]:
    """The buffers of the last part of K and of the first of V, of so many in a step."""
    known = _ASYNC_ORDERS.get((parts_k, parts_v))
    if known is not None:
        return known[parts_k - 1], known[parts_k]
    whole = (parts_v - 1) // ASYNC_BUFFERS * ASYNC_BUFFERS
    return (parts_k - 1) % ASYNC_BUFFERS, (ASYNC_BUFFERS - 1 + whole - (parts_v - 1)) % ASYNC_BUFFERS


@rule("ck_tile.fmha.lds", backend=_TILE, source="ck_tile's GetSmemSize of each pipeline")
def tiles_fit_in_lds(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> Finding | None:
    """K's and V's tiles fit in the arch's LDS: one, three (qr_async), or two of each (qr_async_trload)."""
    return exceeds(lds_bytes(signature, config, arch), arch.lds_bytes, "bytes of LDS")


@rule("host.fmha.tile", backend=_HOST, source="the host kernel")
def host_tile_is_small(signature: FmhaSignature, config: HostFmhaConfig, arch: ArchSpec) -> Finding | None:
    """A tile has at most 1,024 rows of Q and 256 keys."""
    return first(
        exceeds(config.m0, _MAX_HOST_TILE, "rows of Q in a tile"),
        exceeds(config.n0, _MAX_HOST_KEYS, "keys in a tile"),
    )


@rule("host.fmha.append", backend=_HOST, source="the host kernel")
def host_appends(signature: FmhaSignature, config: HostFmhaConfig, arch: ArchSpec) -> Finding | None:
    """append: rows and O of one wide type; 8-bit caches with one descale, or with those of pages."""
    if signature.traits.entry is not FmhaEntry.APPEND:
        return None
    return first(
        not_among(str(signature.a), tuple(map(str, sorted(WIDE, key=str))), "append takes rows of wide types"),
        not_among(str(signature.traits.quant), ("none", "pertensor", "kvblockscale"), "append has no such descales"),
    )
