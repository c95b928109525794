from __future__ import annotations

from dataclasses import replace

import pytest
from families_rows import Rows
from hypothesis import given
from hypothesis import strategies as st

from ckgen.families.common.problem_finding import messages, no_instance
from ckgen.families.gemm.constraints import constraints_of
from ckgen.families.gemm.grammar import identify
from ckgen.families.gemm.modules import modules
from ckgen.families.gemm.problem_rules import Constraints, check, signature_rules, supports
from ckgen.families.gemm.signature import GemmSignature, parse_signature, signatures_of_row
from ckgen.model.dtype import TORCH_NAMES, Fp8Flavour
from ckgen.model.module import SplitK
from ckgen.model.selection import Wishes
from ckgen.model.tuned_row import Discriminators, Shape

OCP = Fp8Flavour.OCP


def signature(text: str) -> GemmSignature:
    return parse_signature(text, OCP)


@pytest.mark.parametrize(
    ("alias", "shape", "text"),
    [
        ("fp16", (0, 0, 1, 1), "M = 0 is below 1 (rule gemm.shape.m)"),
        ("fp16", (0, 1, -3, 1), "N = -3 is below 1 (rule gemm.shape.n)"),
        ("fp16", (0, 1, 1, 0), "K = 0 is below 1 (rule gemm.shape.k)"),
        ("fp16", (0, 2**31, 1, 1), "M = 2147483648 is above 2147483647 (rule gemm.shape.m-max)"),
        ("fp16", (0, 1, 2**31, 1), "N = 2147483648 is above 2147483647 (rule gemm.shape.n-max)"),
        ("fp16", (0, 1, 1, 2**31), "K = 2147483648 is above 2147483647 (rule gemm.shape.k-max)"),
        ("fp16", (2, 1, 1, 1), "batch = 2 for a signature that is not batched (rule gemm.shape.not-batched)"),
        ("batched_bf16", (0, 1, 1, 1), "batch = 0 is below 1 (rule gemm.shape.batch)"),
        ("batched_bf16", (2**31, 1, 1, 1), "batch = 2147483648 is above 2147483647 (rule gemm.shape.batch-max)"),
        ("a8w8_blockscale", (0, 1, 1, 2050), "K = 2050 is not a multiple of 128 (rule gemm.blockscale.k-group)"),
        ("mxfp8", (0, 1, 1, 33), "K = 33 is not a multiple of 32 (rule gemm.mx.k-group)"),
        ("a8w8_bpreshuffle", (0, 1, 24, 32), "N = 24 is not a multiple of 16 (rule gemm.preshuffle.n-rows)"),
        ("a8w8_bpreshuffle", (0, 1, 16, 48), "K = 48 is not a multiple of 32 (rule gemm.preshuffle.k-chunk)"),
        ("gemm_bf16_rcr_preshuffle", (0, 1, 16, 24), "K = 24 is not a multiple of 16 (rule gemm.preshuffle.k-chunk)"),
        ("a4w4_blockscale", (0, 1, 16, 96), "K = 96 is not a multiple of 64 (rule gemm.preshuffle.k-chunk)"),
    ],
)
def test_an_illegal_problem_says_its_rule_and_numbers(alias: str, shape: tuple[int, ...], text: str) -> None:
    finding = check(signature(alias), Shape(*shape))
    assert finding is not None
    assert finding.text == text


@pytest.mark.parametrize(
    ("alias", "shape"),
    [
        ("fp16", (0, 1, 1, 1)), ("fp16", (1, 2**31 - 1, 1, 2**31 - 1)), ("batched_bf16", (1, 1, 1, 1)),
        ("a8w8_blockscale", (0, 1, 1, 128)), ("mxfp8", (0, 7, 5, 32)), ("a8w8_bpreshuffle", (0, 1, 16, 32)),
        ("gemm_bf16_rcr_preshuffle", (0, 1, 16, 16)), ("a4w4_blockscale", (0, 1, 16, 64)), ("a8w8:int8", (0, 3, 5, 7)),
    ],
)  # fmt: skip
def test_the_smallest_legal_problems_are_legal(alias: str, shape: tuple[int, ...]) -> None:
    assert check(signature(alias), Shape(*shape)) is None


