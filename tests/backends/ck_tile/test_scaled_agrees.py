"""ckgen's rules for ck_tile's scaled GEMMs against the kernels' own host code, over many random problems."""

from __future__ import annotations

import struct
from collections import Counter
from itertools import product

import numpy as np
import pytest
from scaled_answers import FLATMM, KINDS, QUANT, UPSTREAM, Kind, Prepared, Problems, ScaledAnswers, header_bugs

from ckgen.families.common.device.unit import Use, symbol_of
from ckgen.families.gemm.ck_tile_geometry import epilogue_bytes, store_vector
from ckgen.families.gemm.device import ck_tile_flatmm, ck_tile_quant
from ckgen.families.gemm.problem_rules import check, supports
from ckgen.model.tuned_row import Shape

pytestmark = [pytest.mark.amd, pytest.mark.cpp]

COUNT = 20_000
ALL = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.label)
FLATMM_KIND, QUANT_KIND = KINDS[1], KINDS[len(FLATMM)]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[object, ScaledAnswers]:
    return {
        family: ScaledAnswers(family, tmp_path_factory.mktemp("scaled")) for family in (ck_tile_flatmm, ck_tile_quant)
    }


def random_problems(kind: Kind, seed: int) -> Problems:
    """Legal problems near the kernel's limits: multiples of its parts and neighbours, few of them over 2 GiB."""
    rng, config = np.random.default_rng(seed), kind.config
    preshuffled = kind.instance.signature.preshuffle_b

    def near(parts: tuple[int, ...], least: int, most: int) -> np.ndarray:
        part = rng.choice(parts, COUNT)
        off = np.where(rng.random(COUNT) < 0.2, rng.integers(-1, 2, COUNT) * least, 0)
        return np.maximum(part * rng.integers(1, most, COUNT) + off, least)

    n_parts = (config.tile.n, config.tile.n, config.warp_tile.n, 8)
    k_parts = (config.tile.k, config.tile.k, config.warp_tile.k, 32, 16)
    grain_n, grain_k = (16, 32) if preshuffled else (1, 1)
    m = np.where(rng.random(COUNT) < 0.02, 2**24, near((config.tile.m, 1, 7), 1, 300))
    n = -(-near(n_parts, 1, 64) // grain_n) * grain_n
    k = -(-near(k_parts, 1, 96) // grain_k) * grain_k
    k_batch = np.where(rng.random(COUNT) < 0.5, 1, rng.choice([2, 3, 4, 8, 16, 64, 128], COUNT))
    return np.stack([m, n, k, k_batch], axis=1).astype(np.int64)


@ALL
def test_rules_agree_with_the_kernel(kind: Kind, answers: dict[object, ScaledAnswers]) -> None:
    problems = random_problems(kind, seed=20263)
    accepted = answers[kind.family].accepts(kind, problems)
    seen: Counter[bool] = Counter()
    for row, kernel_takes in zip(problems.tolist(), accepted.tolist(), strict=True):
        m, n, k, k_batch = row
        shape = Shape(0, m, n, k)
        assert check(kind.instance.signature, shape) is None, row
        finding = supports(kind.instance.constraints, shape, k_batch)
        seen[finding is None] += 1
        if finding is None:
            assert kernel_takes, f"ckgen supports {row}, the kernel refuses it"
        elif kernel_takes:
            assert any(bug.covers(kind, row) for bug in header_bugs()), f"the kernel takes {row}, ckgen: {finding.text}"
    assert min(seen.values()) > COUNT // 20, f"the problems must try both answers: {seen}"


def test_every_exception_is_documented_and_met(answers: dict[object, ScaledAnswers]) -> None:
    """Each header bug has its document, and some problem that the kernel takes shows it."""
    unmet = {bug.id for bug in header_bugs()}
    for kind, bug in product(KINDS, header_bugs()):
        assert (UPSTREAM / bug.document).is_file(), bug.document
        problems = random_problems(kind, seed=20263)[:4000]
        taken = problems[answers[kind.family].accepts(kind, problems)].tolist()
        if any(bug.covers(kind, row) for row in taken):
            unmet.discard(bug.id)
    assert not unmet


@ALL
def test_host_units_launch_the_variant_that_the_rules_name(kind: Kind, answers: dict[object, ScaledAnswers]) -> None:
    """Symbol, grid, block and the number of rows to clear, by arithmetic of our own."""
    used, tile = set(), kind.config.tile
    for m, n, k, k_batch in random_problems(kind, seed=20264)[:3000].tolist():
        shape = Shape(0, m, n, k)
        found = answers[kind.family].prepare(kind, kind.arch, (m, n, k, k_batch))
        if supports(kind.instance.constraints, shape, k_batch) is not None:
            continue
        assert isinstance(found, Prepared), (found, shape, k_batch)
        variant = kind.family.variant_of(kind.instance, Use(shape, k_batch))
        assert found.symbol == symbol_of(kind.instance, variant)
        assert found.grid == (-(-m // tile.m) * -(-n // tile.n), 1, k_batch)
        assert found.block == (256, 1, 1)
        assert found.clear_rows == (m if k_batch > 1 else 0)
        used.add(variant)
    assert used == set(kind.family.all_variants(kind.instance))


@ALL
def test_stores_are_as_wide_as_the_kernels_own(kind: Kind, answers: dict[object, ScaledAnswers]) -> None:
    """Three tiles of a wave along M, as in 48 rows, are stored one at a time."""
    signature, config = kind.instance.signature, kind.config
    assert answers[kind.family].stores(kind) == (store_vector(signature, config), epilogue_bytes(signature, config))
    assert store_vector(signature, config) == (4 if config.tile.m == 48 else 8)


def test_flatmm_arguments_are_what_its_kernel_reads(answers: dict[object, ScaledAnswers]) -> None:
    """FlatmmKernelArgs, field by field; its two empty arrays take a place each. 96 bytes, as the code object says."""
    found = answers[ck_tile_flatmm].prepare(FLATMM_KIND, "gfx942", (48, 256, 512, 2))
    assert isinstance(found, Prepared)
    pointers, sizes = struct.unpack("<QQ8xQ", found.args[:32]), struct.unpack("<5i4xii", found.args[32:64])
    assert pointers == (0x1000, 0x2000, 0x3000)
    assert sizes == (48, 256, 512, 512, 512, 256, 2)
    assert struct.unpack("<Qi4xQi4x", found.args[64:]) == (0x4000, 48, 0x5000, 256)


def test_a_problem_without_a_built_kernel_is_refused_by_name(answers: dict[object, ScaledAnswers]) -> None:
    other = answers[ck_tile_flatmm].prepare(FLATMM_KIND, "gfx950", (64, 256, 512, 1))
    assert other == "no kernel was built for K=512 k_batch=1 on gfx950"
    odd = answers[ck_tile_flatmm].prepare(FLATMM_KIND, "gfx942", (64, 256, 500, 1))
    assert odd == "FlatmmKernel::IsSupportedArgument refuses M=64 N=256 K=500 k_batch=1"
    split = answers[ck_tile_flatmm].prepare(FLATMM_KIND, "gfx942", (64, 256, 512, 4))
    assert split == "K=512 in 4 splits is not of whole K tiles of 256"
    unsplit = answers[ck_tile_quant].prepare(QUANT_KIND, "gfx942", (64, 128, 512, 2))
    assert unsplit == "QuantGemmKernel::IsSupportedArgument refuses M=64 N=128 K=512 k_batch=2"
    large = answers[ck_tile_quant].prepare(QUANT_KIND, "gfx942", (2**22, 128, 512, 1))
    assert large == "A of 4194304 x 512 takes 2 GiB or more; ck_tile addresses less"


def test_kinds_stand_for_all_that_is_compiled() -> None:
    assert {kind.label for kind in KINDS} == {f"flatmm {each}" for each in FLATMM} | {f"quant {each}" for each in QUANT}
