"""What ck_tile's attention kernels ask of a signature: its types and options, and those that go with each other."""

from __future__ import annotations

from ckgen.families.fmha.config import CkTileFmhaConfig, FmhaPipeline
from ckgen.families.fmha.enums import FmhaBias, FmhaDropout, FmhaEntry, FmhaKv, FmhaKvLayout, FmhaQuant
from ckgen.families.fmha.signature import FLOAT8, FmhaSignature
from ckgen.families.fmha.tree import plain, types_of, why_no_tiles
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.finding import RuleFinding
from ckgen.rules.checks import broken, first, not_among
from ckgen.rules.rule_set import RuleSet

_FACTORY = "the factories of the pinned CK tree, fmha_fwd.py"
_PAGED_FACTORIES = "the factories of the pinned CK tree, fmha_pagedkv_prefill.py and fmha_batch_prefill.py"
_SPLIT_FACTORY = "the factories of the pinned CK tree, fmha_fwd_splitkv.py, and ck_tile's split-KV pipeline"
_KV = {FmhaPipeline.QR_PAGEDKV: ("blocktable",), FmhaPipeline.QR_ASYNC_GATHER: ("blocktable", "pagelist")}

RULES = RuleSet(Backend.CK_TILE, FmhaSignature, CkTileFmhaConfig)


@RULES.config_rule("ck_tile.fmha.arch", source=_FACTORY)
def arch_has_tiles(config: CkTileFmhaConfig, arch: ArchSpec) -> RuleFinding | None:
    """The pinned tree has attention kernels for the arch."""
    reason = why_no_tiles(arch.name)
    return broken(reason, arch.name, "an arch with tiles") if reason else None


@RULES.rule("ck_tile.fmha.direction", source="ckgen's bridge to ck_tile, backends/ck_tile/fmha_*.hpp")
def goes_forward(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> RuleFinding | None:
    """The Config is of the tree's forward kernels."""
    if signature.traits.entry is not FmhaEntry.BACKWARD:
        return None
    return broken("the kernel goes forward", "bwd", "forward")


@RULES.rule("ck_tile.fmha.types", source=_FACTORY)
def types_have_tiles(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> RuleFinding | None:
    """Q, K and V are of one type that the arch's matrix instructions take, and O of one that goes with it."""
    if signature.b is not signature.a:
        return broken("K and V of another type than Q", f"{signature.a} {signature.b}", "one type")
    if signature.a in FLOAT8 and arch.fp8_flavour is None:
        return broken(f"{arch.name} has no 8-bit matrix instructions", str(signature.a), "16 bits")
    types = (plain(signature.a), plain(signature.c))
    if types in types_of(arch.name):
        return None
    allowed = tuple(sorted(f"{a}→{c}" for a, c in types_of(arch.name)))
    return not_among("→".join(map(str, types)), allowed, f"no tiles for these types on {arch.name}")


@RULES.rule("ck_tile.fmha.features", source="kernels and pipelines of the pinned CK tree")
def features_exist(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> RuleFinding | None:
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
    return broken("no kernel of the pinned CK tree has it", word, "none") if word else None


@RULES.rule("ck_tile.fmha.pages", source=_PAGED_FACTORIES)
def pages_go(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> RuleFinding | None:
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
        broken("qr_async_gather is for 16 bits", str(signature.a), "16 bits")
        if narrow and pipeline is FmhaPipeline.QR_ASYNC_GATHER
        else None,
        not_among(str(int(config.pad_k)), ("1",), "sequences end within a page: pad the keys"),
    )


@RULES.rule("ck_tile.fmha.splits", source=_SPLIT_FACTORY)
def splits_go(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> RuleFinding | None:
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


@RULES.rule("ck_tile.fmha.fp8-features", source=_FACTORY)
def fp8_features(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> RuleFinding | None:
    """8-bit attention has neither softcap, lse nor dropout, and its matrix of bias would be fp32, not of Q's type."""
    traits = signature.traits
    asked = {"softcap": traits.softcap, "lse": traits.lse, "dropout": traits.dropout is not FmhaDropout.NONE}
    asked["elementwise"] = traits.bias is FmhaBias.ELEMENTWISE
    word = next((word for word, present in asked.items() if present), None)
    return broken("not with 8-bit types", word, "none") if word and signature.a in FLOAT8 else None


@RULES.rule("ck_tile.fmha.softcap-bias", source=_FACTORY)
def softcap_has_no_bias(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> RuleFinding | None:
    """softcap goes without a bias."""
    bias = signature.traits.bias
    wrong = signature.traits.softcap and bias is not FmhaBias.NONE
    return broken("softcap goes without a bias", str(bias), "none") if wrong else None


@RULES.rule("ck_tile.fmha.varlen-pads", source=_FACTORY)
def varlen_is_padded(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> RuleFinding | None:
    """Sequences that differ in length need padded rows of Q and of K."""
    pads = f"{int(config.pad_q)}{int(config.pad_k)}"
    return not_among(pads, ("11",), "varlen needs both lengths padded") if signature.traits.varlen else None


@RULES.rule("ck_tile.fmha.narrow-v", source=_FACTORY)
def narrow_v_is_plain(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> RuleFinding | None:
    """Where heads of Q are wider than 128 and than those of V (192 and 128), there is no bias and no dropout."""
    traits = signature.traits
    if config.k0_max <= max(config.n1, 128):
        return None
    return first(
        not_among(str(traits.bias), ("none",), "heads of V narrower than those of Q: no bias"),
        not_among(str(traits.dropout), ("none",), "heads of V narrower than those of Q: no dropout"),
    )
