"""Our MX-FP8 kernels for few rows, executed under all checks: GEMV, matrix instructions, and products of experts."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from mx_support import (
    E4M3_NAN,
    E8M0_NAN,
    MxRows,
    close,
    code_object,
    launched,
    mx_rows,
    no_result,
    product,
)
from numpy.typing import NDArray

from amd_support import amd_toolchain
from ckgen.build.inspect.code_object import Source, read_code_object
from ckgen.build.inspect.gate import judge
from ckgen.build.inspect.report import reports_of
from ckgen.families.common.storage import encode
from ckgen.families.gemm.config import HipConfig, HipKind
from ckgen.families.gemm.device.hip_mxfp8 import expected_of
from ckgen.families.gemm.device.hip_mxfp8_work import LeastWork, least_work
from ckgen.families.gemm.enums import EpilogueOp, MoePart, MoeTraits, Op, Quant
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.moe.device.stages import ADD_SLOTS, expected_stage
from ckgen.families.moe.reference import MoeOperands, MoeSize, expect, make_operands
from ckgen.model import groups
from ckgen.model.dtype import DType
from ckgen.specs.archs import load_archs
from ckgen_emulator.bindings import Options, Run
from ckgen_emulator.production.routing import Routing, routed

TEXT = """#include <backends/hip/mxfp8_gemv.hpp>
#include <backends/hip/mxfp8_mfma.hpp>
#include <backends/hip/mxfp8_moe.hpp>
#include <backends/hip/add_slots.hpp>
CKGEN_MXFP8_GEMV_KERNEL(gemv_1_4_4, 1, 4, 4)
CKGEN_MXFP8_GEMV_KERNEL(gemv_4_4_2, 4, 4, 2)
CKGEN_MXFP8_GEMV_KERNEL(gemv_16_4_1, 16, 4, 1)
CKGEN_MXFP8_MFMA_KERNEL(mfma_8_1_4, 8, 1, 4)
CKGEN_MXFP8_MFMA_KERNEL(mfma_32_2_2, 32, 2, 2)
CKGEN_MXFP8_MOE_KERNEL(down_16_8_4, 16, 8, 4, none, false)
CKGEN_MXFP8_MOE_KERNEL(down_32_16_2, 32, 16, 2, none, false)
CKGEN_MXFP8_MOE_KERNEL(silu_16_8_4, 16, 8, 4, silu, true)
CKGEN_MXFP8_MOE_KERNEL(gelu_32_16_2, 32, 16, 2, gelu, true)
CKGEN_MXFP8_MOE_KERNEL(relu_16_16_1, 16, 16, 1, relu, false)
CKGEN_ADD_SLOTS_KERNEL(add_slots)
"""


def config_of(symbol: str) -> HipConfig:
    """Of the kernel named kind_rows_columns_splits."""
    kind, *numbers = symbol.split("_")
    makers = {"gemv": HipConfig.gemv, "mfma": HipConfig.mfma}
    return makers.get(kind, partial(HipConfig.moe, HipKind.MOE_DEEP))(*map(int, numbers))


def gemm(symbol: str, a: MxRows, b: MxRows, seed: int = 7) -> tuple[NDArray[Any], Run]:
    """C of a GEMM kernel."""
    config = config_of(symbol)
    m, (n, k) = a.codes.shape[0], b.codes.shape
    c = no_result(m, n)
    operands = [a.codes, a.scales, b.codes, b.scales]
    args = struct.pack("<5Q6q", *(array.ctypes.data for array in [*operands, c]), m, n, k, k, k, n)
    grid = (-(-n // config.columns), -(-m // config.m))
    return c, launched(code_object(TEXT), symbol, grid, config.threads, args, operands, c, Options(seed=seed))


GEMMS = [
    ("gemv_1_4_4", 1, 8, 4096), ("gemv_1_4_4", 1, 6, 5152), ("gemv_4_4_2", 4, 5, 32), ("gemv_4_4_2", 4, 8, 1056),
    ("gemv_16_4_1", 16, 7, 2048), ("gemv_4_4_2", 3, 4, 1024),
    ("mfma_8_1_4", 8, 16, 1024), ("mfma_8_1_4", 8, 20, 384), ("mfma_32_2_2", 32, 40, 896), ("mfma_32_2_2", 48, 7, 128),
]  # fmt: skip


@pytest.mark.parametrize(("symbol", "m", "n", "k"), GEMMS)
def test_products(symbol: str, m: int, n: int, k: int) -> None:
    """Tails of N and M, of lanes and of splits; fewer steps than splits."""
    generator = np.random.default_rng(k + n)
    a, b = mx_rows(generator, (m, k)), mx_rows(generator, (n, k))
    c, _ = gemm(symbol, a, b)
    assert close(c, *product(a.values, b.values))


@pytest.mark.parametrize(("symbol", "m", "n"), [("gemv_4_4_2", 4, 8), ("mfma_8_1_4", 8, 16)])
def test_nan_of_elements_and_scales_and_the_least_scales(symbol: str, m: int, n: int) -> None:
    """A NaN stays in its row or column; a scale of 0 stands for 2^-127, which a large one on the other side lifts."""
    generator = np.random.default_rng(3)
    a, b = mx_rows(generator, (m, 512)), mx_rows(generator, (n, 512))
    a.codes[1, 77], b.scales[2, 5], b.codes[n - 1, 500] = E4M3_NAN, E8M0_NAN, 0x80 | E4M3_NAN
    a.scales[3], b.scales[4] = 0, 225
    c, _ = gemm(symbol, a, b)
    exact, bound = product(a.values, b.values)
    assert np.isnan(exact).sum() == n + 2 * (m - 1) and close(c, exact, bound)


def test_the_same_operands_give_the_same_bits() -> None:
    """Whatever the order of waves."""
    generator = np.random.default_rng(5)
    a, b = mx_rows(generator, (4, 4096), 60), mx_rows(generator, (8, 4096), 60)
    found = [gemm(symbol, a, b, seed=seed)[0] for symbol in ("gemv_4_4_2", "mfma_8_1_4") for seed in (1, 2)]
    for first, second in (found[:2], found[2:]):
        assert first.tobytes() == second.tobytes()


EXPERTS = 5


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a layer, and its tokens sorted in the kernel's blocks."""

    operands: MoeOperands
    sorted: Routing


