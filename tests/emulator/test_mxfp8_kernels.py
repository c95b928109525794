"""Our MX-FP8 kernels for few rows, executed under all checks: GEMV, matrix instructions, and products of experts."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from mx_support import (
    E4M3_NAN,
    E8M0_NAN,
    Float,
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
from ckgen.emulator.core import Options, Run
from ckgen.emulator.production.routing import Routing, routed
from ckgen.families.gemm.config import HipConfig
from ckgen.families.gemm.device.hip_mxfp8 import expected_of
from ckgen.families.gemm.device.hip_mxfp8_work import Work, least_work
from ckgen.specs.archs import load_archs

TEXT = """#include <backends/hip/mxfp8_gemv.hpp>
#include <backends/hip/mxfp8_mfma.hpp>
#include <backends/hip/mxfp8_moe.hpp>
CKGEN_MXFP8_GEMV_KERNEL(gemv_1_4_4, 1, 4, 4)
CKGEN_MXFP8_GEMV_KERNEL(gemv_4_4_2, 4, 4, 2)
CKGEN_MXFP8_GEMV_KERNEL(gemv_16_4_1, 16, 4, 1)
CKGEN_MXFP8_MFMA_KERNEL(mfma_8_1_4, 8, 1, 4)
CKGEN_MXFP8_MFMA_KERNEL(mfma_32_2_2, 32, 2, 2)
CKGEN_MXFP8_MOE_KERNEL(moe_16_8_4, 16, 8, 4)
CKGEN_MXFP8_MOE_KERNEL(moe_32_16_2, 32, 16, 2)
"""


def config_of(symbol: str) -> HipConfig:
    """Of the kernel named kind_rows_columns_splits."""
    kind, *numbers = symbol.split("_")
    makers = {"gemv": HipConfig.gemv, "mfma": HipConfig.mfma, "moe": HipConfig.moe}
    return makers[kind](*map(int, numbers))


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


@dataclass(frozen=True, slots=True)
class Experts:
    """Tokens' rows of A (of every slot where `a_div` is 1), weights of all experts, and who goes where."""

    a: MxRows
    b: MxRows
    routing: Routing
    a_div: int

    def rows(self) -> Iterator[tuple[int, int, int]]:
        """Row of C, row of A, expert."""
        top_k = self.routing.experts.shape[1]
        for (token, slot), expert in np.ndenumerate(self.routing.experts):
            row = token * top_k + slot
            yield row, row // self.a_div, int(expert)

    def exact(self, weighted: bool) -> tuple[Float, Float]:
        """Rows of C and their bounds."""
        weights = self.routing.weights.reshape(-1).astype(np.float64)
        parts = [product(self.a.values[a : a + 1], self.b.values[e]) for _, a, e in self.rows()]
        factors = weights if weighted else np.ones_like(weights)
        exact = np.concatenate([part[0] for part in parts]) * factors[:, None]
        return exact, np.concatenate([part[1] for part in parts]) * factors[:, None] * 1.01


def experts_of(
    generator: np.random.Generator, tokens: int, n: int, k: int, top_k: int, block_m: int, a_div: int
) -> Experts:
    """Five experts, of which the routing may leave some without tokens."""
    rows = tokens if a_div > 1 else tokens * top_k
    return Experts(
        mx_rows(generator, (rows, k)),
        mx_rows(generator, (5, n, k)),
        routed(generator, tokens, 5, top_k, block_m),
        a_div,
    )


def moe(symbol: str, x: Experts, by_position: bool | None) -> tuple[NDArray[Any], Run]:
    """C of a kernel of experts; `by_position`: weights go with ids, not with rows; None: none."""
    config = config_of(symbol)
    count, n, k = x.b.codes.shape
    tokens, top_k = x.routing.experts.shape
    c = no_result(tokens * top_k, n)
    weights = x.routing.id_weights if by_position else x.routing.weights
    read = [
        x.a.codes,
        x.a.scales,
        x.b.codes,
        x.b.scales,
        x.routing.ids,
        x.routing.block_experts,
        x.routing.valid,
        weights,
    ]
    addresses = [array.ctypes.data for array in read]
    args = struct.pack(
        "<9Q5q4i", *addresses[:4], c.ctypes.data, *addresses[4:7], 0 if by_position is None else addresses[7],
        tokens, n, k, k, n, count, top_k, x.a_div, bool(by_position),
    )  # fmt: skip
    grid = (-(-n // config.columns), x.routing.blocks + 2)
    return c, launched(code_object(TEXT), symbol, grid, config.threads, args, read, c)


MOES = [
    ("moe_16_8_4", 6, 20, 1024, 2, 2, None), ("moe_16_8_4", 3, 24, 768, 4, 1, False),
    ("moe_32_16_2", 40, 32, 256, 2, 2, True), ("moe_32_16_2", 1, 17, 768, 1, 1, True),
]  # fmt: skip


@pytest.mark.parametrize(("symbol", "tokens", "n", "k", "top_k", "a_div", "by_position"), MOES)
def test_products_of_experts(
    symbol: str, tokens: int, n: int, k: int, top_k: int, a_div: int, by_position: bool | None
) -> None:
    """Rows gathered per token or per slot, with and without weights; more blocks launched than there are."""
    generator = np.random.default_rng(n)
    x = experts_of(generator, tokens, n, k, top_k, int(symbol.split("_")[1]), a_div)
    c, _ = moe(symbol, x, by_position)
    assert close(c, *x.exact(by_position is not None))


def near(run: Run, least: Work) -> None:
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


@pytest.mark.parametrize("k", [768, 6144])
def test_work_of_experts_is_near_the_least(k: int) -> None:
    """Of a block each: half of the tile's columns, and rows of A that are there."""
    generator, config = np.random.default_rng(11), HipConfig.moe(16, 8, 4)
    x = experts_of(generator, 4, 8, k, 2, config.m, 2)
    _, run = moe("moe_16_8_4", x, None)
    near(run, least_work(config, 8, k, x.routing.blocks, 8))


def test_there_is_no_code_for_other_archs() -> None:
    """Every kernel is there, and ends at once."""
    for kernel in read_code_object(Source("gfx942", code_object(TEXT, "gfx942"))).kernels:
        assert len(kernel.text) == 4 and kernel.resources.lds == 0


def test_the_gate_takes_each_kernel_as_what_its_config_means() -> None:
    """No scratch, no spills, the scaled instruction in whole steps."""
    decoder = amd_toolchain().decoder
    assert decoder is not None
    reports = reports_of(read_code_object(Source("gfx950", code_object(TEXT))), decoder)
    assert len(reports) == 7
    for report in reports:
        findings = judge(report, expected_of(config_of(report.kernel)), load_archs()["gfx950"])
        assert not report.findings and not findings, findings
    mfma = next(report for report in reports if report.kernel == "mfma_32_2_2")
    wrong = judge(mfma, expected_of(HipConfig.mfma(64, 2, 2)), load_archs()["gfx950"])
    assert [finding.rule for finding in wrong] == ["matrix_op_count"]
