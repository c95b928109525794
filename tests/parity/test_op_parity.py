"""Groups and routed tokens: both languages answer alike, line by line, and what they chose computes the definition."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import numpy as np
import pytest
from parity_support import Parity

from ckgen.families.common.unit import UnitPlan
from ckgen.families.gemm.enums import MoePart, Op
from ckgen.families.gemm.query import GemmQuery
from ckgen.families.grouped_gemm.query import NO_SHAPE, GroupedGemmQuery
from ckgen.families.moe.query import MoeQuery
from ckgen.model.groups import Groups, GroupSize, Routing
from ckgen.model.selection import Wishes
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.plan.trail import trail
from ckgen.runtime.grouped import GroupedArgsStruct, GroupOperandsStruct, GroupSizeStruct
from ckgen.runtime.moe import MoeArgsStruct, SortedTokensStruct
from plan_support import REAL_TABLES, plan_of

pytestmark = [pytest.mark.cpp, pytest.mark.slow]

GFX942_80, GFX942, GFX950, X86 = (
    Target("gfx942", 80),
    Target("gfx942", 304),
    Target("gfx950", 256),
    Target("x86_64_v3", 2),
)
SIGNATURES = (
    "grouped_gemm_fp32_rcr", "grouped_gemm_bf16_crr", "grouped_gemm_fp8_*_bf16_rcr_rowwise_preshuffle",
    "grouped_gemm_fp8_*_bf16_rcr_blockscale_scales_b_128x128", "moe_fp32_rcr_*_gated_epi_silu", "moe_fp32_rcr_down",
    "moe_fp8_ocp_bf16_rcr_mx_layer_gated_epi_silu", "moe_fp8_ocp_bf16_rcr_mx_gate_up_gated_epi_silu",
    "moe_fp8_ocp_bf16_rcr_mx_down", "moe_bf16_rcr_preshuffle_layer_gated_epi_silu",
)  # fmt: skip
PROBLEMS = 240
SIZES = (0, 1, 3, 8, 16, 31, 64, 100, 128, 256, 1024, 4096)


FEW_TOKENS = """N,K,a_div,has_weight,use_hip
1024,2048,8,0,0
2048,1024,1,1,0
1536,6144,8,0,1
"""
"""Rows of MX-FP8 experts: gate and up rows of 512 columns are not for ckgen's kernels, nor is one down."""


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> Parity:
    table = tmp_path_factory.mktemp("experts") / "mxfp8.csv"
    table.write_text(FEW_TOKENS, encoding="utf-8")
    plan = plan_of(
        REAL_TABLES,
        table,
        targets=(GFX942, GFX950, X86),
        ops=frozenset({"grouped_gemm", "moe"}),
        signatures=SIGNATURES,
    )
    assert {unit.signature.op for unit in plan.units} == {Op.GROUPED_GEMM, Op.MOE}
    return Parity(plan, "ops", tmp_path_factory.mktemp("ops"))


def some_groups(generator: random.Random) -> Groups:
    """Alike, skewed, empty, illegal; on the host or on the device."""
    m, n, k = (generator.choice(SIZES) for _ in range(3))
    grain = generator.choice([1, 16, 128])
    if generator.random() < 0.3:
        return Groups.on_device(generator.randint(0, 9), m, n * grain, k * grain)
    sizes = [
        GroupSize(generator.choice(SIZES), generator.choice([n, 64]) * grain, generator.choice([k, 64]) * grain)
        for _ in range(generator.randint(0, 6))
    ]
    return Groups.of(sizes + [GroupSize(-1, 8, 8)] * (generator.random() < 0.05))


def grouped_queries(parity: Parity) -> Iterator[GroupedGemmQuery]:
    generator = random.Random(5)
    units = [unit for unit in parity.plan.units if unit.signature.op is Op.GROUPED_GEMM]
    for index in range(PROBLEMS):
        unit, target = units[index % len(units)], generator.choice([GFX942, GFX950, X86])
        wishes = Wishes(generator.random() < 0.2, batch_invariant=generator.random() < 0.2)
        groups = some_groups(generator)
        yield GroupedGemmQuery(parity.plan, target, unit.signature, NO_SHAPE, wishes, groups)


def routed_queries(parity: Parity) -> Iterator[MoeQuery]:
    generator = random.Random(6)
    units = [unit for unit in parity.plan.units if unit.signature.op is Op.MOE]
    for index in range(PROBLEMS):
        unit, target = units[index % len(units)], generator.choice([GFX942, GFX942_80, GFX950, X86])
        shape, routing = some_routing(unit, generator)
        wishes = Wishes(generator.random() < 0.3, batch_invariant=generator.random() < 0.2)
        block_m = generator.choice([0, 0, 16, 32, 64, 48])
        yield MoeQuery(parity.plan, target, unit.signature, shape, wishes, routing, block_m)