def part_of(symbol: str, tokens: int, n: int, k: int, top_k: int, weight_first: bool = False) -> Part:
    """Of five experts, of which the routing may leave some without tokens."""
    kind = symbol.split("_")[0]
    traits = MoeTraits(MoePart.DOWN if kind == "down" else MoePart.GATE_UP, kind in ("silu", "gelu"), weight_first)
    signature = GemmSignature.of(
        DType.FP8_OCP, DType.BF16, quant=Quant.MX, op=Op.MOE, moe=traits,
        epilogue=() if kind == "down" else (EpilogueOp(kind),),
    )  # fmt: skip
    routing = routed(np.random.default_rng(n), tokens, EXPERTS, top_k, config_of(symbol).m)
    operands = make_operands(signature, MoeSize(tokens, n, k, groups.Routing(EXPERTS, top_k)), n + k)
    return Part(replace(operands, ids=routing.experts.astype(np.int32), weights=routing.weights), routing)


def moe(symbol: str, part: Part) -> tuple[NDArray[Any], Run]:
    """The rows of a kernel of experts, gate_up's in bf16, down's in fp32; more blocks are launched than there are."""
    x, routing = part.operands, part.sorted
    config, signature, size = config_of(symbol), x.signature, x.size
    down, top_k = signature.moe.part is MoePart.DOWN, size.routing.top_k
    product = x.w2 if down else x.w1
    assert product is not None and product.scales is not None and x.a_scale is not None
    c = np.full((size.tokens * top_k, size.n), np.nan, np.float32) if down else no_result(size.tokens * top_k, size.n)
    read = [
        x.bytes_of_a(), encode(x.a_scale, DType.E8M0), x.bytes_of(product), encode(product.scales, DType.E8M0),
        routing.ids, routing.block_experts, routing.valid, routing.id_weights,
    ]  # fmt: skip
    addresses = [array.ctypes.data for array in read]
    weighted = signature.moe.weight_first is not down
    args = struct.pack(
        "<9Q5q2i", *addresses[:4], c.ctypes.data, *addresses[4:7], addresses[7] if weighted else 0,
        size.tokens, size.n, size.k, size.k, size.n, EXPERTS, top_k,
    )  # fmt: skip
    columns = config.columns // (2 if signature.moe.gated else 1)
    grid = (-(-size.n // columns), routing.blocks + 2)
    return c, launched(code_object(TEXT), symbol, grid, config.threads, args, read, c)


def added(slots: NDArray[np.float32], tokens: int) -> NDArray[Any]:
    """C of down, by the kernel behind it."""
    rows, n = slots.shape
    c = no_result(tokens, n)
    args = struct.pack("<2Q2qi", slots.ctypes.data, c.ctypes.data, n, n, rows // tokens)
    launched(code_object(TEXT), "add_slots", (-(-n // 256), tokens), 256, args, [slots], c)
    return c


MOES = [
    ("silu_16_8_4", 6, 22, 1024, 2, False), ("gelu_32_16_2", 40, 20, 256, 2, True),
    ("relu_16_16_1", 3, 17, 384, 1, True), ("down_16_8_4", 3, 24, 768, 4, False),
    ("down_32_16_2", 40, 300, 256, 2, True),
]  # fmt: skip


@pytest.mark.parametrize(("symbol", "tokens", "n", "k", "top_k", "weight_first"), MOES)
def test_products_of_experts(symbol: str, tokens: int, n: int, k: int, top_k: int, weight_first: bool) -> None:
    """Rows gathered per token or per slot, with and without weights and gates; tails of N, fewer rows than a block."""
    x = part_of(symbol, tokens, n, k, top_k, weight_first)
    c, _ = moe(symbol, x)
    expected = expect(x.operands)
    found = c if x.operands.signature.moe.part is MoePart.GATE_UP else added(c, tokens)
    assert close(found, expected.c, expected.bound)


def near(run: Run, least: LeastWork) -> None:
    """Matrix instructions are as few as can be, the rest is within 15 %."""
    assert run.by_class["matrix"] == least.matrix
    pairs = [(run.counts["global_read"], least.read), (run.by_class["vector_memory"], least.loads)]
    pairs += [(run.by_class["vector"], least.vector)] * (least.vector > 0)
    assert all(floor <= got <= 1.15 * floor for got, floor in pairs), pairs


@pytest.mark.parametrize(
    ("config", "n", "k"),
    [
        (HipConfig.gemv(1, 4, 4), 8, 16384), (HipConfig.gemv(4, 4, 2), 8, 8192), (HipConfig.gemv(16, 4, 1), 4, 4096),
        (HipConfig.mfma(8, 1, 4), 16, 6144), (HipConfig.mfma(32, 2, 2), 32, 4096),
    ],
)  # fmt: skip
def test_work_of_a_product_is_near_the_least(config: HipConfig, n: int, k: int) -> None:
    """Each byte of B is read once."""
    generator = np.random.default_rng(9)
    symbol = f"{config.kind}_{config.m}_{config.n_sub}_{config.k_splits}"
    _, run = gemm(symbol, mx_rows(generator, (config.m, k)), mx_rows(generator, (n, k)))
    near(run, least_work(config, n, k))


@pytest.mark.parametrize(("symbol", "k"), [("down_16_8_4", 768), ("silu_16_8_4", 6144)])
def test_work_of_experts_is_near_the_least(symbol: str, k: int) -> None:
    """Of a block each: half of the tile's columns, and rows of A that are there."""
    x = part_of(symbol, 4, 8 if symbol.startswith("down") else 4, k, 2)
    _, run = moe(symbol, x)
    near(run, least_work(config_of(symbol), 8, k, x.sorted.blocks, 8))


def test_there_is_no_code_for_other_archs() -> None:
    """Every kernel is there, and ends at once; slots are added on any."""
    for kernel in read_code_object(Source("gfx942", code_object(TEXT, "gfx942"))).kernels:
        assert kernel.name == "add_slots" or len(kernel.text) == 4
        assert kernel.resources.lds == 0


def test_the_gate_takes_each_kernel_as_what_its_config_means() -> None:
    """No scratch, no spills, the scaled instruction in whole steps."""
    decoder = amd_toolchain().decoder
    assert decoder is not None
    reports = reports_of(read_code_object(Source("gfx950", code_object(TEXT))), decoder)
    assert len(reports) == 11
    for report in reports:
        adds = report.kernel == "add_slots"
        wanted = expected_stage(ADD_SLOTS) if adds else expected_of(config_of(report.kernel))
        findings = judge(report, wanted, load_archs()["gfx950"])
        assert not report.findings and not findings, findings
    mfma = next(report for report in reports if report.kernel == "mfma_32_2_2")
    wrong = judge(mfma, expected_of(HipConfig.mfma(64, 2, 2)), load_archs()["gfx950"])
    assert [finding.rule for finding in wrong] == ["matrix_op_count"]
