"""What ck_tile's attention kernels ask of tiles, waves and pipelines, of their loads and of LDS."""

from __future__ import annotations

from ckgen.families.fmha.config import CkTileFmhaConfig, FmhaPipeline
from ckgen.families.fmha.enums import FmhaBias, FmhaDropout
from ckgen.families.fmha.lds import ASYNC_BUFFERS, async_vector, lds_bytes
from ckgen.families.fmha.rules.ck_tile import RULES
from ckgen.families.fmha.signature import FLOAT8, FmhaSignature
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.dtype import DType
from ckgen.model.finding import RuleFinding
from ckgen.rules.checks import broken, exceeds, first, no_multiple, not_among

_TILE = Backend.CK_TILE
_FACTORY = "the factories of the pinned CK tree, fmha_fwd.py"
_SHAPE = "ck_tile's TileFmhaShape"
_LOOP = "ck_tile's attention pipelines"
_HEAD_DIM_GRAIN = 8
_MAX_HEAD_DIM = 256
_FLOAT8_TILE = Tile(32, 32, 32)
_WHOLE_HEAD_DIMS = (32, 48, 64, 128, 192, 256)
_ASYNC_BUFFERS = {(4, 4): (1, 0), (4, 2): (1, 2), (2, 4): (2, 0), (3, 3): (0, 1), (3, 4): (0, 0), (2, 2): (2, 1)}
"""By the parts of K and of V in a step: the buffers of the last of K and the first of V; else in a regular order."""
_SCHEDULED = 8
_ASYNC = (FmhaPipeline.QR_ASYNC, FmhaPipeline.QR_ASYNC_GATHER)


@RULES.config_rule("ck_tile.fmha.head-dims", source=_SHAPE)
def head_dims_fit(config: CkTileFmhaConfig, arch: ArchSpec) -> RuleFinding | None:
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


@RULES.config_rule("ck_tile.fmha.waves", source=_SHAPE)
def waves_fit(config: CkTileFmhaConfig, arch: ArchSpec) -> RuleFinding | None:
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


