"""Plain products on this CPU, shape by shape: what `select` takes against oneDNN through torch, and numpy's BLAS.

    python benchmarks/host_gemm.py [--types bf16,fp32,int8] [--shapes MxNxK,...] [--threads N] [--quick] [--packed]

Ours and the peers take turns in one process; figures are medians. B is read as it lies in memory, as the peers read it;
a peer whose weights are packed ahead is shown, and is not held against ours. With --packed both have them packed, and
peers that read B as it lies are shown. The share is that of what this program
measures of the machine: of the rate of multiplications on registers or, where B is larger than the last-level cache, of
the rate at which it can be read, whichever bounds the product. --quick: a few shapes of many kinds; without it also
those of five models and drawn ones.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
from gemm_operands import Operands, Product
from ours import Ours, address, own_library
from support import ROOT, Run, on_threads, versions

from ckgen.measure.environment import cpu_name
from ckgen.measure.model import Effort
from ckgen.measure.peers import torch_cpu
from ckgen.measure.timing import Body, Sample, interleaved, last_level_cache
from ckgen.workload.layer import Product as Weights
from ckgen.workload.model_config import read_model
from ckgen.workload.shard import Parallel, layers_of

SIGNATURES = {"bf16": "gemm_bf16_rcr", "fp32": "gemm_fp32_rcr", "int8": "gemm_int8_bf16_rcr_rowwise"}
QUICK = (
    "512x512x512", "1024x1024x1024", "2048x2048x2048", "1x4096x4096", "4x4096x4096", "16x4096x4096", "64x4096x4096",
    "256x4096x4096", "64x1536x7168", "33x640x1024", "256x5120x2048", "1024x768x3072", "4096x512x512", "128x128x8192",
)  # fmt: skip
MODELS = ("mistral_7b", "llama_3_1_70b", "qwen3_32b", "glm_4_5", "deepseek_v2_lite")
ROWS = (1, 4, 16, 64, 256)
_RANKS = 8
_DRAWN = 20
_FEW_ROWS = 4
_PACKED = "packed"
_BEST_OF = 60
"""Runs of which the machine's own rates are the best: cores that were idle take a while to reach theirs."""
_PATIENCE = 60.0
"""Seconds; a shape that takes four times as long has fewer rounds."""

Shape = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Figure:
    """One product. Rates are 1e9 operations per second; share: of the machine's peak, or of its reading rate."""

    type: str
    shape: str
    kernel: str
    ours: float
    peers: dict[str, float | str]
    best: str
    ratio: float | None
    spread: float
    share: float
    bound: str


@dataclass(frozen=True, slots=True)
class Machine:
    """What all threads together reach: operations per second of each type, and bytes read per second."""

    peaks: dict[str, float]
    read: float


