"""Stream-K against whole tiles on this CPU: the same tile, two threads, interleaved rounds, medians.

    python benchmarks/stream_k.py [--rounds R] [--k K] [--json]

Both instances come from one generated library and run through its dispatcher. A tile is one register tile, which no
thread can share but along K; rows of one, two, three and five tiles are what two threads divide well or badly.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections import deque
from pathlib import Path

THREADS = 2
os.environ["CKGEN_NUM_THREADS"] = str(THREADS)

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "codegen"), str(ROOT / "tests")]

from support import cpu_name  # noqa: E402

from ckgen.families.gemm.config import HostConfig  # noqa: E402
from ckgen.families.gemm.reference_data import make_operands  # noqa: E402
from ckgen.families.gemm.signature import GemmSignature, parse_signature  # noqa: E402
from ckgen.model.strategy import Strategy  # noqa: E402
from ckgen.model.target import Target  # noqa: E402
from ckgen.model.tuned_row import Shape  # noqa: E402
from ckgen.plan.model import GenerationPlan  # noqa: E402
from ckgen.plan.options import PlanOptions  # noqa: E402
from ckgen.plan.planner import make_plan  # noqa: E402
from ckgen.quickstart.verify import Buffers  # noqa: E402
from ckgen.runtime import Dispatcher, RuntimeLibrary  # noqa: E402
from ckgen.runtime.handles import Device  # noqa: E402
from ckgen.specs.archs import load_archs  # noqa: E402
from ckgen.specs.native import own_cpu  # noqa: E402
from runtime_build import load_generated  # noqa: E402

TILES = (1, 2, 3, 5)
DTYPES = ("fp32", "bf16")
STREAM_K = tuple(strategy for strategy in Strategy if strategy.is_stream_k)

_SET = """
op: {op}
name: benchmark
signatures: [{signatures}]
backend: host
targets: [{gfx}]
configs: {{register: {mr}x{nr}, block: {mr}x{nr}x512, threads: {threads}{strategies}}}
"""


def register_tile(gfx: str) -> tuple[int, int]:
    """The tile of the level's widest micro-kernel."""
    return (6, 16) if gfx == "x86_64_v3" else (14, 32)


def plan_for(target: Target, folder: Path) -> GenerationPlan:
    """The plain instance and those of every strategy, of one tile."""
    mr, nr = register_tile(target.gfx)
    words = {"signatures": ", ".join(DTYPES), "gfx": target.gfx, "mr": mr, "nr": nr, "threads": THREADS}
    strategies = f", strategy: [{', '.join(map(str, STREAM_K))}]"
    sets = []
    for op, told in (("gemm", ""), ("stream_k", strategies)):
        path = folder / f"{op}.yaml"
        path.write_text(_SET.format(op=op, strategies=told, **words), encoding="utf-8")
        sets.append(path)
    signatures = tuple(f"gemm_{dtype}_rcr" for dtype in DTYPES)
    ops = frozenset({"gemm", "stream_k"})
    options = PlanOptions(targets=(target,), ops=ops, kernel_sets=tuple(sets), signatures=signatures)
    return make_plan(options, load_archs())


def instance_of(plan: GenerationPlan, signature: GemmSignature, tile: tuple[int, int], strategy: Strategy) -> str:
    """The name of the benchmark's own instance."""
    for instance in plan.instances:
        config = instance.config
        own = isinstance(config, HostConfig) and (config.mc, config.nc, config.threads) == (*tile, THREADS)
        if own and instance.signature == signature and config.strategy is strategy:
            return instance.name
    raise LookupError(f"no {strategy} instance of {signature}")


def measure(
    library: RuntimeLibrary, dispatcher: Dispatcher, device: Device, signature: GemmSignature, shape: Shape,
    names: dict[Strategy, str], rounds: int,
) -> dict[Strategy, float]:  # fmt: skip
    """Medians in microseconds of each strategy, all measured in turn in every round."""
    buffers = Buffers.of(make_operands(signature, shape, seed=1), shape)
    problem = library.problem(signature.canonical(), shape.m, shape.n, shape.k)
    plans = {strategy: dispatcher.plan(problem, device, name) for strategy, name in names.items()}
    times: dict[Strategy, list[float]] = {strategy: [] for strategy in names}
    turns = deque(plans)
    for count in range(rounds + 3):
        turns.rotate(1)  # none always follows the same one
        for strategy in turns:
            plan = plans[strategy]
            begin = time.perf_counter()
            dispatcher.run(plan, buffers.args)
            if count >= 3:
                times[strategy].append((time.perf_counter() - begin) * 1e6)
    return {strategy: statistics.median(found) for strategy, found in times.items()}


def main() -> None:
    """Prints the table or the document."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--k", type=int, default=131072)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    target = Target(own_cpu().gfx, THREADS)
    tile = register_tile(target.gfx)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        plan = plan_for(target, Path(folder))
        library = load_generated(plan, "stream_k_benchmark", Path(folder) / "out")
        dispatcher, device = library.dispatcher(["stream_k_benchmark"]), library.simulated(str(target))
        for dtype in DTYPES:
            signature = parse_signature(dtype, None)
            names = {s: instance_of(plan, signature, tile, s) for s in (Strategy.DATA_PARALLEL, *STREAM_K)}
            for tiles in TILES:
                shape = Shape(0, tile[0], tile[1] * tiles, arguments.k)
                found = measure(library, dispatcher, device, signature, shape, names, arguments.rounds)
                plain = found[Strategy.DATA_PARALLEL]
                times = {str(strategy): round(us, 1) for strategy, us in found.items()}
                gains = {str(strategy): round(plain / found[strategy], 2) for strategy in STREAM_K}
                rows.append({"dtype": dtype, "tiles": tiles, "us": times, "over_data_parallel": gains})
    cpu = cpu_name()
    document = {
        "cpu": cpu,
        "threads": THREADS,
        "tile": f"{tile[0]}x{tile[1]}",
        "k": arguments.k,
        "rows": rows,
    }
    if arguments.json:
        print(json.dumps(document, indent=1))
        return
    print(f"{cpu}, {THREADS} threads, tile {document['tile']}, K = {arguments.k}; medians of {arguments.rounds} in us")
    for row in rows:
        gains = "  ".join(f"{word} {gain:.2f}x" for word, gain in row["over_data_parallel"].items())
        print(f"{row['dtype']:5} {row['tiles']} tiles: data-parallel {row['us']['data_parallel']:9.1f}   {gains}")


if __name__ == "__main__":
    main()