def few_token_queries(parity: Parity) -> Iterator[MoeQuery]:
    """MX-FP8 experts on both sides of every number of the envelope."""
    generator = random.Random(8)
    units = [unit for unit in parity.plan.units if "fp8_ocp_bf16_rcr_mx" in unit.name]
    sizes = [(768, 6144), (6144, 768), (1016, 1024), (1017, 1024), (2032, 1024), (2033, 1024), (512, 2048),
             (2048, 1024), (1024, 2048), (1024, 4096), (768, 768), (1536, 1536), (6144, 1152)]  # fmt: skip
    for index in range(2 * PROBLEMS):
        n, k = generator.choice(sizes)
        m = generator.choice([1, 8, 9, 16, 17, 64, 65])
        routing = Routing(generator.choice([8, 127, 128, 227, 228, 256]), generator.choice([1, 8]))
        block_m = generator.choice([0, 16, 32, 64, 48])
        unit = units[index % len(units)]
        yield MoeQuery(parity.plan, GFX950, unit.signature, Shape(0, m, n, k), Wishes(), routing, block_m)


def some_routing(unit: UnitPlan, generator: random.Random) -> tuple[Shape, Routing]:
    known = [(key, m) for table in unit.tables for key, group in table.groups.items() for m in group.rows]
    if known and generator.random() < 0.6:
        (n, k, batch), m = generator.choice(known)
        return Shape(0, m + generator.randint(0, 3), n, k), Routing(batch >> 16, batch & 0xFFFF)
    m = generator.choice([0, 1, 7, 64, 5000, 1 << 24])
    sizes = [generator.choice(SIZES) * 32 for _ in range(2)]
    return Shape(0, m, *sizes), Routing(generator.choice([0, 1, 8, 256]), generator.choice([0, 1, 2, 300]))


def of_cpp(parity: Parity, query: GemmQuery) -> str:
    name = query.signature.canonical()
    wishes = {"deterministic": query.wishes.deterministic, "batch_invariant": query.wishes.batch_invariant}
    if isinstance(query, GroupedGemmQuery) and query.groups is not None:
        problem = parity.library.grouped_problem(name, query.groups, **wishes)
    else:
        assert isinstance(query, MoeQuery)
        shape, more = query.shape, {"routing": query.routing, "block_m": query.block_m}
        problem = parity.library.problem(name, shape.m, shape.n, shape.k, **wishes, **more)
    text = parity.dispatcher.explain(problem, parity.library.simulated(str(query.target)))
    return text.replace(" (simulated)\n", "\n", 1).rstrip("\n")


def of_python(query: GemmQuery) -> str:
    """Without the places and times of rows, which only tables hold."""
    text = re.sub(
        r"^( +)table\.csv:1(  \S+ us)? measured",
        r"\1measured",
        trail(query, lambda _: "table.csv:1").text(),
        flags=re.M,
    )
    return text.replace("  table.csv:1\n", "\n").removesuffix("  table.csv:1")


def test_both_write_the_same_trail_of_groups(ops: Parity) -> None:
    seen: set[str] = set()
    for query in grouped_queries(ops):
        mine = of_python(query)
        assert mine == of_cpp(ops, query), query.signature
        seen |= {*re.findall(r"\(rule (\S+)\)", mine), *["taken"] * ("✔" in mine)}
    assert seen >= {
        "taken",
        "grouped.sizes",
        "grouped.m-unknown",
        "gemm.shape.m",
        "gemm.instance.k-multiple",
        "gemm.blockscale.k-group",
    }


def test_both_write_the_same_trail_of_routed_tokens(ops: Parity) -> None:
    seen: set[str] = set()
    for query in routed_queries(ops):
        mine = of_python(query)
        assert mine == of_cpp(ops, query), (query.signature, query.shape, query.routing)
        seen |= {*re.findall(r"\(rule (\S+)\)", mine), *["taken"] * ("✔" in mine)}
    assert seen >= {"taken", "moe.experts", "moe.top-k", "moe.top-k-max", "moe.tokens-max", "moe.block-m", "moe.atomic"}


def test_both_choose_the_block_that_the_rule_names(ops: Parity) -> None:
    """Two rows of each expert, 17, 63, 64; on few compute units; and where the named kernel refuses K."""
    (unit,) = (unit for unit in ops.plan.units if unit.name == SIGNATURES[-1])
    seen = set()
    for target in (GFX942, GFX942_80, GFX950):
        for tokens in (8, 68, 252, 256):
            for k in (1024, 1056):
                shape, routing = Shape(0, tokens, 512, k), Routing(8, 2)
                query = MoeQuery(ops.plan, target, unit.signature, shape, Wishes(), routing)
                mine = of_python(query)
                assert mine == of_cpp(ops, query), (target, shape)
                seen |= {*re.findall(r"heuristic +✔.*_gateup_ck_256x([0-9]+)x", mine)}
    assert seen == {"32", "64", "128"}


