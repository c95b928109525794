"""The table of the MX-FP8 kernels for few rows: what is written chooses, read again, the kernels that won."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from ckgen.measure.model import Candidate
from ckgen.model.errors import InputError, UsageError
from ckgen.model.selection import Tier
from ckgen.plan.model import GenerationPlan
from ckgen.plan.select import Selection, select
from ckgen.tune.journal import Contents, Header, Journal
from ckgen.tune.mxfp8_table import SIGNATURE, caller_times, is_worth_it, lines_of, write
from ckgen.tune.outcome import Outcome
from ckgen.tune.problems import Key, in_ladders, of_counts
from ckgen.tune.run import Options, Tuner
from plan_support import GFX942, GFX950, plan_of, query, write_table
from tune.fake_measurer import ENVIRONMENT, FakeMeasurer

SIZES = [(6144, 1536, m) for m in (1, 3, 8, 16)] + [(2048, 6144, m) for m in (8, 64)]
"""K, N, M."""


@cache
def bare() -> GenerationPlan:
    return plan_of(targets=(GFX950,), signatures=(SIGNATURE,))


CONFIGS = {one.name: one.config for one in bare().instances}


def selected(plan: GenerationPlan, k: int, n: int, m: int) -> Selection:
    return select(query(plan, GFX950, "mxfp8", m, n, k))


class Device(FakeMeasurer):
    """Kernels that take a problem's rows; selection takes what answers without a table."""

    def candidates(self, problem):  # type: ignore[no-untyped-def]
        asked = query(bare(), GFX950, "mxfp8", problem.m, problem.n, problem.k)
        return tuple(Candidate(name) for name, one in sorted(CONFIGS.items()) if _takes(asked, name))

    def selected(self, problem):  # type: ignore[no-untyped-def]
        found = selected(bare(), problem.k, problem.n, problem.m).instance
        return Candidate(found.name) if found is not None else None


def _takes(asked, name):  # type: ignore[no-untyped-def]
    (one,) = (each for each in bare().instances if each.name == name)
    return asked.refusal(one, 1) is None


@pytest.fixture
def outcome(tmp_path: Path) -> Outcome:
    keys = {Key(SIGNATURE, 0, m, n, k): 1 for k, n, m in SIZES}
    with Journal(tmp_path / "journal", Header("c0de", ENVIRONMENT)) as journal:
        tuner = Tuner(Device([]), journal, Contents(), Options(min_improvement=0))
        return tuner.tune(in_ladders(of_counts(keys, GFX950)))


def winners(outcome: Outcome) -> dict[tuple[int, int, int], str]:
    timed = [(one.problem.key, one.winner) for one in outcome.every]
    return {(key.k, key.n, key.m): winner.candidate.instance for key, winner in timed if winner is not None}


def test_rows_that_are_read_again_choose_the_kernels_that_won(outcome: Outcome, tmp_path: Path) -> None:
    path, won = tmp_path / "t.csv", winners(outcome)
    write(path, GFX950, lines_of(outcome, CONFIGS, {}), SIZES)
    assert path.read_text().splitlines()[0] == "K,N,M,kernel,n_sub,k_splits,use_hip"
    plan = plan_of(path, targets=(GFX950,), signatures=(SIGNATURE,))
    assert len(won) == len(SIZES) and len(set(won.values())) > 3
    for sizes, name in won.items():
        found = selected(plan, *sizes)
        assert found.instance is not None
        assert (found.instance.name, found.tier) == (name, Tier.EXACT), sizes


def test_a_kernel_that_saves_no_more_than_three_per_cent_is_left_to_the_caller(
    outcome: Outcome, tmp_path: Path
) -> None:
    assert [is_worth_it(us, 100.0) for us in (96.99, 97.0, 97.01, 100.0, 130.0)] == [True, False, False, False, False]
    assert is_worth_it(1e9, None)
    path = tmp_path / "t.csv"
    times = {sizes: _us(outcome, sizes) for sizes in SIZES}
    caller = {SIZES[0]: times[SIZES[0]] / 0.97, SIZES[1]: times[SIZES[1]] / 0.9699, SIZES[2]: times[SIZES[2]] * 0.5}
    write(path, GFX950, lines_of(outcome, CONFIGS, caller), SIZES)
    used = {tuple(line.split(",")[:3]): line[-1] for line in path.read_text().splitlines()[1:]}
    assert [used[tuple(map(str, sizes))] for sizes in SIZES] == ["0", "1", "0", "1", "1", "1"]
    plan = plan_of(path, targets=(GFX950,), signatures=(SIGNATURE,))
    assert selected(plan, *SIZES[2]).instance is None, "for its sizes the caller's own kernel answers"
    assert selected(plan, *SIZES[1]).instance is not None


def _us(outcome: Outcome, sizes: tuple[int, int, int]) -> float:
    for one in outcome.every:
        key = one.problem.key
        if (key.k, key.n, key.m) == sizes and one.winner is not None:
            return one.winner.median_us
    raise AssertionError(sizes)


def test_other_rows_stay_byte_for_byte_and_what_is_worth_no_row_loses_it(outcome: Outcome, tmp_path: Path) -> None:
    lines = list(lines_of(outcome, CONFIGS, {}))
    first, second = lines[0].sizes, lines[1].sizes
    others = [
        b"gfx950,256, 99 ,77,1,gemv,0,0,1,ours\r\n",
        f"gfx942,304,{','.join(map(str, first))},gemv,0,0,1,\r\n".encode(),
    ]
    stale = [f"gfx950,256,{','.join(map(str, one))},gemv,0,0,0,old\r\n".encode() for one in (first, second)]
    path = tmp_path / "t.csv"
    head = b"gfx,cu_num,K,N,M,kernel,n_sub,k_splits,use_hip,note\r\n"
    path.write_bytes(head + others[0] + stale[0] + others[1] + stale[1])
    write(path, GFX950, lines[:1], [first, second])
    written = path.read_bytes()
    config = lines[0].config
    row = f"gfx950,256,{','.join(map(str, first))},{config.kind},{config.n_sub},{config.k_splits},1,\n".encode()
    assert written == head + others[0] + row + others[1]


def test_bad_input_is_told(tmp_path: Path) -> None:
    path = write_table(tmp_path / "t.csv", ("6144,1536,1,gemv,0,0,1",), "K,N,M,kernel,n_sub,k_splits,use_hip")
    with pytest.raises(UsageError, match="tells no target"):
        write(path, GFX942, [], [])
    with pytest.raises(InputError):
        caller_times(path)
    wrong = write_table(tmp_path / "c.csv", ("6144,1536,1,-3",), "K,N,M,us")
    with pytest.raises(InputError):
        caller_times(wrong)
    assert caller_times(write_table(tmp_path / "d.csv", ("6144,1536,1,7.5",), "K,N,M,us")) == {(6144, 1536, 1): 7.5}
