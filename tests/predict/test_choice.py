from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ckgen.cli.predict_input import weighed_sets
from ckgen.families.gemm.predicted.chip import chip_of
from ckgen.families.gemm.predicted.constants import fitted_that_chooses
from ckgen.families.gemm.predicted.gpu_work import kernel_of
from ckgen.families.gemm.predicted.ticks import predicted_ticks, timed, work_on
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.paths import root
from ckgen.predict.arrays import Weighed
from ckgen.predict.choice import ranked
from ckgen.predict.fit import START
from ckgen.predict.measured import Won
from ckgen.specs.archs import load_arch

SLOPE = 20.0
FACTORS = (0.9, 1.0, 1.1, 0.95)
SPLIT = 1.1
NOBODY: frozenset[tuple[int, int]] = frozenset()


@pytest.fixture(scope="module")
def drawn() -> Weighed:
    """Four kernels, whole and in two splits, whose winners are drawn by chances of known factors."""
    ((real,),) = weighed_sets({"arch": "gfx950", "module": "a8w8_bpreshuffle", "tables": ()})
    kernels = list(dict.fromkeys(instance for instance, _ in real.found.candidates if str(instance.backend) == "ck"))
    candidates = tuple((kernel, k_batch) for kernel in kernels[:4] for k_batch in (1, 2))
    random = np.random.RandomState(7)
    shapes = [
        Shape(0, int(2 ** random.uniform(0, 12)), 256 * int(n), 1024 * int(k))
        for n, k in random.randint(1, 40, (900, 2))
    ]
    rows = tuple(Won(shape, 0, 1.0, "drawn") for shape in shapes)
    one = Weighed(replace(real.found, candidates=candidates, rows=rows), real.chip)
    factors = np.array([factor * (SPLIT if k_batch > 1 else 1) for factor in FACTORS for k_batch in (1, 2)])
    scores = -SLOPE * np.log(one.predicted(START) * factors) + random.gumbel(size=(len(rows), len(factors)))
    winners = np.where(one.found.supported(), scores, -np.inf).argmax(axis=1)
    won = tuple(replace(row, winner=int(at)) for row, at in zip(rows, winners, strict=True))
    return Weighed(replace(one.found, rows=won), one.chip)


def test_factors_by_which_winners_were_drawn_are_found_again(drawn: Weighed) -> None:
    found = ranked([drawn], NOBODY, START)
    words = [kernel_of(instance.config) for instance, k_batch in drawn.found.candidates if k_batch == 1]
    ratios = np.array([found.kernels[word] for word in words]) / found.kernels[words[1]]
    assert ratios == pytest.approx(FACTORS, abs=0.04)
    assert found.splits == {"2": pytest.approx(SPLIT, abs=0.04)}


def test_times_stay_as_they_are_and_ranks_do_not(drawn: Weighed) -> None:
    found = ranked([drawn], NOBODY, START)
    assert (drawn.predicted(found) == drawn.predicted(START)).all()
    hits = [
        (np.where(drawn.found.supported(), drawn.predicted(START) * one.ranked(by), np.inf).argmin(axis=1)
         == [row.winner for row in drawn.found.rows]).mean()
        for one, by in ((drawn, START), (drawn, found))
    ]  # fmt: skip
    assert hits[1] > hits[0] + 0.1


def test_layers_that_are_held_out_have_no_part_in_the_factors(drawn: Weighed) -> None:
    layers = sorted({(row.shape.n, row.shape.k) for row in drawn.found.rows})
    held = frozenset(layers[::2])

    def won_by_the_last(inside: bool) -> Weighed:
        last = len(drawn.found.candidates) - 2
        rows = tuple(
            replace(row, winner=last) if ((row.shape.n, row.shape.k) in held) is inside else row
            for row in drawn.found.rows
        )
        return Weighed(replace(drawn.found, rows=rows), drawn.chip)

    usual = ranked([drawn], held, START)
    assert ranked([won_by_the_last(inside=True)], held, START) == usual
    assert ranked([won_by_the_last(inside=False)], held, START) != usual


def test_a_kernel_that_tables_never_held_ranks_by_its_time_alone(drawn: Weighed) -> None:
    found = ranked([drawn], NOBODY, START)
    other = replace(drawn.found.candidates[0][0].config, pipeline=5)
    assert found.rank_factor(other, 1) == 1.0 and found.rank_factor(other, 2) == found.splits["2"]


HOPPER = root() / "tuning" / "ckgen"
TABLES = {
    "gfx942": (),
    "sm_90a": (HOPPER / "hopper_fp8_tuned_gemm.csv",),
    "bf16": (HOPPER / "hopper_bf16_tuned_gemm.csv",),
}


@pytest.mark.parametrize(
    ("arch", "module", "least_rank"),
    [("gfx942", "a8w8_bpreshuffle", 0.9), ("sm_90a", "a8w8_blockscale", None)],
)
def test_ticks_are_times_with_the_ranks_of_their_kernels(arch: str, module: str, least_rank: float | None) -> None:
    """But for splits, which no tick counts; the chip is the product that constants were fitted on."""
    ((real, *_),) = weighed_sets({"arch": arch, "module": module, "tables": TABLES[arch]})
    fitted = fitted_that_chooses(*real.found.kind)
    assert fitted is not None
    constants = fitted.constants
    assert min(constants.kernels.values(), default=1.0) < least_rank if least_rank else constants.own
    assert bool(constants.tiles) is bool(constants.outside) is (arch == "sm_90a")
    works = [work_on(instance, arch) for instance, _ in real.found.candidates]
    chip = chip_of(load_arch(arch), Target(arch, real.chip.cu_num, fitted.sku))
    for shape in (Shape(0, 20480, 20480, 8192), Shape(0, 1, 512, 2048), Shape(0, 1, 65536, 8192)):
        asked = Weighed(replace(real.found, rows=(Won(shape, 0, 1.0, "asked"),)), chip)
        ranked_us = asked.predicted(constants)[0] * asked.ranked(constants)
        ticks = np.array([predicted_ticks(work, shape, chip.cu_num) for work in works])
        assert ticks / ranked_us == pytest.approx(256 * chip.mhz, rel=0.01)


def test_no_kernel_that_shares_k_among_workgroups_is_chosen_by_its_predicted_time() -> None:
    ((real, *_),) = weighed_sets({"arch": "sm_90a", "module": "bf16", "tables": TABLES["bf16"]})
    instances = [instance for instance, k_batch in real.found.candidates if k_batch == 1]
    names = {instances[at].name for at in timed(instances)["sm_90a"]}
    left_out = {one.name for one in instances} - names
    assert left_out and all(name.endswith("_sk") for name in left_out) and len(names) > 20
