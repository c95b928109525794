from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import astuple, replace
from pathlib import Path

import pytest

from ckgen.families.gemm.config import HostConfig
from ckgen.families.gemm.predicted.chip import Chip, chip_of
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.dtype import DType
from ckgen.model.errors import UsageError
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.predict.calibrate import Timed, fit, read, regret
from ckgen.predict.cpu_time import CpuConstants, CpuCounts, cpu_counts, cpu_time
from ckgen.specs.archs import load_arch
from commands import as_json

TARGET = Target("x86_64_v4", 1)
FP32 = GemmSignature.of(DType.FP32, DType.FP32)
CONFIGS = tuple(
    HostConfig(mr, 32, mc, 512, kc) for mr in (1, 4, 8, 14) for mc, kc in ((1, 1024), (96, 512), (112, 256))
)
LAYERS = ((512, 512), (1024, 256), (768, 2048))
TRUE = CpuConstants(call=3.0, fma=1.3, pack_a=20.0, pack_b=30.0, pack_fused=15.0, sums=10.0, few_fma=2.5, few_lines=4.0)


def chip() -> Chip:
    return chip_of(load_arch(TARGET.gfx), TARGET, ghz=3.0)


def counts(config: HostConfig, shape: Shape) -> CpuCounts:
    found = cpu_counts(FP32, config, shape, chip())
    assert found is not None
    return found


def timed(slow: Iterable[int] = ()) -> list[Timed]:
    """What a CPU of the true constants takes; some times were disturbed."""
    found = []
    for n, k in LAYERS:
        for m in (1, 7, 16, 33, 64, 300):
            shape = Shape(0, m, n, k)
            for config in CONFIGS:
                of = counts(config, shape)
                found.append(Timed(str(shape), (n, k), config.text(), of, cpu_time(of, chip(), TRUE).us))
    disturbed = set(slow)
    return [
        Timed(one.problem, one.layer, one.kernel, one.counts, one.us * (20 if at in disturbed else 1))
        for at, one in enumerate(found)
    ]


def test_constants_are_found_again_though_some_times_were_disturbed() -> None:
    assert astuple(fit(timed(range(5, 200, 17)), chip())) == pytest.approx(astuple(TRUE), rel=0.02)


def test_a_model_of_the_right_form_loses_nothing_on_layers_it_never_saw() -> None:
    found = regret(timed(), chip())
    assert found.problems == 18 and found.worst == pytest.approx(1.0) and found.error < 1e-3


def test_more_candidates_lose_no_more() -> None:
    lost = [regret(timed(range(0, 200, 5)), chip(), best).geomean for best in (1, 4, 8)]
    assert lost == sorted(lost, reverse=True)


def test_few_rows_take_the_same_time_whatever_the_config() -> None:
    assert len({counts(config, Shape(0, 16, 512, 512)) for config in CONFIGS}) == 1
    assert len({counts(config, Shape(0, 17, 512, 512)) for config in CONFIGS}) > 1


def test_a_panel_of_one_row_waits_for_its_own_sums() -> None:
    """One row of 32 columns is two sums in flight: five clocks a step, not one."""
    one, eight = (counts(HostConfig(mr, 32, 96, 512, 512), Shape(0, 64, 512, 512)).fma for mr in (1, 8))
    assert one == 64 / 8 * 5 / 8 * eight


def test_sums_that_just_hide_an_fma_still_wait_a_clock() -> None:
    four, eight = (counts(HostConfig(mr, 32, 96, 512, 512), Shape(0, 64, 512, 512)).fma for mr in (4, 8))
    assert four == 5 / 4 * eight


def test_more_cores_share_the_blocks() -> None:
    shape, config = Shape(0, 512, 512, 512), HostConfig(8, 32, 64, 512, 512)
    (one, four) = (
        cpu_counts(FP32, config, shape, chip_of(load_arch(TARGET.gfx), Target(TARGET.gfx, cores), ghz=3.0))
        for cores in (1, 4)
    )
    assert one is not None and four is not None and four.fma == one.fma / 4


AMX = chip_of(load_arch("x86_64_amx"), Target("x86_64_amx", 1), ghz=3.0)
BF16 = GemmSignature.of(DType.BF16, DType.BF16)


