"""Our rules for dense ck_tile GEMMs against ck_tile's own host code, and against what its kernels then compute.

ck_tile accepts problems that its kernels get wrong; each such disagreement is proven here by counting the K tiles that
the kernel's loops run, and told in docs/upstream/ck_tile_gemm.md.
"""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ck_tile_answers import CkTileAnswers, Prepared, linked
from numpy.typing import NDArray

from ckgen.families.common.device.unit import Use
from ckgen.families.common.device.variant import Tail
from ckgen.families.gemm import ck_tile_geometry as geometry
from ckgen.families.gemm.config import CkTileConfig, Epilogue, Scheduler, TilePipeline
from ckgen.families.gemm.device import ck_tile
from ckgen.families.gemm.enums import Layout
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.problem_rules import supports
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.registry import make_instance
from ckgen.families.rules import judge
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.dtype import DType
from ckgen.model.tuned_row import Shape
from ckgen.specs.archs import load_arch
from cpp_build import ROOT

pytestmark = [pytest.mark.amd, pytest.mark.cpp]

PROBLEMS = 20_000
GFX942, GFX950, GFX1201 = 7, 8, 3
"""Values of ckgen::Arch."""
UNSUPPORTED = 1
"""ckgen::StatusCode::unsupported."""

_PLAIN = CkTileConfig(Tile(128, 128, 64), (2, 2, 1), Tile(32, 32, 16), TilePipeline.COMPV3, Scheduler.INTRAWAVE)
_SMALL = CkTileConfig(Tile(16, 64, 64), (1, 4, 1), Tile(16, 16, 16), TilePipeline.MEM, Scheduler.INTERWAVE)
_FP16 = GemmSignature.of(DType.FP16, DType.FP16)
_BF16 = GemmSignature.of(DType.BF16, DType.FP32)
_FP8 = GemmSignature.of(DType.FP8_FNUZ, DType.BF16)
_INT8 = GemmSignature.of(DType.INT8, DType.INT32)
_PADDED = replace(_PLAIN, pad_m=True, pad_n=True, pad_k=True)


def _kinds() -> Iterator[tuple[str, GemmSignature, CkTileConfig, str]]:
    for layout in Layout:
        fp16 = replace(_FP16, layout=layout)
        yield f"{layout}", fp16, _PLAIN, "gfx942"
        yield f"{layout} padded", fp16, replace(_PADDED, pipeline=TilePipeline.COMPV4), "gfx942"
        yield f"{layout} narrow", fp16, replace(_PADDED, vector=2, pipeline=TilePipeline.MEM), "gfx942"
        yield f"{layout} fp8", replace(_FP8, layout=layout), replace(_SMALL, warp_tile=Tile(16, 16, 32)), "gfx942"
    yield "pad k", _FP16, replace(_SMALL, pad_k=True), "gfx942"
    yield "pad n", _BF16, replace(_PLAIN, pad_n=True, pipeline=TilePipeline.COMPV6), "gfx942"
    yield "compv6 padded", _FP16, replace(_PADDED, pipeline=TilePipeline.COMPV6), "gfx942"
    yield "persistent", _FP16, replace(_PLAIN, persistent=True, block_per_cu=2), "gfx942"
    yield "direct", _FP16, replace(_PADDED, epilogue=Epilogue.DEFAULT), "gfx942"
    direct = replace(_PADDED, epilogue=Epilogue.DEFAULT, transpose_c=True)
    yield "direct transposed", _FP16, direct, "gfx942"
    yield "int8", _INT8, replace(_PADDED, tile=Tile(64, 64, 128)), "gfx942"
    yield "async", _FP16, replace(_PLAIN, pipeline=TilePipeline.COMP_ASYNC, pad_k=True), "gfx950"
    wmma = CkTileConfig(Tile(64, 64, 64), (2, 4, 1), Tile(16, 16, 16), TilePipeline.COMPV3, Scheduler.INTRAWAVE)
    yield "wmma", _FP16, replace(wmma, pad_m=True, pad_n=True, pad_k=True), "gfx1201"


INSTANCES = {name: make_instance(signature, config, archs=(arch,)) for name, signature, config, arch in _kinds()}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> CkTileAnswers:
    return CkTileAnswers(INSTANCES, tmp_path_factory.mktemp("answers"))


def _config(instance: Instance) -> CkTileConfig:
    assert isinstance(instance.config, CkTileConfig)
    return instance.config


