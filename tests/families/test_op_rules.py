"""Groups and routed tokens against the rules of single GEMMs: legal and supported where each of them is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckgen.families.common.problem_finding import ProblemFinding, messages
from ckgen.families.gemm.config import HostConfig
from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.problem_rules import Constraints, RoutedConstraints, check, supports
from ckgen.families.gemm.signature import parse_signature
from ckgen.families.grouped_gemm.problem_rules import alike_groups, check_groups, supports_groups
from ckgen.families.moe.problem_rules import (
    alike_experts,
    check_routing,
    sorted_capacity,
    supports_routed,
    supports_routing,
)
from ckgen.families.registry import make_instance
from ckgen.model.groups import Groups, GroupSize, Routing
from ckgen.model.selection import Wishes
from ckgen.model.tuned_row import Shape

GRAINS = st.sampled_from([16, 48, 64, 128, 192])
SIZES = st.lists(st.builds(GroupSize, st.integers(0, 40), GRAINS, GRAINS), min_size=1, max_size=3)
MULTIPLES = st.sampled_from([0, 3, 16, 48, 64])
CONSTRAINTS = st.builds(
    Constraints,
    m_multiple=st.sampled_from([0, 0, 0, 3]),
    n_multiple=MULTIPLES,
    k_multiple=MULTIPLES,
    min_k=st.sampled_from([0, 0, 50]),
    max_ab=st.sampled_from([0, 0, 5000]),
    max_c=st.sampled_from([0, 0, 2000]),
)
SIGNATURES = st.sampled_from(
    ["grouped:fp16", "grouped:a8w8_blockscale:fp8_ocp", "grouped:mxfp8", "grouped:a8w8_bpreshuffle:int8"]
).map(lambda text: parse_signature(text, None))


def shape_of(size: GroupSize) -> Shape:
    return Shape(0, size.m, size.n, size.k)


@given(SIGNATURES, SIZES)
def test_groups_are_legal_where_each_that_does_something_is(signature, sizes) -> None:  # type: ignore[no-untyped-def]
    busy = [size for size in sizes if size.is_busy]
    singles = [check(signature, shape_of(size)) for size in busy]
    found = check_groups(signature, Groups.of(sizes))
    assert (found is None) == (bool(busy) and not any(singles))
    if found is not None and busy:
        assert any(one is not None and one.rule == found.rule and one.limit == found.limit for one in singles)
        assert found.measured % found.limit and found.measured in {n for size in busy for n in (size.n, size.k)}


@given(CONSTRAINTS, SIZES)
def test_an_instance_takes_groups_where_it_takes_each(constraints: Constraints, sizes: list[GroupSize]) -> None:
    busy = [size for size in sizes if size.is_busy]
    singles = [supports(constraints, shape_of(size), 1) for size in busy]
    found = supports_groups(constraints, Groups.of(sizes), 1)
    if busy:
        assert (found is None) == (not any(singles))
    if found is not None and found.rule.endswith("-multiple"):
        assert found.measured % found.limit and found.text


def test_rows_on_the_device_fit_no_multiple() -> None:
    found = supports_groups(Constraints(m_multiple=8), Groups.on_device(4, 64, 8, 8), 1)
    assert (
        found is not None and found.rule == "grouped.m-unknown" and "is not known to be a multiple of 8" in found.text
    )
    assert supports_groups(Constraints(n_multiple=8), Groups.on_device(4, 64, 8, 8), 1) is None


def test_splits_are_even_in_every_group() -> None:
    constraints = Constraints(k_multiple_per_split=32, max_k_batch=8, atomic_split=True)
    even, uneven = Groups.of([GroupSize(8, 8, 128), GroupSize(8, 8, 64)]), Groups.of([GroupSize(8, 8, 96)])
    assert supports_groups(constraints, even, 2) is None
    for groups, k_batch, wishes, rule in (
        (uneven, 2, Wishes(), "gemm.instance.split-multiple"),
        (even, 16, Wishes(), "gemm.instance.max-k-batch"),
        (even, 4, Wishes(deterministic=True), "gemm.instance.atomic-split"),
    ):
        found = supports_groups(constraints, groups, k_batch, wishes)
        assert found is not None and found.rule == rule


def grouped(*sizes: tuple[int, int, int]) -> Groups:
    return Groups.of([GroupSize(*size) for size in sizes])


@pytest.mark.parametrize(
    ("asked", "sizes", "k_batch", "says"),
    [
        (Constraints(m_multiple=1, n_multiple=1, k_multiple=1), [(3, 5, 7)], 1, None),
        (Constraints(m_multiple=2), [(2, 1, 1), (4, 1, 1)], 1, None),
        (Constraints(m_multiple=2), [(2, 1, 1), (5, 1, 1), (3, 1, 1)], 1, ("m-multiple", 5, 2)),
        (Constraints(n_multiple=2), [(1, 2, 1), (0, 3, 1)], 1, None),
        (Constraints(n_multiple=2), [(0, 3, 1), (1, 5, 1)], 1, ("n-multiple", 5, 2)),
        (Constraints(min_m=3), [(3, 1, 1), (4, 1, 1)], 1, None),
        (Constraints(min_m=3), [(3, 1, 1), (2, 1, 1)], 1, ("min-m", 2, 3)),
        (Constraints(max_m=8), [(8, 1, 1), (7, 9, 9)], 1, None),
        (Constraints(max_m=8), [(9, 1, 1), (1, 1, 1)], 1, ("max-m", 9, 8)),
        (Constraints(max_ab=64), [(8, 1, 8), (1, 8, 8)], 1, None),
        (Constraints(max_ab=64), [(9, 9, 1)], 1, None),
        (Constraints(max_ab=64), [(1, 1, 1), (13, 1, 5)], 1, ("matrix-size", 65, 64)),
        (Constraints(max_ab=64), [(1, 13, 5)], 1, ("matrix-size", 65, 64)),
        (Constraints(max_c=64), [(8, 8, 99)], 1, None),
        (Constraints(max_c=64), [(5, 13, 1)], 1, ("matrix-size", 65, 64)),
        (Constraints(max_k_batch=2), [(1, 1, 7)], 2, None),
        (Constraints(max_k_batch=2), [(1, 1, 7)], 3, ("max-k-batch", 3, 2)),
        (Constraints(max_k_batch=2, k_multiple_per_split=8, split_grain=4), [(1, 1, 16), (1, 1, 48)], 2, None),
        (Constraints(max_k_batch=2, k_multiple_per_split=8, split_grain=4), [(1, 1, 16), (1, 1, 24)], 2,
         ("split-multiple", 24, 16)),
        (Constraints(max_k_batch=2, k_multiple_per_split=4, split_grain=8), [(1, 1, 16)], 2, None),
        (Constraints(max_k_batch=2, k_multiple_per_split=4, split_grain=8), [(1, 1, 8)], 2, ("split-multiple", 8, 16)),
        (Constraints(k_multiple_per_split=8, split_grain=8), [(1, 1, 3)], 1, None),
        (Constraints(min_k=9), [(1, 1, 9), (1, 1, 99)], 1, None),
        (Constraints(min_k=9), [(1, 1, 99), (1, 1, 8)], 1, ("min-k", 8, 9)),
        (Constraints(min_k=9, max_k_batch=2), [(1, 1, 18)], 2, None),
        (Constraints(min_k=9, max_k_batch=2), [(1, 1, 17)], 2, ("min-k", 8, 9)),
        (Constraints(min_k=8), [(1, 1, 8)], 0, None),
    ],
)  # fmt: skip
def test_every_demand_on_groups_from_both_sides(
    asked: Constraints, sizes: list[tuple[int, int, int]], k_batch: int, says: tuple[str, int, int] | None
) -> None:
    found = supports_groups(asked, grouped(*sizes), k_batch)
    assert found == (ProblemFinding(f"gemm.instance.{says[0]}", *says[1:]) if says else None)


def test_groups_on_the_device_show_the_size_that_all_have() -> None:
    for axis, size in (("n", 24), ("k", 40)):
        asked = Constraints(**{f"{axis}_multiple": 16})  # type: ignore[arg-type]
        found = supports_groups(asked, Groups.on_device(4, 64, 24, 40), 1)
        assert found is not None and (found.rule, found.measured) == (f"gemm.instance.{axis}-multiple", size)
    bound = supports_groups(Constraints(m_multiple=8), Groups.on_device(4, 64, 24, 40), 1)
    assert bound is not None and (bound.measured, bound.limit) == (64, 8)


ROUTED = [
    # demand, (n, k, tokens, routing, gated) that fits, the same that does not, rule, measured, limit
    (RoutedConstraints(min_n=8), (8, 1, 1, (1, 1), False), (7, 1, 1, (1, 1), False), "moe.n-min", 7, 8),
    (RoutedConstraints(max_n=8), (8, 1, 1, (1, 1), False), (9, 1, 1, (1, 1), False), "moe.n-max", 9, 8),
    (RoutedConstraints(max_k=8), (1, 8, 1, (1, 1), False), (1, 9, 1, (1, 1), False), "moe.k-max", 9, 8),
    (RoutedConstraints(max_routed=6), (1, 1, 3, (3, 2), False), (1, 1, 4, (3, 2), False), "moe.routed-max", 8, 6),
    (RoutedConstraints(max_routed=6), (1, 1, 2, (3, 3), False), (1, 1, 2, (4, 4), False), "moe.routed-max", 8, 6),
    (RoutedConstraints(few_experts=4, max_routed_few=6), (1, 1, 3, (3, 2), False), (1, 1, 4, (3, 2), False),
     "moe.few-experts", 8, 6),
    (RoutedConstraints(few_experts=4, max_routed_few=2), (1, 1, 3, (4, 1), False), (1, 1, 3, (3, 1), False),
     "moe.few-experts", 3, 2),
    (RoutedConstraints(max_weights=64), (4, 4, 1, (4, 1), False), (5, 5, 1, (3, 1), False), "moe.weights", 75, 64),
    (RoutedConstraints(max_weights=64), (4, 4, 1, (2, 1), True), (4, 4, 1, (3, 1), True), "moe.weights", 96, 64),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "fits", "beyond", "rule", "measured", "limit"), ROUTED)
def test_every_demand_on_routed_sizes_from_both_sides(
    asked: RoutedConstraints,
    fits: tuple[int, int, int, tuple[int, int], bool],
    beyond: tuple[int, int, int, tuple[int, int], bool],
    rule: str,
    measured: int,
    limit: int,
) -> None:
    def found(n: int, k: int, tokens: int, routing: tuple[int, int], gated: bool) -> object:
        return supports_routed(asked, Shape(0, tokens, n, k), Routing(*routing), gated)

    assert supports_routed(RoutedConstraints(), Shape(0, 99, 99, 99), Routing(1, 1), True) is None
    assert found(*fits) is None
    assert found(*beyond) == ProblemFinding(rule, measured, limit)


def test_no_groups_is_no_problem() -> None:
    signature = parse_signature("grouped:fp16", None)
    for groups, rule in (
        (None, "grouped.no-groups"),
        (Groups.of([GroupSize(1, 1, -1)]), "grouped.sizes"),
        (Groups.of([]), "gemm.shape.m"),
    ):
        found = check_groups(signature, groups)
        assert found is not None and found.rule == rule


LAYER = parse_signature("moe:a8w8_blockscale:fp8_ocp:gated:silu", None)


@pytest.mark.parametrize(
    ("tokens", "n", "k", "routing", "rule"),
    [
        (1, 128, 256, Routing(8, 8), None), (2**24 - 1, 128, 256, Routing(8, 2), None),
        (1, 128, 256, Routing(300, 255), None),
        (0, 128, 256, Routing(8, 2), "gemm.shape.m"), (1, 128, 200, Routing(8, 2), "gemm.blockscale.k-group"),
        (1, 200, 256, Routing(8, 2), "gemm.blockscale.k-group"), (1, 128, 256, Routing(0, 2), "moe.experts"),
        (1, 128, 256, Routing(8, 0), "moe.top-k"), (1, 128, 256, Routing(8, 9), "moe.top-k-max"),
        (1, 128, 256, Routing(300, 256), "moe.top-k-max"), (2**24, 128, 256, Routing(8, 2), "moe.tokens-max"),
    ],
)  # fmt: skip
def test_a_layer_is_legal_on_both_sides_of_every_limit(
    tokens: int, n: int, k: int, routing: Routing, rule: str | None
) -> None:
    found = check_routing(LAYER, Shape(0, tokens, n, k), routing)
    assert (found.rule if found is not None else None) == rule


def test_what_gate_up_writes_is_what_down_reads_of_a_layer_alone() -> None:
    gate_up = parse_signature("moe:a8w8_blockscale:fp8_ocp:gate_up:gated:silu", None)
    assert check_routing(gate_up, Shape(0, 1, 200, 256), Routing(8, 2)) is None


def moe_instance(alias: str, block_m: int) -> Instance:
    config = HostConfig(4, 16, block_m, 512, 512)
    signature = parse_signature(alias, None)
    return make_instance(signature, config, archs=["x86_64_v3"])


@pytest.mark.parametrize(("asked", "rule"), [(0, None), (32, None), (16, "moe.block-m"), (64, "moe.block-m")])
def test_an_instance_takes_its_own_blocks_alone(asked: int, rule: str | None) -> None:
    found = supports_routing(moe_instance("moe:bf16:down", 32), Shape(0, 9, 64, 64), Routing(8, 2), asked, 1)
    assert (found.rule if found is not None else None) == rule


@pytest.mark.parametrize(
    ("part", "asked", "tokens", "n", "k", "measured"),
    [
        ("down", Constraints(max_ab=2 * 3 * 16), 3, 1, 16, 2 * 4 * 16),  # A of down has a row per slot
        ("gate_up:gated:silu", Constraints(max_c=2 * 3 * 16), 3, 16, 1, 2 * 4 * 16),  # so has C of gate_up
    ],
)
def test_matrices_with_a_row_per_slot_are_bounded(
    part: str, asked: Constraints, tokens: int, n: int, k: int, measured: int
) -> None:
    one = replace(moe_instance(f"moe:bf16:{part}", 32), constraints=asked)
    assert supports_routing(one, Shape(0, tokens, n, k), Routing(8, 2), 0, 1) is None
    found = supports_routing(one, Shape(0, tokens + 1, n, k), Routing(8, 2), 0, 1)
    assert found == ProblemFinding("gemm.instance.matrix-size", measured, 2 * 3 * 16)


@pytest.mark.parametrize(
    ("part", "asked"),
    [("gate_up:gated:silu", Constraints(max_ab=8 * 16)), ("down", Constraints(max_c=8 * 16))],
)
def test_matrices_with_a_row_per_token_are_not_counted_by_slots(part: str, asked: Constraints) -> None:
    one = replace(moe_instance(f"moe:bf16:{part}", 32), constraints=asked)
    assert supports_routing(one, Shape(0, 8, 1, 16), Routing(8, 8), 0, 1) is None
    assert supports_routing(one, Shape(0, 8, 16, 1), Routing(8, 8), 0, 1) is None


@pytest.mark.parametrize(
    ("part", "atomic", "deterministic", "rule"),
    [
        ("down", True, True, "moe.atomic"), ("down", True, False, None), ("down", False, True, None),
        ("gate_up:gated:silu", True, True, None),
    ],
)  # fmt: skip
def test_experts_that_add_in_no_fixed_order_are_not_deterministic(
    part: str, atomic: bool, deterministic: bool, rule: str | None
) -> None:
    one = replace(moe_instance(f"moe:bf16:{part}", 32), constraints=Constraints(atomic_split=atomic))
    wishes = Wishes(deterministic=deterministic)
    found = supports_routing(one, Shape(0, 8, 16, 16), Routing(8, 3), 0, 1, wishes)
    assert found == (ProblemFinding(rule, 3, 1) if rule else None)


def test_only_a_caller_that_sorts_gets_what_takes_sorted_tokens_alone() -> None:
    asked = Constraints(routed=RoutedConstraints(presorted=True))
    one = replace(moe_instance("moe:bf16:down", 32), constraints=asked)
    assert supports_routing(one, Shape(0, 8, 16, 16), Routing(8, 2), 32, 1) is None
    found = supports_routing(one, Shape(0, 8, 16, 16), Routing(8, 2), 0, 1)
    assert found == ProblemFinding("moe.presorted", 0, 32)


def test_the_last_entry_that_31_bits_count_is_taken() -> None:
    assert sorted_capacity(2**31 - 1, Routing(1, 1), 1) == 2**31 - 1
    assert sorted_capacity(2**31, Routing(1, 1), 1) is None


def test_sorted_rows_are_counted_by_32_bits() -> None:
    one = moe_instance("moe:bf16:down", 128)
    most = Routing(65535, 128)
    assert supports_routing(one, Shape(0, 2**23, 64, 64), Routing(65535, 255), 0, 1) is None
    found = supports_routing(one, Shape(0, 2**24 - 1, 64, 64), most, 0, 1)
    assert found is not None and found.rule == "moe.sorted-rows" and found.limit == 128


@given(st.integers(1, 40), st.integers(1, 6), st.integers(1, 20), st.integers(1, 9), st.randoms(use_true_random=False))
def test_capacity_holds_the_worst_routing(tokens: int, top_k: int, more: int, block_m: int, random) -> None:  # type: ignore[no-untyped-def]
    experts = top_k + more
    capacity = sorted_capacity(tokens, Routing(experts, top_k), block_m)
    rows = [random.sample(range(experts), top_k) for _ in range(tokens)]
    counts = [sum(row.count(expert) for row in rows) for expert in range(experts)]
    assert capacity is not None and sum(-(-count // block_m) * block_m for count in counts) <= capacity
    assert capacity <= tokens * top_k + min(experts, tokens * top_k) * (block_m - 1)


def test_costs_are_those_of_alike_products() -> None:
    groups = Groups.of([GroupSize(100, 64, 32), GroupSize(0, 64, 32), GroupSize(1, 8, 96)])
    assert alike_groups(groups) == Shape(2, 51, 64, 96)
    assert alike_groups(grouped((0, 4, 4))) == Shape(1, 0, 0, 0)
    gated, down = parse_signature("moe:bf16:gated:silu", None), parse_signature("moe:bf16:down", None)
    assert alike_experts(gated, Shape(0, 10, 64, 32), Routing(8, 2)) == Shape(8, 3, 128, 32)
    assert alike_experts(down, Shape(0, 2, 64, 32), Routing(8, 2)) == Shape(4, 1, 64, 32)
    assert alike_experts(down, Shape(0, 0, 64, 32), Routing(8, 2)) == Shape(1, 0, 64, 32)


def test_every_rule_of_groups_and_routing_has_a_message() -> None:
    ids = {rule for rule in messages() if rule.startswith(("grouped.", "moe."))}
    assert ids == {
        "grouped.no-groups", "grouped.sizes", "grouped.m-unknown", "moe.experts", "moe.top-k", "moe.top-k-max",
        "moe.tokens-max", "moe.block-m", "moe.sorted-rows", "moe.atomic", "moe.n-min", "moe.n-max", "moe.k-max",
        "moe.routed-max", "moe.few-experts", "moe.weights", "moe.presorted", "moe.declined",
    }  # fmt: skip
    assert LAYER.op is Op.MOE
