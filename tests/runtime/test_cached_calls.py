"""Plans of calls are kept, never stale, and shared by threads."""

from __future__ import annotations

import gc
import resource
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calls_library import INSTANCE, LARGE_K, A, W, floats, library_on
from ckgen.runtime import Library
from ckgen.runtime.session import MOST_SITES

pytestmark = pytest.mark.cpp


@pytest.fixture
def lib() -> Library:
    return library_on("cpu")


def planned(lib: Library, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the dispatcher is asked for from now on: the device of each plan."""
    asked: list[str] = []
    plan = lib.dispatcher.plan

    def listening(problem: Any, device: Any, *rest: Any) -> Any:
        asked.append(device.target)
        return plan(problem, device, *rest)

    monkeypatch.setattr(lib.dispatcher, "plan", listening)
    return asked


def test_a_problem_is_planned_once(lib: Library, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = planned(lib, monkeypatch)
    for _ in range(3):
        lib.gemm(A, W.T)
    assert len(asked) == 1
    lib.gemm(A[:4], W.T)
    assert len(asked) == 2
    lib.use("gfx942:304")
    lib.gemm(A, W.T)
    assert asked[2:] == ["gfx942:304"]
    lib.load_tables([])
    lib.gemm(A, W.T)
    assert len(asked) == 4
    lib.load_overrides(overrides(tmp_path, 1))
    lib.gemm(A, W.T)
    assert len(asked) == 5


def test_no_more_plans_are_kept_than_have_room(lib: Library) -> None:
    lib.gemm(A, W.T)
    kept = lib._bound.sites
    kept[b""] = dict.fromkeys(range(MOST_SITES))
    lib.gemm(A[:4], W.T)
    assert [len(of_tensors) for of_tensors in kept.values()] == [1]


def test_what_a_call_says_is_told_apart_of_many(lib: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = planned(lib, monkeypatch)
    added = floats(5, 40)
    alphas = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    for _ in range(2):
        for alpha in alphas:
            found = lib.gemm(A, W.T, epilogue=["add", "relu"], d=[added], alpha=float(str(alpha)))
            np.testing.assert_allclose(found, np.maximum(A @ W.T + added, 0), atol=1e-5)
    lib.gemm(A, W.T)
    assert len(asked) == len(alphas) + 1


def overrides(folder: Path, k_batch: int, *others: str) -> Path:
    """Of gfx942:304, and rows of others."""
    file = folder / f"override_{k_batch}.csv"
    row = f"gfx942:304,{ROW},{k_batch}\n"
    file.write_text("".join(["target,signature,B,M,N,K,instance,k_batch\n", row, *others]))
    return file


def table(folder: Path, k_batch: int) -> Path:
    file = folder / f"table_{k_batch}.csv"
    file.write_text(f"gfx,cu_num,signature,B,M,N,K,kernelName,splitK,us\ngfx942,304,{ROW},{k_batch},1.0\n")
    return file


ROW = f"gemm_fp32_rcr,0,64,64,{LARGE_K},{INSTANCE}"
CHANGES: dict[str, Callable[[Library, Path], Callable[[int], None]]] = {
    "overrides": lambda lib, folder: lambda k_batch: lib.load_overrides(overrides(folder, k_batch)),
    "tables": lambda lib, folder: lambda k_batch: lib.load_tables([table(folder, k_batch)]),
    "device": lambda lib, folder: _devices(lib, folder),
}
"""What makes plans of before stale: a call that makes the kernel split K so often."""


def _devices(lib: Library, folder: Path) -> Callable[[int], None]:
    """Devices that have a row each."""
    lib.load_overrides(overrides(folder, 1, f"gfx942:80,{ROW},2\n"))
    return lambda k_batch: lib.use("gfx942:304" if k_batch == 1 else "gfx942:80")


@pytest.mark.parametrize("way", CHANGES)
def test_no_kept_plan_is_stale_for_eight_threads(tmp_path: Path, way: str) -> None:
    lib = library_on("gfx942:304")
    a = np.zeros((64, LARGE_K), np.float32)
    a[:, 0], a[:, 1:-1], a[:, -1] = 2**24, 1, -(2**24)
    b = np.ones((64, LARGE_K), np.float32).T
    answers = {k_batch: float(lib.gemm(a, b, instance=INSTANCE, k_batch=k_batch)[0, 0]) for k_batch in (1, 2)}
    assert answers[1] != answers[2]
    change = CHANGES[way](lib, tmp_path)
    said = threading.Lock()
    state, wrong, runs, stop = [0, 0], [], [0] * 8, threading.Event()
    seen: set[int] = set()

    def toggle() -> None:
        for i in range(70):
            k_batch = 1 + i % 2
            with said:
                state[0] = 0
                state[1] += 1
            change(k_batch)
            with said:
                state[0] = k_batch
            stop.wait(0.002)
        stop.set()

    def work(number: int) -> None:
        out = np.zeros((64, 64), np.float32)
        while not stop.is_set():
            before = tuple(state)
            lib.gemm(a, b, out=out, num_threads=1)
            if before[0] and tuple(state) == before:
                runs[number] += 1
                seen.add(before[0])
                if out[0, 0] != answers[before[0]]:
                    wrong.append((before, float(out[0, 0])))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    toggle()
    for thread in threads:
        thread.join()
    assert not wrong
    assert sum(runs) > 100 and seen == {1, 2}


def test_a_hundred_thousand_calls_of_eight_threads_leak_nothing(lib: Library) -> None:
    a, w = floats(1, 16), floats(1, 16).T

    def work(calls: int) -> None:
        out = np.zeros((1, 1), np.float32)
        for _ in range(calls):
            lib.gemm(a, w, out=out, num_threads=1)

    def run(calls: int) -> int:
        threads = [threading.Thread(target=work, args=(calls // 8,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = run(8_000)
    counted = [sys.getrefcount(one) for one in (a, w, None, lib)]
    after = run(100_000)
    assert after - before < 2048, "kilobytes; a leak of a key would be some 30,000"
    left = [sys.getrefcount(one) for one in (a, w, None, lib)]
    assert all(abs(now - then) < 1000 for now, then in zip(left, counted, strict=True))


def test_other_threads_run_while_a_call_does(lib: Library) -> None:
    a, w = floats(512, 1024), floats(1024, 1024)
    out = np.zeros((512, 1024), np.float32)
    lib.gemm(a, w.T, out=out)
    started, finished = threading.Event(), []

    def work() -> None:
        started.set()
        for _ in range(20):
            lib.gemm(a, w.T, out=out)
        finished.append(True)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # a thread gives the GIL back when it waits, and never by the clock
    try:
        thread = threading.Thread(target=work)
        thread.start()
        started.wait()
        assert not finished
        thread.join()
    finally:
        sys.setswitchinterval(interval)
