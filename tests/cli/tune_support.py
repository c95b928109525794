"""`ckgen tune` with a measurer whose times are known: its words, and the rows that it writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from ckgen.measure.conditions import Conditions
from ckgen.measure.model import Environment
from ckgen.model.target import Target
from tune.fake_measurer import FakeMeasurer

SHAPES = """signature,B,M,N,K,experts,top_k,count
gemm_bf16_rcr,0,1,128,256,0,0,1
gemm_bf16_rcr,0,64,128,256,0,0,1
gemm_fp16_rcr,0,64,128,256,0,0,2
moe_bf16_rcr_layer_gated_epi_silu,0,16,128,256,8,2,1
"""
CPU = Target("x86_64_v3", 2)
TUNE = ("tune", "all", "--shapes", "shapes.csv", "--out", "t.csv", "--target", str(CPU))
BLOCKS = ("4x16_64x512x512", "6x16_48x512x512", "1x16_1x512x1024", "2x16_64x512x512", "6x16_96x512x512")


class OfSignature(FakeMeasurer):
    """Kernels that every CPU can run, of the problem's signature."""

    digest = "c0de"
    conditions = Conditions(rotating=3)

    def environment(self) -> Environment:
        return Environment("a fake CPU", str(CPU), "", 2, ())

    def candidates(self, problem):  # type: ignore[no-untyped-def]
        self.names = [f"{problem.signature}_host_{blocks}_t0" for blocks in BLOCKS]
        return super().candidates(problem)


def rows(path: str = "t.csv") -> list[dict[str, str]]:
    import csv

    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def here(tasks: Iterable[Any], function: Callable[[Any], Any], *_: object) -> Iterator[tuple[Any, Any]]:
    """In place of workers of a cluster."""
    return ((task, function(task)) for task in tasks)
