"""ckgen's rules for ck_tile's multi-D, multi-ABD and batched GEMMs against the op's own host code."""

from __future__ import annotations

import struct
from collections import Counter

import numpy as np
import pytest
from multi_abd_answers import KINDS, MultiAbdAnswers, Prepared, Problems

from ckgen.families.common.device.unit import Use, symbol_of
from ckgen.families.gemm.ck_tile_geometry import epilogue_bytes, store_vector
from ckgen.families.gemm.config import CkTileConfig
from ckgen.families.gemm.device.ck_tile import all_variants, variant_of
from ckgen.families.gemm.problem_rules import check, supports
from ckgen.model.tuned_row import Shape

pytestmark = [pytest.mark.amd, pytest.mark.cpp]

COUNT = 20_000
STRICTER = {"gemm.instance.matrix-size", "gemm.instance.max-k-batch", "gemm.instance.split-multiple",
            "gemm.instance.min-k"}  # fmt: skip
"""What ckgen asks beyond IsSupportedArgument: 32-bit addresses, whole sums behind an epilogue, splits of one loop."""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> MultiAbdAnswers:
    return MultiAbdAnswers(tmp_path_factory.mktemp("multi_abd"))


def config_of(kind: str) -> CkTileConfig:
    config = KINDS[kind].config
    assert isinstance(config, CkTileConfig)
    return config


def random_problems(kind: str, seed: int) -> Problems:
    """Near the kernel's limits: multiples of its tile and of 8, and neighbours; few over 2 GiB."""
    rng, tile = np.random.default_rng(seed), config_of(kind).tile

    def near(part: int) -> np.ndarray:
        grain = rng.choice([part, part, 8, 1], COUNT)
        off = np.where(rng.random(COUNT) < 0.1, rng.integers(-1, 2, COUNT), 0)
        return np.maximum(grain * rng.integers(1, 40, COUNT) + off, 1)

    m = np.where(rng.random(COUNT) < 0.02, 2**24, near(tile.m))
    k_batch = np.where(rng.random(COUNT) < 0.7, 1, rng.choice([2, 3, 4, 8, 16], COUNT))
    batch = rng.integers(1, 9, COUNT) if KINDS[kind].signature.batched else np.ones(COUNT)
    return np.stack([m, near(tile.n), near(tile.k), k_batch, batch], axis=1).astype(np.int64)


@pytest.mark.parametrize("kind", KINDS)
def test_rules_agree_with_the_op(kind: str, answers: MultiAbdAnswers) -> None:
    problems = random_problems(kind, seed=20265)
    accepted = answers.accepts(kind, problems)
    seen: Counter[bool] = Counter()
    for row, op_takes in zip(problems.tolist(), accepted.tolist(), strict=True):
        m, n, k, k_batch, batch = row
        shape = Shape(batch if KINDS[kind].signature.batched else 0, m, n, k)
        assert check(KINDS[kind].signature, shape) is None, row
        finding = supports(KINDS[kind].constraints, shape, k_batch)
        seen[finding is None] += 1
        if finding is None:
            assert op_takes, f"ckgen supports {row}, the op refuses it"
        elif op_takes:
            assert finding.rule in STRICTER, f"the op takes {row}, ckgen: {finding.text}"
    assert min(seen.values()) > COUNT // 50, f"the problems must try both answers: {seen}"


@pytest.mark.parametrize("kind", KINDS)
def test_stores_and_the_epilogues_lds_are_the_kernels_own(kind: str, answers: MultiAbdAnswers) -> None:
    signature, config = KINDS[kind].signature, config_of(kind)
    assert answers.derived(kind) == (store_vector(signature, config), epilogue_bytes(signature, config))


@pytest.mark.parametrize("kind", KINDS)
def test_host_units_launch_the_variant_that_the_rules_name(kind: str, answers: MultiAbdAnswers) -> None:
    """Symbol, grid and rows to clear by arithmetic of our own: entries of the batch lie along x."""
    instance, tile, used = KINDS[kind], config_of(kind).tile, set()
    for m, n, k, k_batch, batch in random_problems(kind, seed=20266)[:3000].tolist():
        shape = Shape(batch if instance.signature.batched else 0, m, n, k)
        found = answers.prepare(kind, (m, n, k, k_batch, batch))
        if supports(instance.constraints, shape, k_batch) is not None:
            continue
        assert isinstance(found, Prepared), (found, shape, k_batch)
        variant = variant_of(instance, Use(shape, k_batch))
        assert found.symbol == symbol_of(instance, variant)
        assert found.grid == (-(-m // tile.m) * -(-n // tile.n) * batch, 1, k_batch)
        assert found.block == (256, 1, 1)
        assert found.clear_rows == (m if k_batch > 1 else 0)
        used.add(variant)
    assert used == set(all_variants(instance))


def test_arguments_are_what_the_kernel_reads(answers: MultiAbdAnswers) -> None:
    """UniversalGemmKernelArgs of two A, two B and one D, then 64-bit batch strides and alpha."""
    found = answers.prepare("all", (128, 192, 256, 1, 3))
    assert isinstance(found, Prepared)
    assert struct.unpack("<6Q", found.args[:48]) == (0x1000, 0x4000, 0x2000, 0x5000, 0x6000, 0x3000)
    assert struct.unpack("<3i2i2i2i", found.args[48:84]) == (128, 192, 256, 128, 128, 256, 256, 0, 192)
    assert struct.unpack("<i", found.args[84:88]) == (1,)
    assert struct.unpack("<5qf4x", found.args[88:]) == (7, 8, 9, 10, 11, 0.5)


def test_what_no_kernel_takes_is_refused_with_the_reason(answers: MultiAbdAnswers) -> None:
    assert answers.prepare("two D", (2**24, 128, 64, 1, 1)) == (
        "a matrix of 2 GiB or more: ck_tile addresses with 32 bits"
    )
    assert answers.prepare("all", (128, 192, 200, 1, 1)) == "ck_tile's IsSupportedArgument refuses 128 x 192 x 200"
    assert answers.prepare("any D", (64, 64, 512, 2, 1)) == "no kernel was built for K = 512 in 2 splits on gfx942"
    assert answers.prepare("batched", (2**19, 2**10, 64, 1, 2**15)) == (
        "131072 tiles in 32768 batch entries: more than 2^31 workgroups"
    )
