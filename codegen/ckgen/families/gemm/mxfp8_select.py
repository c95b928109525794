"""Which MX-FP8 kernel for few rows answers, if any: pure functions over the envelope and a table's rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ckgen.families.gemm.hip_config import HipConfig, HipKind
from ckgen.families.gemm.mxfp8_envelope import (
    SCALE_BLOCK,
    Outside,
    config_of,
    envelope,
    outside,
    outside_bytes,
    outside_k,
)


@dataclass(frozen=True, slots=True, order=True)
class GemmKey:
    """A GEMM as the tuning table knows it."""

    k: int
    n: int
    m: int


@dataclass(frozen=True, slots=True)
class Tuned:
    """What a row says; `use` False: not this kernel, the next tier or the caller's own answers."""

    n_sub: int
    k_splits: int
    use: bool


@dataclass(frozen=True, slots=True)
class Declined:
    """Why no kernel of ours answers; the next tier does."""

    reason: str


NOT_THIS_ONE = Declined("its row says use_hip = 0")


def kinds_of(m: int, k: int) -> tuple[HipKind, ...]:
    """The kinds that may answer, the preferred one first: matrix instructions from 8 rows on where K allows them."""
    taken = envelope().kinds
    return tuple(kind for kind in (HipKind.MFMA, HipKind.GEMV) if m in taken[kind].rows and taken[kind].takes_k(k))


def choose_gemm(key: GemmKey, rows: Mapping[GemmKey, Tuned]) -> HipConfig | Declined:
    """The kernel of a GEMM with packed operands.

    A row decides for its key, of the preferred kind. Without one the usual config engages, but not for rows of A that
    need a row.
    """
    kinds = kinds_of(key.m, key.k)
    if not kinds:
        return Declined(_why(key))
    kind = kinds[0]
    if found := outside(kind, key.m, key.n, key.k):
        return Declined(str(found))
    row = rows.get(key)
    if row is not None and not row.use:
        return NOT_THIS_ONE
    if row is None and key.m in envelope().kinds[kind].needs_row:
        return Declined(f"M = {key.m} needs a row of a tuning table")
    n_sub, k_splits = (row.n_sub, row.k_splits) if row else envelope().usual[kind]
    config = config_of(kind, key.m, n_sub, k_splits)
    return Declined(str(config)) if isinstance(config, Outside) else config


def _why(key: GemmKey) -> str:
    """Of the kind that takes the rows, else of GEMV."""
    for kind in (HipKind.GEMV, HipKind.MFMA):
        if key.m in envelope().kinds[kind].rows:
            return str(outside_k(kind, key.k))
    rows = sorted({m for kind in (HipKind.GEMV, HipKind.MFMA) for m in envelope().kinds[kind].rows})
    return f"rows = {key.m}: taken is {', '.join(map(str, rows))}"


@dataclass(frozen=True, slots=True, order=True)
class MoeKey:
    """An expert product as it is selected: never by the number of experts, which expert parallelism changes.

    A row of A is a row of C divided by `a_div`: top_k for gate and up, 1 for down.
    """

    n: int
    k: int
    a_div: int
    has_weight: bool


@dataclass(frozen=True, slots=True)
class MoeProblem:
    """What a call brings beside its key: experts here, tokens, slots of each, and the block_m of its sorted ids."""

    experts: int
    tokens: int
    top_k: int
    block_m: int
    sorted_ids: int


def choose_moe(key: MoeKey, problem: MoeProblem, rows: Mapping[MoeKey, bool] | None = None) -> HipConfig | Declined:
    """The kernel of an expert product; `rows` may decline a key."""
    if (found := outside_moe(key, problem)) is not None:
        return Declined(str(found))
    if rows is not None and not rows.get(key, True):
        return NOT_THIS_ONE
    _, k_splits = envelope().usual[HipKind.MOE]
    return HipConfig.moe(problem.block_m, block_n_of(key.n, key.k), k_splits)


def block_n_of(n: int, k: int) -> int:
    """Rows of B of a workgroup: the narrow ones where wide ones leave few workgroups for each expert.

    Shallow K leaves a workgroup too little to do for that.
    """
    narrow, wide = envelope().block_n
    depth = envelope().depth(k)
    few = -(-n // wide) < envelope().narrow_tiles
    return narrow if few and depth is not None and depth.k_multiple else wide


def outside_moe(key: MoeKey, problem: MoeProblem) -> Outside | None:
    """What is outside of the envelope; None where it engages."""
    known = envelope()
    depth = known.depth(key.k)
    if found := outside_k(HipKind.MOE, key.k):
        return found
    assert depth is not None, "every K of the envelope has a depth"
    if problem.block_m not in (blocks := known.kinds[HipKind.MOE].rows):
        return Outside("block_m", problem.block_m, ", ".join(map(str, blocks)))
    if problem.sorted_ids % problem.block_m:
        return Outside("length of sorted_token_ids", problem.sorted_ids, f"a multiple of block_m = {problem.block_m}")
    if key.a_div not in (1, problem.top_k):
        return Outside("a_div", key.a_div, f"1 or top_k = {problem.top_k}")
    if problem.tokens > (most := depth.most(problem.experts)):
        return Outside("tokens", problem.tokens, f"up to {most} for K = {key.k} and {problem.experts} experts")
    slots = problem.tokens * problem.top_k
    rows_of_a, rows_of_b = slots // key.a_div if key.a_div > 1 else slots, problem.experts * key.n
    scales = key.k // SCALE_BLOCK
    sizes = {"A": rows_of_a * key.k, "B": rows_of_b * key.k, "C": 2 * slots * key.n}
    return outside_bytes({**sizes, "the scales of B": rows_of_b * scales})


@dataclass(frozen=True, slots=True)
class WeightTensor:
    """The routing weights as a caller gives them."""

    dtype: str
    elements: int
    contiguous: bool


def outside_weights(weights: WeightTensor, tokens: int, top_k: int) -> Outside | None:
    """Routing weights are fp32, one for each slot of each token, without gaps."""
    if weights.dtype != "fp32":
        return Outside("type of mul_weight_by", weights.dtype, "fp32")
    if weights.elements != tokens * top_k:
        return Outside("elements of mul_weight_by", weights.elements, f"tokens * top_k = {tokens * top_k}")
    return None if weights.contiguous else Outside("mul_weight_by", "with gaps", "contiguous")
