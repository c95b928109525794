"""The clocks of a GPU, on one that is simulated: a queue of kernels, each there when this thread has launched it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ckgen.measure import device_memory
from ckgen.measure.device_memory import DeviceClock

SWEEP = 56.0


class Simulated:
    """A Gpu. In microseconds: `now` is this thread's clock, `free` when the device has done what it was told."""

    def __init__(self) -> None:
        self.now = self.free = 0.0
        self.launched: list[float] = []

    def call(self, host: float, device: float) -> Callable[[], None]:
        def launch() -> None:
            self.now += host
            self.free = max(self.free, self.now) + device
            self.launched.append(device)

        return launch

    def event(self) -> list[float]:
        return []

    def recorder(self, event: list[float]) -> Callable[[], None]:
        return lambda: event.append(max(self.free, self.now))

    def microseconds(self, begin: list[float], end: list[float]) -> float:
        self.now = self.free = max(self.free, self.now)
        return end[-1] - begin[-1]


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Simulated:
    made = Simulated()
    monkeypatch.setattr(device_memory.time, "perf_counter", lambda: made.now * 1e-6)
    return made


def clock_of(gpu: Any, sweep: Callable[[], None] | None) -> DeviceClock:
    clock = DeviceClock(gpu)
    clock.sweep = sweep
    return clock


@pytest.mark.parametrize(("host", "device"), [(1.0, 4.0), (5.0, 4.0), (12.0, 4.0), (12.0, 30.0), (40.0, 3.0)])
def test_launches_wait_for_the_device_however_long_they_take(gpu: Simulated, host: float, device: float) -> None:
    clock = clock_of(gpu, gpu.call(5.0, SWEEP))
    hot = clock.seconds([gpu.call(host, device)] * 17, None)
    cold = clock.seconds([gpu.call(3 * host, device)] * 2, gpu.call(5.0, SWEEP))
    assert (hot * 1e6, cold * 1e6) == pytest.approx((16 * device, device))


def test_the_device_reads_no_longer_than_launches_take(gpu: Simulated) -> None:
    clock = clock_of(gpu, gpu.call(5.0, SWEEP))
    clock.seconds([gpu.call(1.0, 4.0)] * 17, None)
    assert gpu.launched == [SWEEP] * 4 + [4.0] * 17, "twice to see how long it takes, and twice ahead"


def test_what_no_reading_hides_is_timed_once(gpu: Simulated) -> None:
    """A device that is slower to tell than to read, and a library that has nothing to read with."""
    clock = clock_of(gpu, gpu.call(100.0, SWEEP))
    assert clock.seconds([gpu.call(40.0, 4.0)] * 3, None) * 1e6 > 60.0
    bare = clock_of(gpu, None)
    assert bare.seconds([gpu.call(10.0, 4.0)] * 3, None) * 1e6 == pytest.approx(20.0)
    assert gpu.launched.count(4.0) == 6
