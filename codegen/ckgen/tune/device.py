"""What `ckgen tune` times with, on this machine or on a worker of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ckgen.measure import local
from ckgen.measure.conditions import Conditions
from ckgen.measure.library import Contents
from ckgen.measure.model import Measurer
from ckgen.model.arch import CPU_LEVELS
from ckgen.model.target import Target
from ckgen.tune.journal import GPU_WORD, Header
from ckgen.tune.usual import UsualSelection


def conditions_on(
    target: Target, rotating: int = 0, flush: bool | None = None, *, graph: bool = False
) -> Conditions:  # fmt: skip
    """Where neither is said, a GPU's caches are emptied ahead of each call, as other layers' weights empty them."""
    is_cold = target.gfx not in CPU_LEVELS and not rotating
    return Conditions(rotating=rotating, flush=is_cold if flush is None else flush, graph=graph)


@dataclass(frozen=True, slots=True)
class Device:
    """The device that a library of these contents is for; see Opens. `gpu`: which of this process's GPUs it is, None
    the current one."""

    contents: Contents
    conditions: Conditions
    work: Path | None = None
    gpu: int | None = None

    def build(self, say: Callable[[str], None]) -> None:
        """The library, where it is not up to date: what is opened then only finds it."""
        local.library_of(self.contents, self.work, say)

    def on_gpu(self, number: int) -> Device:
        """The same on that one of this process's GPUs."""
        return replace(self, gpu=number)

    @contextmanager
    def open(self, say: Callable[[str], None] = lambda text: None) -> Iterator[tuple[Measurer, Header]]:
        """A measurer, and the header of what it measures; errors as local_measurer's."""
        what = self.contents
        made = local.local_measurer(
            what.target, what.ops, what.signatures, tuning=what.tuning, kernel_sets=what.kernel_sets,
            conditions=self.conditions, work=self.work, gpu=self.gpu, say=say,
        )  # fmt: skip
        with made as measurer:
            usual = UsualSelection(measurer, what) if what.kernel_sets else measurer  # plans while the worker does
            words = [f"{name}={value}" for name, value in asdict(measurer.conditions).items()]
            conditions = " ".join([*words, *([f"{GPU_WORD}{self.gpu}"] if self.gpu is not None else [])])
            header = Header(measurer.digest, measurer.environment(), conditions)
            yield usual, header
