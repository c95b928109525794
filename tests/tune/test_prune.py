from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ckgen.measure.model import Candidate
from ckgen.model.target import Target
from ckgen.predict.calibrate import Calibrated
from ckgen.predict.cpu_time import CpuConstants
from ckgen.tune.journal import Contents, Header, Journal, read_journals
from ckgen.tune.problems import Key, Problem, in_ladders, of_counts
from ckgen.tune.prune import Prune
from ckgen.tune.run import Options, Tuner
from tune.fake_measurer import ENVIRONMENT, FakeMeasurer

CPU = Target("x86_64_v4", 2)
FP32 = "gemm_fp32_rcr"
SLOW = f"{FP32}_host_1x32_1x512x1024_t0"
FAST = [f"{FP32}_host_{mr}x32_112x512x512_t0" for mr in (4, 8, 14)]
UNKNOWN = f"{FP32}_of_a_caller"
NAMES = [SLOW, *FAST, UNKNOWN]


def problem(m: int = 256) -> Problem:
    ((one,),) = in_ladders(of_counts({Key(FP32, 0, m, 512, 512): 1}, CPU))
    return one


def kept(prune: Prune, *wanted: str, of: Problem | None = None) -> list[str]:
    candidates = [Candidate(name) for name in NAMES]
    found = prune.kept(of or problem(), candidates, [Candidate(name) for name in wanted])
    return [one.instance for one in found]


def test_the_predicted_best_are_kept_with_what_is_wanted_and_what_has_no_prediction() -> None:
    assert kept(Prune(CPU, 3)) == [*FAST, UNKNOWN]
    assert kept(Prune(CPU, 3), SLOW) == NAMES
    assert len(kept(Prune(CPU, 1))) == 2


def test_constants_of_the_device_decide() -> None:
    """Where sums in registers cost nothing and packing A all, what packs the fewest rows beyond M is best."""
    own = CpuConstants(call=1, fma=0, pack_a=100, pack_b=0, pack_fused=0, sums=0)
    calibrated = Calibrated(str(CPU), FP32, "a CPU", 3000.0, 99, own)
    assert kept(Prune(CPU, 1, (calibrated,)), of=problem(17)) == [SLOW, UNKNOWN]
    elsewhere = replace(calibrated, target="x86_64_v4:1")
    assert kept(Prune(CPU, 1, (elsewhere,)), of=problem(17)) != [SLOW, UNKNOWN]


def test_of_kernels_of_a_gpu_with_one_time_the_one_that_tables_prefer_is_kept() -> None:
    signature, gpu = "gemm_fp8_ocp_bf16_rcr_blockscale", Target("gfx950", 256)
    tile = f"{signature}_ck_tile_abquant_intrawave_cshuffle_pad000_192x256x128_4x2x1_16x16x128_tc_aqrm"
    ((asked,),) = in_ladders(of_counts({Key(signature, 0, 4096, 4096, 4096): 1}, gpu))
    candidates = [Candidate(tile), Candidate(f"{tile}_bpc2")]
    assert (
        Prune(gpu, 1).kept(asked, candidates, []) == Prune(gpu, 1).kept(asked, candidates[::-1], []) == candidates[1:]
    )


def test_a_stream_k_kernel_comes_behind_the_plain_one_that_it_shares_counts_with() -> None:
    plain = f"{FP32}_host_8x32_112x512x512_t0"
    shared = [f"{plain}_streamk_{how}" for how in ("atomic", "linear", "tree")]
    one_core = Prune(Target(CPU.gfx, 1), 1)
    assert one_core.kept(problem(), [Candidate(name) for name in (*shared, plain)], []) == [Candidate(plain)]


def times(path: Path, prune: Prune | None) -> set[str]:
    fake = FakeMeasurer(NAMES, true=lambda _, one: 100.0 + NAMES.index(one.instance), usual=SLOW)
    with Journal(path, Header("c0de", ENVIRONMENT)) as journal:
        Tuner(fake, journal, Contents(), Options(prune=prune)).tune([[problem()]])
    return {one.measured.candidate.instance for one in read_journals([path]).records}


def test_a_tune_times_no_others_but_what_selection_takes(tmp_path: Path) -> None:
    assert times(tmp_path / "every", None) == set(NAMES)
    pruned = times(tmp_path / "pruned", Prune(CPU, 2))
    assert len(pruned) == 4 and {SLOW, UNKNOWN} <= pruned