def _problems(instance: Instance, count: int) -> NDArray[np.int64]:
    """Sizes near multiples of tiles, warp tiles and vectors, and any at all; splits as often as none."""
    random = np.random.default_rng(instance.id % 2**32)
    config = _config(instance)
    columns = []
    for tile, part in zip(
        (config.tile.m, config.tile.n, config.tile.k),
        (config.warp_tile.m, config.warp_tile.n, config.warp_tile.k),
        strict=True,
    ):
        grain = random.choice([1, 2, 4, 8, 16, part, tile, tile, 2 * tile], size=count)
        columns.append(grain * random.integers(1, 1 + np.maximum(random.choice([64, 4096]) // grain, 4)))
    huge = random.random(count) < 0.01
    columns[0] = np.where(huge, columns[0] * 4096, columns[0])
    splits = np.where(random.random(count) < 0.5, 1, random.integers(1, 17, size=count))
    even = random.random(count) < 0.3
    columns[2] = np.where(even, columns[2] * splits, columns[2])
    return np.stack([*columns, splits], axis=1).astype(np.int64)


def _tiles_run(instance: Instance, hot: bool, tail: Tail, loops: int) -> int:
    """K tiles that the pipeline's code multiplies, told `loops` of them: its do-while loops and its tail, in words."""
    config = _config(instance)
    after = {Tail.ODD: 1, Tail.EVEN: 2, Tail.FULL: 1}
    if config.pipeline is TilePipeline.COMPV6:
        after = {Tail.ODD: 3, Tail.EVEN: 2}
    counted = (Tail.ONE, Tail.TWO, Tail.THREE, Tail.FOUR, Tail.FIVE, Tail.SIX, Tail.SEVEN)
    after |= {name: number for number, name in enumerate(counted, 1)}
    stages = geometry.stages(instance.signature, config)
    if config.pipeline is TilePipeline.MEM:
        after[Tail.FULL] = stages
    turn, start, end = {
        TilePipeline.MEM: (stages, 0, loops - stages),
        TilePipeline.COMPV3: (1, 0, loops - 1),
        TilePipeline.COMPV4: (2, 3, loops),
        TilePipeline.COMPV6: (2, 0, loops - 3),
        TilePipeline.COMP_ASYNC: (2, 3, loops),
    }[config.pipeline]
    done, at = 0, start
    while hot:
        done, at = done + turn, at + turn
        if at >= end:
            break
    return done + after[tail]


def _is_computed(instance: Instance, m: int, n: int, k: int, k_batch: int) -> bool:
    """Whether every split multiplies its K tiles: all of them, and more only where K is zeros beyond."""
    config, signature = _config(instance), instance.signature
    zeros_beyond = config.pad_k or signature.layout is Layout.CRR
    grain = k_batch * config.warp_tile.k
    first = k if k_batch == 1 else -(-k // grain) * config.warp_tile.k
    variant = ck_tile.variant_of(instance, Use(Shape(0, m, n, k), k_batch))
    for part in (first, k - first * (k_batch - 1)):
        if part <= 0:
            return False
        tiles = -(-part // config.tile.k)
        run = _tiles_run(instance, variant.hot, variant.tail, tiles)
        if run < tiles or (run > tiles and not zeros_beyond):
            return False
    largest = max(m * k * signature.a.bits, n * k * signature.b.bits, m * n * signature.c.bits) // 8
    return largest < 2**31


@pytest.mark.parametrize("name", INSTANCES)
def test_what_we_support_is_what_ck_tile_accepts_and_computes(name: str, answers: CkTileAnswers) -> None:
    instance = INSTANCES[name]
    arch = GFX1201 if instance.archs == ("gfx1201",) else GFX942
    problems = _problems(instance, PROBLEMS)
    accepted = answers.accepts(name, arch, problems)
    outcomes: Counter[tuple[bool, bool]] = Counter()
    for (m, n, k, k_batch), theirs in zip(problems.tolist(), accepted.tolist(), strict=True):
        finding = supports(instance.constraints, Shape(0, m, n, k), k_batch)
        wanted = theirs and _is_computed(instance, m, n, k, k_batch)
        assert (finding is None) == wanted, f"{m} x {n} x {k} in {k_batch} splits: {finding}, ck_tile says {theirs}"
        outcomes[finding is None, theirs] += 1
    assert outcomes[True, True] >= 500
    assert outcomes[False, False] >= 500
    assert outcomes[True, False] == 0


@pytest.mark.parametrize("name", INSTANCES)
def test_loads_stores_and_stages_are_ck_tiles_own(name: str, answers: CkTileAnswers) -> None:
    instance = INSTANCES[name]
    signature, config = instance.signature, _config(instance)
    lanes = load_arch(instance.archs[0]).wave_size
    loads = geometry.load_vectors(signature, config, lanes)
    stages = geometry.stages(signature, config)
    assert answers.derived(name, lanes) == (*loads, geometry.store_vector(signature, config), stages)


@pytest.mark.parametrize("name", INSTANCES)
def test_main_loops_are_ck_tiles_own_where_those_are_right(name: str, answers: CkTileAnswers) -> None:
    instance = INSTANCES[name]
    tile_k = _config(instance).tile.k
    theirs, ours = answers.loops(name, 24)
    for tiles, (own, bridged) in enumerate(zip(theirs, ours, strict=True), 1):
        variant = ck_tile.variant_of(instance, Use(Shape(0, 1, 1, tiles * tile_k), 1))
        assert bridged == (variant.hot, variant.tail.value)
        runs = _tiles_run(instance, own[0], Tail(own[1]), tiles)
        if own != bridged:
            assert runs != tiles
            assert _tiles_run(instance, variant.hot, variant.tail, tiles) == tiles
        elif runs != tiles:
            assert _config(instance).pipeline is TilePipeline.COMPV6
            assert tiles == 1


def test_ck_tile_runs_five_tiles_where_there_are_three(answers: CkTileAnswers) -> None:
    for name in ("rcr padded", "async"):
        theirs, ours = answers.loops(name, 24)
        assert [tiles for tiles, pair in enumerate(zip(theirs, ours, strict=True), 1) if pair[0] != pair[1]] == [3]
        hot, tail = theirs[2]
        assert _tiles_run(INSTANCES[name], hot, Tail(tail), 3) == 5


def test_ck_tile_accepts_splits_without_work(answers: CkTileAnswers) -> None:
    problem = (128, 128, 256, 12)
    assert answers.accepts("rcr padded", GFX942, np.array([problem]))[0]
    # eleven splits of 32 are more than 256: the twelfth has -96 elements of K
    finding = supports(INSTANCES["rcr padded"].constraints, Shape(0, *problem[:3]), problem[3])
    assert finding is not None
    assert finding.rule == "gemm.instance.split-multiple"


def test_a_launch_is_what_the_problem_needs(answers: CkTileAnswers) -> None:
    def launch(name: str, arch: int, cu_num: int, *problem: int) -> Prepared:
        found = answers.prepare(name, arch, cu_num, problem)
        assert isinstance(found, Prepared)
        return found

    plain = launch("rcr", GFX942, 304, 300, 256, 640, 1)
    assert plain == Prepared("hot_full_set", 6, 1, 256, plain.args_size, 0, 0, 0, 300, 256, 640)
    split = launch("rcr", GFX942, 304, 300, 256, 640, 2)
    # C is cleared row by row, whatever lies between: 264 elements apart, 256 wide
    assert split == Prepared("hot_full_add", 6, 2, 256, plain.args_size, 300, 528, 512, 300, 256, 640)
    assert launch("rcr padded", GFX942, 304, 300, 256, 184, 1).symbol == "cold_three_set"
    narrow = launch("wmma", GFX1201, 32, 64, 64, 640, 1)
    assert (narrow.symbol, narrow.block) == ("hot_full_set", 256)
    persistent = launch("persistent", GFX942, 38, 4096, 4096, 640, 1)
    assert (persistent.grid, persistent.splits) == (76, 1)
    assert launch("persistent", GFX942, 38, 256, 128, 640, 1).grid == 2


@pytest.mark.parametrize(
    ("name", "arch", "problem"),
    [
        ("rcr", GFX942, (300, 256, 650, 1)),
        ("rcr", GFX942, (300, 256, 64, 1)),
        ("rcr", GFX950, (300, 256, 640, 2)),
        ("rcr", GFX1201, (300, 256, 640, 2)),
        ("rcr", GFX942, (1 << 21, 256, 1024, 1)),
        ("rcr padded", GFX942, (128, 128, 256, 12)),
    ],
)
def test_a_launch_is_refused(name: str, arch: int, problem: tuple[int, ...], answers: CkTileAnswers) -> None:
    assert answers.prepare(name, arch, 304, problem) == UNSUPPORTED


@pytest.mark.long
def test_the_reproducer_tells_the_same(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "upstream" / "ck_tile_gemm.cpp").read_text("utf-8")
    # answers for the device in place of HIP
    text = '#include "backends/ck_tile/host_device.hpp"\n' + text
    program = linked(text, tmp_path, "reproducer", library=False)
    said = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    assert said == [
        "compv4: accepted 1, of 2, 3, 4, 5 tiles run 2, 5, 4, 5",
        "compv6: accepted 1, hot 0, tail odd 1",
        "splits: accepted 1, the last has -96 of K = 256",
        "tails: accepted 1, splits of 6 and 5 tiles, the last runs 4",
        "sizes: accepted 1, A has 4294967296 elements, counted 0",
    ]


def test_every_kind_is_a_config_that_the_rules_allow() -> None:
    for instance in INSTANCES.values():
        assert not judge(instance.signature, _config(instance), Backend.CK_TILE, load_arch(instance.archs[0]))