def main() -> None:
    """Measures and prints."""
    given = _options().parse_args()
    on_threads(given.threads)
    types, shapes = given.types.split(","), _shapes(given)
    if unknown := sorted({*types} - {*SIGNATURES}):
        sys.exit(f"--types: {', '.join(unknown)} unknown, there are {', '.join(SIGNATURES)}")
    if torch_cpu.torch() is None:
        print("torch is not installed: no peer but numpy, which knows fp32 alone", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        run = Run("host_gemm", Path(folder), given.threads, given.quick, "*")
        machine = _machine(run)
        found = []
        if not given.json:
            print(_heading(given.threads, machine))
        for figure in _figures(run, machine, types, shapes, given):
            found.append(figure)
            print(_line(figure), file=sys.stderr if given.json else sys.stdout, flush=True)
    if given.json:
        print(json.dumps({"cpu": cpu_name(), "threads": given.threads, "versions": versions(),
                          "machine": asdict(machine), "figures": [asdict(one) for one in found]}))  # fmt: skip
        return
    for name in types:
        for few in (True, False):
            print(_summary(name, few, [one for one in found if one.type == name and _is_few(one) is few]))


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--types", default="bf16,fp32", help=f"of {', '.join(SIGNATURES)}")
    parser.add_argument("--shapes", default="", metavar="MxNxK,...", help="these alone")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of ours and of the peers")
    parser.add_argument("--rounds", type=int, default=9, help="at least; medians are taken over them")
    parser.add_argument("--quick", action="store_true", help=f"{len(QUICK)} shapes")
    parser.add_argument("--packed", action="store_true", help="B is packed ahead, by ours and by the peers")
    parser.add_argument("--json", action="store_true", help="one JSON document, progress on stderr")
    return parser


def _shapes(given: argparse.Namespace) -> list[Shape]:
    if given.shapes or given.quick:
        words = given.shapes.split(",") if given.shapes else QUICK
        return [_shape(word) for word in words]
    return list(dict.fromkeys((*map(_shape, QUICK), *_of_models(), *_drawn())))


def _shape(word: str) -> Shape:
    m, n, k = (int(part) for part in word.split("x"))
    return m, n, k


def _of_models() -> Iterator[Shape]:
    """Each weight of each model, as one of eight ranks has it."""
    for name in MODELS:
        for layer in layers_of(read_model(ROOT / f"examples/models/{name}.json"), Parallel(_RANKS)):
            if isinstance(layer.work, Weights) and not layer.work.batch:
                yield from ((m, layer.work.n, layer.work.k) for m in ROWS)


def _drawn() -> Iterator[Shape]:
    source = random.Random(21)
    for _ in range(_DRAWN):
        m, n, k = (round(2 ** source.uniform(low, high)) for low, high in ((4, 10), (6, 12), (6, 12)))
        yield m, n, k


def _machine(run: Run) -> Machine:
    library, reader = own_library(run.folder, "peak"), own_library(run.folder, "read")
    peaks = {}
    for name in SIGNATURES:
        body = getattr(library, f"bench_peak_{name}")
        body.restype, body.argtypes = ctypes.c_int64, [ctypes.c_int64]
        peaks[name] = max(_rate(partial(body, 1 << 20)) for _ in range(_BEST_OF))
    memory = np.ones(256 << 20, np.uint8)
    at, count = ctypes.c_void_p(address(memory)), ctypes.c_int64(memory.nbytes)

    def read() -> int:
        reader.bench_read(at, count)
        return memory.nbytes

    return Machine(peaks, max(_rate(read) for _ in range(_BEST_OF)))


def _rate(body: Callable[[], int]) -> float:
    begin = time.perf_counter()
    done = body()
    return done / (time.perf_counter() - begin)


def _figures(run: Run, machine: Machine, types: list[str], shapes: list[Shape],
             given: argparse.Namespace) -> Iterator[Figure]:  # fmt: skip
    ours = Ours(run, (SIGNATURES[name] for name in types), ("gemm",))
    effort = Effort(seconds=_PATIENCE, least=given.rounds, most=given.rounds, sample=0.01)
    for name in types:
        for m, n, k in shapes:
            operands = Operands(Product(SIGNATURES[name], (1, m, n, k)))
            selected, body = operands.ours(ours, packed=given.packed)
            selected.call()
            operands.check()
            offers = operands.peers()
            samples = interleaved(
                {"": body} | {peer: one for peer, one in offers.items() if isinstance(one, Body)}, effort
            )
            told = {peer: samples.get(peer, one) for peer, one in offers.items()}
            held = {peer for peer in samples if peer and (_PACKED in peer) is given.packed and _is_of(peer, name)}
            yield _figure(name, (m, n, k), selected.kernel, samples[""], told, held, operands.read, machine)


def _figure(name: str, shape: Shape, kernel: str, ours: Sample, told: Mapping[str, object], held: set[str], read: int,
            machine: Machine) -> Figure:  # fmt: skip
    operations = 2.0 * math.prod(shape)
    medians = {peer: one.median for peer, one in told.items() if isinstance(one, Sample)}
    best = min(held, key=lambda peer: medians[peer], default="")
    shares = {"peak": operations / machine.peaks[name] if machine.peaks[name] else 0.0}
    if read > last_level_cache():
        shares["read"] = read / machine.read
    bound = max(shares, key=lambda one: shares[one])
    rates = {peer: operations / medians[peer] / 1e9 if peer in medians else str(one) for peer, one in told.items()}
    return Figure(
        name, "x".join(map(str, shape)), kernel, operations / ours.median / 1e9, rates, best,
        medians[best] / ours.median if best else None, ours.spread, shares[bound] / ours.median, bound,
    )  # fmt: skip


def _is_of(peer: str, name: str) -> bool:
    """Whether a peer computes with the same type; those of bf16 stand beside int8 only to be seen."""
    return name != "int8" or "bf16" not in peer


def _heading(threads: int, machine: Machine) -> str:
    peaks = ", ".join(f"{name} {rate / 1e9:.0f} GF/s" for name, rate in machine.peaks.items())
    where = f"{cpu_name()}, {threads} threads, load {os.getloadavg()[0]:.1f}, {versions()}"
    return f"{where}\npeak: {peaks}; reads {machine.read / 1e9:.1f} GB/s"


def _line(one: Figure) -> str:
    peers = "  ".join(f"{peer} {rate:.1f}" for peer, rate in one.peers.items() if isinstance(rate, float))
    ratio = f"{one.ratio:5.2f}" if one.ratio is not None else "    –"
    speed = f"{one.ours:8.1f} GF/s ± {one.spread:4.0%} {ratio}x  {one.share:4.0%} of {one.bound}"
    return f"{one.type:5} {one.shape:18} {speed}  {peers}  {one.kernel}"


def _is_few(one: Figure) -> bool:
    return _shape(one.shape)[0] <= _FEW_ROWS


def _summary(name: str, few: bool, figures: list[Figure]) -> str:
    rows = f"{name}, M {'<=' if few else '>'} {_FEW_ROWS}"
    compared = sorted((one.ratio, one.shape) for one in figures if one.ratio is not None)
    if not compared:
        return f"{rows}: nothing to compare with"
    mean = math.exp(sum(math.log(ratio) for ratio, _ in compared) / len(compared))
    worst = ", ".join(f"{shape} {ratio:.2f}" for ratio, shape in compared[:3])
    return f"{rows}: geometric mean {mean:.2f} of the best peer over {len(compared)} shapes; least {worst}"


if __name__ == "__main__":
    main()