def test_every_measured_row_is_supported_by_its_own_kernel(rows: Rows) -> None:
    seen = 0
    for row in rows:
        found = identify(row.module, row.library, row.kernel)
        assert found is not None
        flavour = Fp8Flavour.FNUZ if row.gfx == "gfx942" else OCP
        dtype = TORCH_NAMES[row.dtype] if row.dtype else None
        meaning = modules()[row.module].module.split_k_of(row.library)
        k_batch = 1 << row.split_k if meaning is SplitK.LOG2 else 1
        shape = Shape(row.batch, row.m, row.n, row.k)
        for each in signatures_of_row(row.module, Discriminators(weight_dtype=dtype), flavour):
            assert check(each, shape) is None
            assert supports(constraints_of(each, found.config), shape, k_batch) is None, (row, k_batch)
            seen += 1
    assert seen == 2 * len(rows) == 83_638


def of(alias: str, library: str, name: str) -> Constraints:
    module = alias.split(":")[0]
    found = identify(module, library, name)
    assert found is not None
    return constraints_of(signature(alias), found.config)


COUNTED = 2**32 - 1
"""Bytes that 32 bits count."""


@pytest.mark.parametrize(
    ("alias", "library", "name", "expected"),
    [
        (
            "a8w8_blockscale", "ck",
            "a8w8_blockscale_1x128x128_256x128x128x128_16x16_32x32_2x2_8x32x1_8x32x1_1x32x1x8_8_1x1_intrawave_v3",
            Constraints(0, 8, 128, 128, 257, 128, True, max_ab=COUNTED),
        ),
        (
            "a8w8_blockscale", "ck",
            "a8w8_blockscale_1x128x128_256x16x64x128_8x16_16x16_1x1_16x16x1_8x32x1_1x16x1x16_4_1x1_intrawave_v1",
            Constraints(0, 4, 128, 128, 0, 128, True, max_ab=COUNTED),
        ),
        (
            "a8w8_blockscale_bpreshuffle", "ck",
            "a8w8_blockscale_bpreshuffle_1x128x128_256x64x64x128_16x16_16x16_8x32x1_8x32x1_1x32x1x8_8_2x1_intrawave_v3",
            Constraints(0, 64, 128, 0, 257, 1, False, max_ab=COUNTED),
        ),
        (
            "a8w8_bpreshuffle", "ck",
            "a8w8_bpreshuffle_256x128x128x64_16x16_16x16_4x64x1_4x64x1_1x32x1x8_8x8x1_2x1_intrawave_v3",
            Constraints(0, 128, 64, 64, 129, 128, True, max_ab=COUNTED),
        ),
        (
            "a8w8_bpreshuffle", "ck",
            "a8w8_bpreshuffle_128x16x32x512_16x16_16x16_32x4x1_32x4x1_1x16x1x8_4x4x1_1x1_intrawave_v2",
            Constraints(0, 32, 512, 512, 1537, 128, True, max_ab=COUNTED),
        ),
        (
            "a8w8_bpreshuffle", "cktile",
            "a8w8_bpreshuffle_cktile_0x0x8x4x1x0x0x0x0x2_128x128x64_1x4x1_16x16x64_default",
            Constraints(0, 128, 64, 64, 0, 128, True, max_ab=2**31 - 1, max_c=2**30 - 1),
        ),
        (
            "a8w8_blockscale", "cktile", "a8w8_blockscale_cktile_192x256x128_4x2x1_16x16x128_intrawave_0x1x0_1",
            Constraints(0, 8, 128, 128, 0, 128, True),
        ),
        (
            "a4w4_blockscale", "ck",
            "a4w4_blockscale_256x64x128x128_16x16_16x16_8x32x1_8x32x1_1x32x1x8_8_2x2_intrawave_v3",
            Constraints(0, 32, 256, 256, 513, 128, True, max_ab=2 * COUNTED),
        ),
        (
            "a8w8:int8", "ck",
            "a8w8_rowwise_64x16x16x64_16x16_1x1_4x16x1_4x16x1_1x16x1x4_4x4x1_1x1_interwave_v2",
            Constraints(0, 4, 16, 0, 257, 128, True, 16, 2**31 - 1, 2**30),
        ),
        (
            "a8w8:int8", "ck",
            "a8w8_rowwise_256x128x128x128_32x32_2x2_8x32x1_8x32x1_1x32x1x8_8x8x1_1x1_intrawave_v4",
            Constraints(0, 8, 16, 0, 385, 128, True, 16, 2**31 - 1, 2**30),
        ),
        (
            "batched_bf16", "ck",
            "bf16_batched_256x128x128x64_32x32_2x2_8x32x1_8x32x1_1x32x1x8_8x8x1_1x1_intrawave_v5",
            Constraints(0, 8, 64, 0, 193, 1, False, 0, 2**30, 2**30),
        ),
    ],
)  # fmt: skip
def test_constraints_of_a_kernel(alias: str, library: str, name: str, expected: Constraints) -> None:
    assert of(alias, library, name) == expected