def test_both_write_the_same_trail_of_few_tokens(ops: Parity) -> None:
    seen: set[str] = set()
    for query in few_token_queries(ops):
        mine = of_python(query)
        assert mine == of_cpp(ops, query), (query.signature, query.shape, query.routing)
        seen |= {*re.findall(r"\(rule (\S+)\)", mine), *["taken"] * ("✔" in mine)}
    assert seen >= {
        "taken", "gemm.instance.k-multiple", "gemm.instance.n-multiple", "moe.routed-max", "moe.n-min",
        "moe.n-max", "moe.k-max", "moe.few-experts", "moe.weights", "moe.block-m", "moe.presorted", "moe.declined",
    }  # fmt: skip


def address(array: np.ndarray) -> int:
    return array.ctypes.data


def whole(generator: np.random.Generator, *shape: int) -> np.ndarray:
    """Small integers: sums of their products are exact in fp32."""
    return generator.integers(-3, 4, shape).astype(np.float32)


def test_groups_are_computed_on_this_cpu(ops: Parity) -> None:
    generator = np.random.default_rng(1)
    sizes = [(33, 20, 7), (1, 64, 130), (0, 8, 8), (5, 3, 0)]
    operands, results, wanted = [], [], []
    kept = []
    for m, n, k in sizes:
        a, b, c = whole(generator, m, k), whole(generator, n, k), np.full((m, n), np.nan, np.float32)
        kept += [a, b]
        results.append(c)
        wanted.append(a @ b.T)
        operands.append(GroupOperandsStruct(a=address(a), b=address(b), c=address(c), lda=k, ldb=k, ldc=n))
    array, counts = (GroupOperandsStruct * 4)(*operands), (GroupSizeStruct * 4)(*(GroupSizeStruct(*s) for s in sizes))
    args = GroupedArgsStruct(operands=_at(array), sizes=_at(counts), count=4)
    problem = ops.library.grouped_problem("grouped:fp32", Groups.of(GroupSize(*size) for size in sizes))
    plan = ops.dispatcher.plan(problem, ops.library.host())
    ops.dispatcher.run(plan, args)
    for found, want in zip(results, wanted, strict=True):
        np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("is_sorted", [False, True], ids=["in one plan", "sorted by the caller"])
def test_a_layer_is_computed_on_this_cpu(ops: Parity, is_sorted: bool) -> None:
    generator = np.random.default_rng(2)
    tokens, model, inter, routing = 9, 24, 40, Routing(5, 2)
    a = whole(generator, tokens, model) / 8
    w1, w2 = whole(generator, 5, 2 * inter, model) / 8, whole(generator, 5, model, inter) / 8
    ids = np.array([[t % 3, 4] for t in range(tokens)], np.int32)  # expert 3 has no token, 4 has all
    weights = generator.uniform(0.1, 1, ids.shape).astype(np.float32)
    c = np.full((tokens, model), np.nan, np.float32)
    args = MoeArgsStruct(
        a=address(a), w1=address(w1), w2=address(w2), c=address(c), tokens=tokens, lda=model, ldc=model
    )
    block_m, kept = 0, []
    if is_sorted:
        block_m = 16
        capacity = ops.library.sorted_capacity(tokens, routing, block_m)
        kept = [np.zeros(n, t) for n, t in ((capacity, "i4"), (capacity, "f4"), (capacity // block_m, "i4"), (2, "i4"))]
        args.sorted = SortedTokensStruct(*map(address, kept))
        ops.library.sort_tokens(address(ids), address(weights), tokens, routing, block_m, args.sorted)
    else:
        args.topk_ids, args.topk_weights = address(ids), address(weights)
    problem = ops.library.problem("moe:fp32:gated:silu", tokens, inter, model, routing=routing, block_m=block_m)
    plan = ops.dispatcher.plan(problem, ops.library.host())
    assert not is_sorted or plan.block_m == block_m
    ops.dispatcher.run(plan, args)
    np.testing.assert_allclose(c, layer(a, w1, w2, ids, weights), rtol=1e-4, atol=1e-4)


def layer(a: np.ndarray, w1: np.ndarray, w2: np.ndarray, ids: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The formula of ckgen/moe.hpp in fp64."""
    a, w1, w2 = (array.astype(np.float64) for array in (a, w1, w2))
    inter = w2.shape[2]
    c = np.zeros((len(a), w2.shape[1]))
    for token, slots in enumerate(ids):
        for slot, expert in enumerate(slots):
            gate, up = w1[expert, :inter] @ a[token], w1[expert, inter:] @ a[token]
            c[token] += weights[token, slot] * (w2[expert] @ (gate / (1 + np.exp(-gate)) * up))
    return c


def test_parts_of_pairs_are_instances_of_the_library(ops: Parity) -> None:
    pairs = [one for one in ops.plan.instances if one.parts]
    assert pairs and {MoePart.GATE_UP, MoePart.DOWN} == {part.signature.moe.part for one in pairs for part in one.parts}
    for part in (part for one in pairs for part in one.parts):
        assert part.name in ops.names and part.config.macro_tile.m in {16, 32, 64, 128, 256}


def _at(array: object) -> int:
    import ctypes

    return ctypes.addressof(array)  # type: ignore[arg-type]
