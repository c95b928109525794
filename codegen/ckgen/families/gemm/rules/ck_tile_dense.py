"""What ck_tile's dense GEMMs ask of a Config beyond what every ck_tile kernel asks."""

from __future__ import annotations

from ckgen.families.gemm import ck_tile_geometry as geometry
from ckgen.families.gemm.ck_tile_tree import tree_lacks
from ckgen.families.gemm.config import CkTileConfig, Epilogue, TilePipeline
from ckgen.families.gemm.enums import Quant
from ckgen.families.gemm.rules.ck_tile import RULES
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.arch import ArchKind, ArchSpec
from ckgen.model.finding import RuleFinding
from ckgen.rules.checks import broken, exceeds, first, no_multiple, not_among

_LOADS = "ck_tile static_encoding_pattern.hpp, thread_raked"


@RULES.rule("ck_tile.dense.tree", source="compiled with the pinned CK tree, ck_tile_tree.json")
def tree_has_it(signature: GemmSignature, config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """The CK tree can make the kernel on this arch."""
    lack = tree_lacks(signature, config, arch.name) if _is_dense(signature, config, arch) else None
    return broken(lack, f"{config.pipeline} on {arch.name}", "what the CK tree has") if lack else None


@RULES.rule("ck_tile.dense.flags", source="ck_tile universal GEMM")
def flags_mean_something(signature: GemmSignature, config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """No flag of another kind of kernel: permuted N, row-major scales, a second LDS buffer, 2:4 sparse A."""
    if not _is_dense(signature, config, arch):
        return None
    flags = ("permute_n", "a_row_major_scales", "double_smem", "structured_sparsity")
    given = tuple(flag for flag in flags if getattr(config, flag))
    return broken(f"a dense GEMM on {config.pipeline} has no {given[0]}", given[0], "none") if given else None


@RULES.rule("ck_tile.dense.wave_groups", source="ck_tile gemm_pipeline_ag_bg_cr_comp_v5.hpp")
def wave_groups(signature: GemmSignature, config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """compv5 alternates two groups of one wave along K; the other pipelines know neither groups nor waves along K."""
    if not _is_dense(signature, config, arch):
        return None
    is_v5 = config.pipeline is TilePipeline.COMPV5
    groups, waves = (2, "1x1x2") if is_v5 else (1, f"{config.warps[0]}x{config.warps[1]}x1")
    given = "x".join(map(str, config.warps))
    return first(
        not_among(str(config.num_wave_groups), (str(groups),), f"{config.pipeline} runs so many wave groups"),
        not_among(given, (waves,), f"{config.pipeline} places its waves so"),
    )


@RULES.rule("ck_tile.dense.loads", source=_LOADS)
def loads_cover_the_tile(signature: GemmSignature, config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """A wave loads whole rows of A's and of B's tile, and all waves together tile its other extent."""
    if not _is_dense(signature, config, arch):
        return None
    tile = config.tile
    a_vector, b_vector = geometry.load_vectors(signature, config, arch.wave_size)
    a_rows, a_run = (tile.m, tile.k) if signature.layout.a_is_row_major else (tile.k, tile.m)
    b_rows, b_run = (tile.k, tile.n) if signature.layout.b_is_row_major else (tile.n, tile.k)
    return first(_cover(config, arch, a_rows, a_run, a_vector, "A"), _cover(config, arch, b_rows, b_run, b_vector, "B"))


@RULES.rule("ck_tile.dense.direct_loads", source="ck_tile amd_buffer_addressing_builtins.hpp")
def direct_loads(signature: GemmSignature, config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """comp_async loads 4 or 16 bytes per lane straight into LDS."""
    if not _is_dense(signature, config, arch) or config.pipeline is not TilePipeline.COMP_ASYNC:
        return None
    vectors = geometry.load_vectors(signature, config, arch.wave_size)
    sizes = (elements * dtype.bits // 8 for elements, dtype in zip(vectors, (signature.a, signature.b), strict=True))
    return first(*(not_among(str(size), ("4", "16"), "bytes per load into LDS") for size in sizes))


@RULES.rule("ck_tile.dense.vectors", source="ck_tile GetGlobalVectorLoadSize")
def vectors_on_every_arch(signature: GemmSignature, config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """Loads are as wide on 32-wide waves as on 64-wide ones: an instance asks the same of a problem on every arch."""
    if not _is_dense(signature, config, arch):
        return None
    wide, narrow = (geometry.load_vectors(signature, config, lanes) for lanes in (64, arch.wave_size))
    if wide == narrow:
        return None
    limit = "{} and {}".format(*wide)
    return broken("elements per load of A and B differ with the wave's size", "{} and {}".format(*narrow), limit)


@RULES.rule("ck_tile.dense.stores", source=_LOADS)
def stores_cover_the_tile(signature: GemmSignature, config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """Under cshuffle a wave stores whole rows of the shuffled part of C, and all waves together tile its rows."""
    if not _is_dense(signature, config, arch) or config.epilogue is not Epilogue.CSHUFFLE:
        return None
    rows, columns = geometry.shuffled_part(signature, config, arch.wave_size)
    return _cover(config, arch, rows, columns, geometry.store_vector(signature, config), "C")


@RULES.rule("ck_tile.dense.lds", source="ck_tile kernels, GetSmemSize")
def lds_of_the_kernel(signature: GemmSignature, config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """The larger of staging and C-shuffle, once per LDS buffer, fits in a workgroup's LDS."""
    if not _is_dense(signature, config, arch):
        return None
    return exceeds(geometry.lds_bytes(signature, config, arch.wave_size), arch.lds_bytes, "bytes of LDS of the kernel")


@RULES.rule("ck_tile.dense.registers", source="compiled with clang 22: where kernels begin to spill")
def registers_hold_c(signature: GemmSignature, config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """C's accumulators leave registers for A and B: half of a lane's on 64-wide waves, a quarter on 32-wide ones."""
    if not _is_dense(signature, config, arch):
        return None
    accumulators = config.tile.m * config.tile.n // (config.warps[0] * config.warps[1] * arch.wave_size)
    accumulators *= config.num_wave_groups
    limit = arch.registers_per_wave // (2 if arch.wave_size == 64 else 4)
    return exceeds(accumulators, limit, "accumulators per lane")


def _cover(config: CkTileConfig, arch: ArchSpec, rows: int, run: int, vector: int, operand: str) -> RuleFinding | None:
    waves = config.warps[0] * config.warps[1] * config.warps[2] // max(config.num_wave_groups, 1)
    lanes = run // min(vector, max(rows * run // (waves * arch.wave_size), 1))
    if lanes == 0 or arch.wave_size % lanes:
        return broken(f"a wave cannot hold whole rows of {operand}'s tile", lanes, arch.wave_size)
    return no_multiple(rows, arch.wave_size // lanes * waves, f"rows of {operand}'s tile must be what all waves take")


def _is_dense(signature: GemmSignature, config: CkTileConfig, arch: ArchSpec) -> bool:
    plain = signature.quant is Quant.NONE and config.pipeline in geometry.DENSE
    return plain and arch.kind is ArchKind.GPU and min(*config.warps) > 0