@RULES.rule("ck_tile.fmha.warp-tile", source="ck_tile's warp GEMMs, as arch_specs lists them")
def warp_tile_exists(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> RuleFinding | None:
    """The arch has the warp tile for the type of Q: WMMA archs have 16x16x16 alone, others of 8 bits 32x32x32."""
    tiles = {row.tile for row in arch.warp_tiles_for(_TILE, signature.a, signature.a, DType.FP32)}
    if signature.a in FLOAT8 and arch.wave_size == 64:
        tiles &= {_FLOAT8_TILE}  # the pipelines' own swizzle
    if config.warp_tile in tiles:
        return None
    allowed = tuple(sorted(map(str, tiles)))
    return not_among(str(config.warp_tile), allowed, f"no such warp tile on {arch.name}")


@RULES.rule("ck_tile.fmha.pipeline", source=_LOOP)
def pipeline_goes(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> RuleFinding | None:
    """qr_async: waves of 64, padded but for K. qr_async_trload: transposing reads of LDS, batches without options."""
    if config.pipeline.passes_registers:
        steps = config.k0_max // config.k0
        return broken(f"{config.pipeline} needs two steps of k0 in a head dim", steps, 2) if steps < 2 else None
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
        _reads_transposed(arch),
        not_among(f"{config.k0_max}x{config.n1}", ("64x64", "128x128"), "qr_async_trload has these head dims alone"),
        not_among(word, ("plain",), "qr_async_trload has no such option"),
    )


def _reads_transposed(arch: ArchSpec) -> RuleFinding | None:
    has = arch.transposing_lds_reads
    return None if has else broken("the arch does not read LDS transposed", arch.name, "one that does")


@RULES.rule("ck_tile.fmha.tile", source=_FACTORY)
def tile_goes(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> RuleFinding | None:
    """On waves of 64, below fp32, keys whole: n0 = 128 for heads of 128, else m0 = 128; trload the other way round."""
    if arch.wave_size != 64 or signature.a is DType.FP32 or config.pipeline.splits:
        return None
    of_128 = (config.k0_max, config.n1) == (128, 128)
    if config.pipeline is FmhaPipeline.QR_ASYNC_TRLOAD:
        wrong = of_128 and config.n0 == 128
        return broken("qr_async_trload takes fewer keys in a step", config.n0, "below 128") if wrong else None
    if of_128:
        return not_among(str(config.n0), ("128",), "heads of 128 take 128 keys in a step")
    return not_among(str(config.m0), ("128",), "heads other than 128 take 128 rows of Q")


@RULES.rule("ck_tile.fmha.gather-spills", source="docs/upstream/ck_tile_fmha.md")
def loads_have_registers(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> RuleFinding | None:
    """qr_async_gather: 128 rows of Q and no slopes, as else registers are spilled that its own loads are to fill."""
    if config.pipeline is not FmhaPipeline.QR_ASYNC_GATHER:
        return None
    return first(
        not_among(str(config.m0), ("128",), "copies of K would not wait for their addresses"),
        not_among(str(signature.traits.bias), ("none", "elementwise"), "Q would be spilled before it has come"),
    )


@RULES.rule("ck_tile.fmha.scheduling", source=_LOOP)
def instructions_are_grouped(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> RuleFinding | None:
    """qr with heads of 256 on waves of 64 schedules matrix instructions in eights."""
    if config.pipeline is not FmhaPipeline.QR or config.k0_max != _MAX_HEAD_DIM or arch.wave_size != 64:
        return None
    part = config.warp_tile
    rows = arch.warp_tiles_for(_TILE, signature.a, signature.a, DType.FP32)
    issues = next((row.issues for row in rows if row.tile == part), 1)
    count = (config.m0 // part.m) * (config.n0 // part.n) * (config.k0 // part.k) * issues // max(config.warps[0], 1)
    return no_multiple(count, _SCHEDULED, "matrix instructions of a step must be whole eights")


@RULES.rule("ck_tile.fmha.loads", source="ck_tile's async copies")
def loads_are_whole(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> RuleFinding | None:
    """Async copies of K: every lane loads as much."""
    if config.pipeline not in _ASYNC:
        return None
    grain = config.warps[0] * arch.wave_size * async_vector(signature, arch)
    return no_multiple(config.n0 * config.k1, grain, "elements of K in a step must be whole loads of all lanes")


@RULES.config_rule("ck_tile.fmha.lds-order", source="LdsBufferSequence; docs/upstream/ck_tile_fmha.md")
def v_spares_k(config: CkTileFmhaConfig, arch: ArchSpec) -> RuleFinding | None:
    """qr_async: the first part of V goes to another buffer of LDS than the last part of K is read from."""
    if config.pipeline not in _ASYNC:
        return None
    of_k, of_v = async_buffers(config.k0_max // max(config.k0, 1), config.n0 // max(config.k1, 1))
    reason = "V overwrites K in LDS, and no barrier is between"
    return broken(reason, of_v, "another buffer") if of_k == of_v else None


def async_buffers(parts_k: int, parts_v: int) -> tuple[int, int]:
    """The buffers of the last part of K and of the first of V, of so many in a step."""
    if (parts_k, parts_v) in _ASYNC_BUFFERS:
        return _ASYNC_BUFFERS[parts_k, parts_v]
    whole = (parts_v - 1) // ASYNC_BUFFERS * ASYNC_BUFFERS
    return (parts_k - 1) % ASYNC_BUFFERS, (ASYNC_BUFFERS - 1 + whole - (parts_v - 1)) % ASYNC_BUFFERS


@RULES.rule("ck_tile.fmha.lds", source="ck_tile's GetSmemSize of each pipeline")
def tiles_fit_in_lds(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> RuleFinding | None:
    """K's and V's tiles fit in the arch's LDS: one, three (qr_async), or two of each (qr_async_trload)."""
    return exceeds(lds_bytes(signature, config, arch), arch.lds_bytes, "bytes of LDS")