ALL = Constraints(
    m_multiple=2, n_multiple=8, k_multiple=16, k_multiple_per_split=64, min_k=128, max_k_batch=4, atomic_split=True
)


@pytest.mark.parametrize(
    ("shape", "k_batch", "deterministic", "text"),
    [
        ((2, 8, 1024), 4, False, None),
        ((2, 8, 1024), 0, True, None),
        ((3, 8, 1024), 1, False, "M = 3 is not a multiple of 2 (rule gemm.instance.m-multiple)"),
        ((2, 9, 1024), 1, False, "N = 9 is not a multiple of 8 (rule gemm.instance.n-multiple)"),
        ((2, 8, 1023), 1, False, "K = 1023 is not a multiple of 16 (rule gemm.instance.k-multiple)"),
        ((2, 8, 4096), 8, False, "k_batch = 8 is above 4 (rule gemm.instance.max-k-batch)"),
        (
            (2, 8, 1024), 4, True,
            (
                "k_batch = 4 adds its splits in no fixed order, which more than 2 onto zero have, and a "
                "deterministic result was asked for (rule gemm.instance.atomic-split)"
            ),
        ),
        (
            (2, 8, 1040), 2, False,
            "K = 1040 does not split evenly: it is not a multiple of 128 (rule gemm.instance.split-multiple)",
        ),
        ((2, 8, 256), 4, False, "K = 64 of one split is below 128 (rule gemm.instance.min-k)"),
        ((2, 8, 112), 1, False, "K = 112 of one split is below 128 (rule gemm.instance.min-k)"),
    ],
)  # fmt: skip
def test_support_is_refused_with_the_numbers(
    shape: tuple[int, int, int], k_batch: int, deterministic: bool, text: str | None
) -> None:
    finding = supports(ALL, Shape(0, *shape), k_batch, Wishes(deterministic=deterministic))
    assert (finding.text if finding else None) == text


@pytest.mark.parametrize("field", ["m_multiple", "n_multiple", "k_multiple", "k_multiple_per_split", "min_k"])
def test_zero_asks_nothing(field: str) -> None:
    refused = {
        "m_multiple": (3, 8, 1024, 1), "n_multiple": (2, 9, 1024, 1), "k_multiple": (2, 8, 1023, 1),
        "k_multiple_per_split": (2, 8, 1040, 2), "min_k": (2, 8, 112, 1),
    }[field]  # fmt: skip
    shape = Shape(0, *refused[:3])
    assert supports(ALL, shape, refused[3]) is not None
    relaxed = replace(ALL, **{field: 0})  # type: ignore[arg-type]
    assert supports(relaxed, shape, refused[3]) is None


UNEVEN = Constraints(
    k_multiple=16, min_k=257, max_k_batch=128, atomic_split=True, split_grain=16, max_ab=9000, max_c=64, max_m=8
)


@pytest.mark.parametrize(
    ("shape", "k_batch", "text"),
    [
        ((1, 1, 528), 2, None),
        ((1, 1, 512), 2, "K = 256 of one split is below 257 (rule gemm.instance.min-k)"),
        ((1, 1, 8704), 32, None),
        ((1, 1, 8192), 32, "K = 256 of one split is below 257 (rule gemm.instance.min-k)"),
        ((1, 1, 4624), 18, ("K = 4624 leaves nothing for the last of its splits, which begins at 4624"
                            " (rule gemm.instance.empty-split)")),
        ((8, 8, 1120), 1, None),
        ((1, 8, 1136), 1, "a matrix of 9088 elements is above 9000 (rule gemm.instance.matrix-size)"),
        ((8, 1, 1136), 1, "a matrix of 9088 elements is above 9000 (rule gemm.instance.matrix-size)"),
        ((9, 1, 512), 1, "M = 9 is above 8 (rule gemm.instance.max-m)"),
        ((5, 13, 512), 1, "a matrix of 65 elements is above 64 (rule gemm.instance.matrix-size)"),
    ],
)  # fmt: skip
def test_uneven_splits_and_sizes(shape: tuple[int, int, int], k_batch: int, text: str | None) -> None:
    finding = supports(UNEVEN, Shape(0, *shape), k_batch)
    assert (finding.text if finding else None) == text


