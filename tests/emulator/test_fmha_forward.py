"""Our attention kernel of any options, launched as its host unit says and by the dispatcher, under all checks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from emulate_support import context, runtime

from amd_support import amd_toolchain
from ckgen.families.fmha.enums import FmhaBias
from ckgen.families.fmha.forward_config import HipForwardConfig
from ckgen.families.fmha.operands import FmhaOperands, Lengths, make_operands
from ckgen.families.fmha.reference import Attention, expect
from ckgen.families.fmha.signature import FmhaSignature, parse_canonical, parse_signature
from ckgen.families.registry import make_instance
from ckgen.model.errors import UsageError
from ckgen.model.fmha_shape import FmhaShape
from ckgen.specs.archs import load_archs
from ckgen_emulator.bindings import Options
from ckgen_emulator.fmha.build import build_kernel
from ckgen_emulator.fmha.call import prepare
from ckgen_emulator.fmha.dispatched import dispatched
from ckgen_emulator.fmha.forward_cases import drawn_forward, forward_cases
from ckgen_emulator.fmha.problem import FmhaData, FmhaProblem, fmha_data
from ckgen_emulator.fmha.run import FmhaKernel, run_fmha
from ckgen_emulator.gemm.problem import Data

CONFIG = HipForwardConfig(64, 64, 64)
SCALED = "bf16_fp8_bf16_varlen_masked_softcap_sink_lse_dropout_kvblockscale_pagelist_vectorized"
KERNELS = (
    ("gfx942", SCALED, 64),
    *(
        pytest.param(arch, words, hdim, marks=pytest.mark.long)
        for arch, words, hdim in (
            ("gfx90a", "fp16_masked_elementwise_sink_lse_dropout", 64),
            ("gfx90a", "bf16_varlen_masked_softcap_lse_blocktable", 256),
            ("gfx942", "fp16_varlen_masked_elementwise_sink_lse_randval", 128),
            ("gfx942", "fp32_varlen_masked_alibi_lse_dropout", 64),
            ("gfx942", "bf16_vcolumn_masked", 128),
            ("gfx942", "bf16_varlen_vcolumn_lse", 64),
            ("gfx942", "fp8_masked_pertensor", 64),
            ("gfx942", "bf16_fp8_bf16_masked_lse_blockscale", 64),
            ("gfx942", "bf16_varlen_masked_alibi_blocktable_vectorized", 64),
            ("gfx950", "fp8_bf16_varlen_masked_sink_lse_blockscale", 64),
            ("gfx950", "fp16_fp8_fp16_masked_lse_pertensor_blocktable", 256),
            ("gfx950", "bf16_masked_softcap_lse_randval", 64),
        )
    ),
)


@cache
def kernel(arch: str, words: str, hdim: int = 64) -> FmhaKernel:
    amd_toolchain()
    signature = parse_signature(f"fmha_{words}", load_archs()[arch].fp8_flavour)
    result, found = build_kernel(make_instance(signature, HipForwardConfig(64, 64, hdim), (arch,)), arch)
    assert not result.findings
    return found


@pytest.mark.amd
@pytest.mark.parametrize(("arch", "words", "hdim"), KERNELS)
def test_o_and_lse_are_within_their_bounds_in_any_order_of_waves(arch: str, words: str, hdim: int) -> None:
    """Whole and in splits that are combined, under all checks, which find nothing."""
    found = kernel(arch, words, hdim)
    config = HipForwardConfig(64, 64, hdim)
    for problem in (
        *forward_cases(found.signature, config),
        *(drawn_forward(found.signature, config, at) for at in range(6)),
    ):
        for seed in (0, 3):
            outcome = run_fmha(found, problem, Options(seed=seed))
            assert outcome.right and not outcome.findings, (problem, outcome.compared, outcome.findings)


@pytest.mark.amd
@pytest.mark.cpp
def test_the_dispatcher_gives_the_same_bits_in_any_order_of_waves(tmp_path_factory: pytest.TempPathFactory) -> None:
    found = kernel("gfx942", SCALED)
    problems = forward_cases(found.signature, CONFIG)[1:6:2]
    where = runtime(tmp_path_factory.getbasetemp())
    orders = [dispatched(found.instance, "gfx942", problems, where, context(), seed=seed) for seed in (0, 3)]
    for problem, one, again in zip(problems, *orders, strict=True):
        assert one.instance == found.name and one.right and not one.findings, problem
        assert one.launches[0]["kernel"].endswith("_forward"), problem
        assert again.right and not again.findings and again.bits == one.bits, problem


@pytest.mark.amd
@pytest.mark.long
@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201"])
@pytest.mark.parametrize(
    ("words", "hdim"),
    [
        ("fp16_varlen_masked_elementwise_sink_lse_dropout", 128),
        ("fp16_varlen_masked_elementwise_sink_lse_dropout", 256),
        ("bf16_varlen_masked_softcap_sink_lse_dropout_pagelist_vectorized", 128),
        ("bf16_varlen_masked_softcap_sink_lse_dropout_pagelist_vectorized", 256),
        ("fp32_masked_alibi_lse_randval", 128),
        ("fp32_masked_lse", 256),
    ],
)
def test_archs_that_are_not_executed_pass_the_gate(arch: str, words: str, hdim: int) -> None:
    assert kernel(arch, words, hdim).code_object


def plain() -> FmhaData:
    return fmha_data(kernel("gfx942", SCALED).signature, FmhaProblem((70,), (9,), 4, 2, 64, 32, page_size=16))


@pytest.mark.amd
def test_the_grid_is_a_workgroup_per_tile_and_split_of_a_kv_head() -> None:
    data = plain()
    call = prepare(kernel("gfx942", SCALED).library, replace(data.shape, batch=3), data.args)
    assert (call.grid, call.block) == ((3, 2, 3), (256, 1, 1))


@pytest.mark.amd
@pytest.mark.parametrize(
    ("shape", "args", "words"),
    [
        ({}, {"sink": None, "lse": None}, "lse is null"),
        ({}, {"k_descale": None}, "k_descale is null"),
        ({}, {"kv_last_page": None}, "kv_last_page is null"),
        ({"batch": 1 << 16}, {}, "65536 sequences: HIP takes grids of 65535 along z"),
        ({"seqlen_k": 2**31 - 1}, {}, "2147483647 keys: the kernel counts to 2147483583"),
        ({"seqlen_q": 2**30, "heads_q": 8}, {}, "4294967296 rows of a KV head"),
    ],
)
def test_what_the_kernel_cannot_do_is_refused(shape: dict[str, int], args: dict[str, object], words: str) -> None:
    data = plain()
    with pytest.raises(UsageError, match=words):
        prepare(kernel("gfx942", SCALED).library, replace(data.shape, **shape), {**data.args, **args})  # type: ignore[arg-type]


CAPPED = parse_canonical("fmha_bf16_varlen_masked_softcap_sink_lse_randval")
BLOCKS = parse_canonical("fmha_fp8_ocp_bf16_masked_elementwise_lse_blockscale")
SHAPE = FmhaShape(2, 4, 2, 150, 140, 32, 24, window_left=60, window_right=3, sink_tokens=2)


def operands(signature: FmhaSignature) -> FmhaOperands:
    lengths = Lengths((21, 13) if signature.traits.varlen else (150, 150), (130, 140))
    return make_operands(signature, SHAPE, 4, lengths)


def planted() -> Iterator[tuple[str, FmhaOperands, Attention]]:
    """Attention that is wrong as a kernel may be: what is wrong, of which operands."""
    given = operands(CAPPED)
    assert given.dropout is not None and given.dropout.rand_val is not None and given.sink is not None

    def of(what: str, like: FmhaOperands, **changes: object) -> tuple[str, FmhaOperands, Attention]:
        return what, like, expect(replace(like, **changes))  # type: ignore[arg-type]

    yield of("scores without their cap", given, softcap=1e6)
    yield of("another head's sink", given, sink=given.sink[::-1].copy())
    for what, drawn in (
        ("the bytes of the next key", np.roll(given.dropout.rand_val, 1, axis=3)),
        ("the bytes of another head", given.dropout.rand_val[:, ::-1]),
    ):
        yield of(what, given, dropout=replace(given.dropout, rand_val=drawn))
    for what, changes in (
        ("a window that is a key too wide", {"window_left": 61}),
        ("a mask that is off by one", {"window_right": 4}),
        ("a sink token that is left out", {"sink_tokens": 1}),
    ):
        yield of(what, given, shape=replace(SHAPE, **changes))  # type: ignore[arg-type]
    values = given.v.copy()
    values[:, 64:128] = 0.0
    yield of("a tile of keys that is left out", given, v=values)
    yield of("K of another KV head", given, k=given.k[:, :, ::-1].copy())
    scaled = operands(BLOCKS)
    for name in ("q", "k", "v"):
        descales = getattr(scaled.descales, name)
        changed = replace(scaled.descales, **{name: np.roll(descales, 1, axis=2)})
        yield of(f"descales of the next block of {name}", scaled, descales=changed)
    assert scaled.bias is not None and scaled.signature.traits.bias is FmhaBias.ELEMENTWISE
    yield of("a bias of the next row", scaled, bias=np.roll(scaled.bias, 1, axis=2))


def test_planted_errors_of_every_option_are_told() -> None:
    for what, given, wrong in planted():
        right = expect(given)
        assert (np.abs(wrong.o.c - right.o.c) > right.o.bound).any(), what


def test_problems_have_what_the_kernel_distinguishes() -> None:
    cases = forward_cases(CAPPED, CONFIG)
    assert {one.sink_tokens for one in cases} == {0, 11, 70} and {one.splits for one in cases} == {1, 2, 3}
    assert {one.data for one in cases} == set(Data) and any(0 in one.lengths_k for one in cases)
    assert any(max(one.lengths_q) > 128 < max(one.lengths_k) for one in forward_cases(BLOCKS, CONFIG))
    drawn = [drawn_forward(CAPPED, CONFIG, seed) for seed in range(60)]
    assert len(set(map(str, drawn))) == 60
    assert any(one.hdim_q % 8 for one in drawn) and any(one.spare for one in drawn)
    assert max(one.heads_q // one.heads_k for one in drawn) == 4
