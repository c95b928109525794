from __future__ import annotations

import numpy as np
import pytest

from ckgen.families.common.storage import decode, encode
from ckgen.families.gemm import reference as gemm
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.grouped_gemm.reference import expect, make_operands
from ckgen.model.groups import GroupSize

SIZES = [GroupSize(3, 40, 64), GroupSize(0, 32, 64), GroupSize(2, 8, 0), GroupSize(1, 130, 256)]


@pytest.mark.parametrize(
    "text", ["grouped_gemm_bf16_rcr_bias", "grouped_gemm_fp8_ocp_bf16_rcr_blockscale", "grouped_gemm_fp16_rrr_epi_add"]
)
def test_every_group_is_a_gemm_of_its_own(text: str) -> None:
    groups = make_operands(parse_canonical(text), SIZES, seed=5)
    for size, operands, expected in zip(SIZES, groups, expect(groups), strict=True):
        assert expected.c.shape == (1, size.m, size.n)
        a, b = gemm.scaled_operands(operands)
        plain = np.einsum("bmk,bkn->bmn", a, b)
        extra = 0.0 if operands.bias is None else operands.bias
        if operands.d:
            extra = operands.d[0]
        exact = np.broadcast_to(plain + extra, expected.c.shape)
        nearest = decode(encode(exact, operands.signature.c))
        assert np.allclose(expected.c, np.where(expected.bound == 0, nearest, exact), rtol=1e-12, atol=1e-12)


def test_groups_have_different_data_and_one_factor() -> None:
    groups = make_operands(parse_canonical("grouped_gemm_bf16_rcr_epi_scale"), [SIZES[0]] * 2, seed=5)
    assert (groups[0].a != groups[1].a).any()
    assert groups[0].alpha == groups[1].alpha


def test_every_seed_from_0_on_gives_groups_the_data_of_seeds_that_follow_it() -> None:
    signature = parse_canonical("grouped_gemm_bf16_rcr")
    first, second = (make_operands(signature, [SIZES[0]] * 3, seed) for seed in (0, 1))
    assert all((of_first.a == of_second.a).all() for of_first, of_second in zip(first[1:], second, strict=False))