def split_refusal(c: Constraints, k: int, splits: int) -> str | None:
    """Parts of K dealt grain by grain, and their main loops turned one by one, without the formulas of `supports`.

    A kernel is built for what the first part has left after its turns: 1 to `split_turn` tiles. It is right for a part
    with at most as many left, and for one that never enters the loop.
    """
    step = c.k_multiple_per_split
    if step and k % (splits * step) == 0:
        return None
    if step and not c.split_grain:
        return "gemm.instance.split-multiple"
    first = next(part for part in range(c.split_grain, k + c.split_grain, c.split_grain) if part * splits >= k)
    last = k - sum([first] * (splits - 1))
    if not step:
        return "gemm.instance.empty-split" if last <= 0 else "gemm.instance.min-k" if first < c.min_k else None
    left = [len(range(0, part, step)) - c.split_lead for part in (first, last)]
    never_turns = left[1] <= 0
    for at in range(2):
        while left[at] > c.split_turn:
            left[at] -= c.split_turn
    fits = last > 0 and (never_turns or left[1] <= left[0])
    return None if fits else "gemm.instance.split-multiple"


@pytest.mark.parametrize(
    ("step", "grain", "turn", "lead", "taken"),
    [
        (4, 0, 0, 0, 102), (4, 1, 2, 3, 1396), (4, 2, 3, 2, 1260), (8, 8, 2, 3, 976), (6, 4, 4, 4, 1290),
        (0, 3, 0, 0, 1365),
    ],
)  # fmt: skip
def test_splits_are_taken_where_one_kernel_fits_all_parts(
    step: int, grain: int, turn: int, lead: int, taken: int
) -> None:
    """The same cases and counts are those of dispatcher_cpp/tests/gemm/test_supports.cpp."""
    constraints = Constraints(
        k_multiple_per_split=step, split_grain=grain, split_turn=turn, split_lead=lead, max_k_batch=8,
        min_k=0 if step else 9,
    )  # fmt: skip
    seen: list[str | None] = []
    for k in range(1, 241):
        for splits in range(2, 9):
            found = supports(constraints, Shape(0, 1, 1, k), splits)
            seen.append(split_refusal(constraints, k, splits))
            assert (found.rule if found else None) == seen[-1], (k, splits)
    assert seen.count(None) == taken


def test_one_split_is_all_of_k_and_no_whole_grain() -> None:
    found = supports(Constraints(min_k=9, max_k_batch=8, split_grain=3), Shape(0, 1, 1, 8), 1)
    assert found is not None and found.text == "K = 8 of one split is below 9 (rule gemm.instance.min-k)"


@given(st.integers(1, 2**31 - 1), st.integers(1, 2**31 - 1), st.integers(1, 2**31 - 1))
def test_no_constraints_support_every_legal_shape(m: int, n: int, k: int) -> None:
    assert supports(Constraints(), Shape(0, m, n, k), 1) is None


def test_v3_block_scale_refuses_what_would_launch_nothing() -> None:
    v3 = of(
        "a8w8_blockscale", "ck",
        "a8w8_blockscale_1x128x128_256x128x128x128_16x16_32x32_2x2_8x32x1_8x32x1_1x32x1x8_8_1x1_intrawave_v3",
    )  # fmt: skip
    assert supports(v3, Shape(0, 16, 128, 512), 4) is not None
    assert supports(v3, Shape(0, 16, 128, 256), 1) is not None
    assert supports(v3, Shape(0, 16, 128, 384), 1) is None


def test_every_rule_has_one_message_of_two_numbers() -> None:
    ids = list(messages())
    assert len(ids) == len(set(ids)) == len(messages())
    for template in messages().values():
        template.format(measured=1, limit=2)
    assert [rule.id for rule in signature_rules()] == ids[: len(signature_rules())]
    assert no_instance().index == len(ids)
    assert no_instance().text == "no instance of this signature was built for this device (rule gemm.no-instance)"
