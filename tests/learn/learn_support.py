"""Journals of a made-up CPU whose times are known."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

from ckgen.fuzz.case import Case
from ckgen.measure.model import Candidate, Environment, Measured, MeasureStatus
from ckgen.tune.journal import Header, Journal

SIGNATURE = "gemm_fp32_rcr"
KERNELS = ("1x32_1x512x1024", "4x32_64x512x512", "8x48_96x480x512", "14x32_112x512x512", "8x32_64x512x512")
LAYERS = tuple((n, k) for n in (256, 768, 1536, 4096) for k in (384, 1024, 3072))
LADDER = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)


def name_of(kernel: str) -> str:
    return f"{SIGNATURE}_host_{kernel}_t0"


def true_us(kernel: str, m: int, n: int, k: int, cores: int = 2) -> float:
    """Register tiles of each core, each as long as its multiply-adds and loads take, and a start."""
    mr, nr = map(int, kernel.split("_")[0].split("x"))
    tiles = -(-(-(-m // mr) * -(-n // nr)) // cores)
    return 2 + tiles * k * (mr * nr / 32 + mr + nr / 16) * 1e-3


def write_journal(
    path: Path,
    *,
    layers: tuple[tuple[int, int], ...] = LAYERS,
    cores: int = 2,
    spread: float = 0.0,
    code: str = "c0de",
    of: str = "x86_64_v4:{}",
    turns: Sequence[float] = (1.0,),
) -> Path:
    """Every candidate of every layer and M, on the target of so many cores; selection takes the fourth kernel
    everywhere. Of `turns` each has times so many times as long, the first kernel alone: noise."""
    target = of.format(cores)
    header = Header(code, Environment("a made-up CPU", target, "", cores, (("ckgen", "0"),)))
    with Journal(path, header) as journal:
        for number, (n, k, m) in enumerate((n, k, m) for n, k in layers for m in LADDER):
            problem = Case(SIGNATURE, target, m=m, n=n, k=k).text()
            journal.asked(problem, Candidate(name_of(KERNELS[3])))
            for (turn, longer), kernel in product(enumerate(turns, 1), KERNELS):
                us = true_us(kernel, m, n, k, cores) * (longer if kernel == KERNELS[0] else 1)
                found = Measured(Candidate(name_of(kernel)), MeasureStatus.OK, "", us, spread, 7, 0.0, 0.0, 1, code)
                journal.measured(problem, "confirm", number, found, turn)
    return path