def of_amx(mr: int, m: int, signature: GemmSignature = BF16) -> CpuCounts:
    found = cpu_counts(signature, HostConfig(mr, 32, 64, 512, 1024), Shape(0, m, 512, 512), AMX)
    assert found is not None
    return found


def test_whole_tiles_of_amx_have_clocks_of_their_own_and_pack_no_a() -> None:
    one, two, vectors = (of_amx(mr, 64) for mr in (16, 32, 8))
    products = 64 // 16 * 512 // 16 * 512 // 32
    assert (one.tiles, one.tall_tiles, one.fma, one.pack_a) == (products * 16, 0, 0, 0)
    assert (two.tiles, two.tall_tiles, two.fma) == (0, products * 16, 0)
    assert (vectors.tiles, vectors.tall_tiles) == (0, 0) and min(vectors.fma, vectors.pack_a) > 0
    assert of_amx(32, 16).tiles > 0, "few rows have one row of tiles"
    assert of_amx(16, 64, FP32).tiles == 0 < of_amx(16, 64, FP32).fma


def test_tiles_take_over_from_the_fifth_row() -> None:
    assert [of_amx(16, m).few_lines > 0 for m in (4, 5)] == [True, False]
    assert [of_amx(8, m).few_lines > 0 for m in (16, 17)] == [True, False]


def test_a_regret_says_what_noise_leaves_of_it() -> None:
    """The even rounds have the kernels' times the other way round."""
    every = timed()
    other = {one.problem: [each.us for each in every if each.problem == one.problem] for one in every}
    swapped = [
        replace(one, halves=(one.us, min(other[one.problem]) + max(other[one.problem]) - one.us)) for one in every
    ]
    floor = regret(swapped, chip()).floor
    assert regret(every, chip()).floor is None and floor is not None and floor > 1.1


def test_too_few_times_and_one_layer_are_refused() -> None:
    with pytest.raises(UsageError, match="too few"):
        fit(timed()[:3], chip())
    with pytest.raises(UsageError, match="another is needed"):
        regret([one for one in timed() if one.layer == LAYERS[0]], chip())


def journal(path: Path) -> None:
    """As `ckgen tune` writes it: of every kernel the time that the true constants give."""
    where = {"device": "a CPU", "target": str(TARGET), "driver": "", "threads": 1, "versions": []}
    lines = [{"header": {"schema": "ckgen.journal/1", "code": "c", "environment": where, "tool": "ckgen"}}]
    for n, k in LAYERS:
        for m in (8, 33, 200):
            for config in CONFIGS:
                us = cpu_time(counts(config, Shape(0, m, n, k)), chip(), TRUE).us
                measured = {
                    "problem": f"signature=gemm_fp32_rcr target={TARGET} m={m} n={n} k={k}", "rung": "first",
                    "together": 1, "instance": f"gemm_fp32_rcr_host_{config.text()}", "k_batch": 1, "status": "ok",
                    "median_us": us, "spread": 0.01, "runs": 5,
                }  # fmt: skip
                lines.append({"measured": measured})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_a_journal_becomes_constants_that_predictions_take(tmp_path: Path) -> None:
    journal(tmp_path / "j.jsonl")
    out = tmp_path / "constants.json"
    words = ["calibrate", "--journal", str(tmp_path / "j.jsonl"), "--ghz", "3", "--out", str(out)]
    (found,) = as_json("predict", *words)
    assert found["regret"]["1"]["geomean"] == pytest.approx(1.0, abs=1e-3) and found["device"] == "a CPU"
    (own,) = read(out)
    assert own.constants.fma == pytest.approx(TRUE.fma, rel=0.02)
    asked = ["gemm", "--target", str(TARGET), "--signature", "gemm_fp32_rcr", "--shape", "64,512,512", "--ghz", "3",
             "--constants", str(out)]  # fmt: skip
    answer = as_json("predict", *asked)
    assert answer["constants"] == "calibrated on a device"


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text("{}")
    with pytest.raises(UsageError, match="no constants of `ckgen predict calibrate`"):
        read(path)
