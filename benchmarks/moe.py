"""A gated bf16 MoE layer against PyTorch's loop over experts on this CPU: one process, two threads, interleaved rounds.

    python benchmarks/moe.py [--tokens T ...] [--experts E] [--top-k S] [--model D] [--inter I] [--rounds R]
                             [--realtime] [--json]

PyTorch is to be importable by this Python: pip install torch (its CPU build is enough). Both get the same tensors; the
loop takes each expert's tokens, multiplies with its weights, and adds what comes out. Medians, and their ratio.
--realtime gives the timed threads of both real-time priority, for a machine that others keep busy.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

THREADS = 2
os.environ["CKGEN_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(THREADS)

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "codegen"), str(ROOT / "tests")]

import torch  # noqa: E402
import torch.nn.functional as functional  # noqa: E402
from support import cpu_name  # noqa: E402

from ckgen.model.groups import Routing  # noqa: E402
from ckgen.model.target import Target  # noqa: E402
from ckgen.plan.options import PlanOptions  # noqa: E402
from ckgen.plan.planner import make_plan  # noqa: E402
from ckgen.runtime import RuntimeLibrary  # noqa: E402
from ckgen.runtime.moe import MoeArgsStruct  # noqa: E402
from ckgen.specs.archs import load_archs  # noqa: E402
from ckgen.specs.native import own_cpu  # noqa: E402
from runtime_build import load_generated  # noqa: E402

SIGNATURE = "moe_bf16_rcr_layer_gated_epi_silu"
REST = 0.02  # seconds: OpenMP's threads spin for a while after their work


class Layer:
    """Weights of all experts, and tokens with their routing."""

    def __init__(self, tokens: int, routing: Routing, model: int, inter: int, weights: tuple[torch.Tensor, ...]):
        torch.manual_seed(1)
        self.tokens, self.routing, self.model, self.inter = tokens, routing, model, inter
        self.w1, self.w2 = weights
        self.a = torch.randn(tokens, model).bfloat16()
        scores = torch.rand(tokens, routing.experts).softmax(-1)
        self.weights, ids = scores.topk(routing.top_k)
        self.ids = ids.to(torch.int32)
        self.c = torch.empty(tokens, model, dtype=torch.bfloat16)

    def loop(self) -> torch.Tensor:
        """Expert by expert, as models in PyTorch do."""
        out = torch.zeros_like(self.a)
        for expert in self.ids.unique().tolist():
            token, slot = torch.where(self.ids == expert)
            gate, up = functional.linear(self.a[token], self.w1[expert]).chunk(2, dim=-1)
            found = functional.linear(functional.silu(gate) * up, self.w2[expert])
            out.index_add_(0, token, (found * self.weights[token, slot, None]).bfloat16())
        return out

    def args(self) -> MoeArgsStruct:
        """What ckgen reads and writes."""
        at = {name: getattr(self, name).data_ptr() for name in ("a", "w1", "w2", "c")}
        routed = {"topk_ids": self.ids.data_ptr(), "topk_weights": self.weights.data_ptr()}
        return MoeArgsStruct(tokens=self.tokens, lda=self.model, ldc=self.model, a_scale_row_major=1, **at, **routed)


def experts(routing: Routing, model: int, inter: int) -> tuple[torch.Tensor, torch.Tensor]:
    """W1, gate rows first, and W2."""
    torch.manual_seed(0)
    w1 = (torch.randn(routing.experts, 2 * inter, model) / model**0.5).bfloat16()
    return w1, (torch.randn(routing.experts, model, inter) / inter**0.5).bfloat16()


def medians(bodies: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Milliseconds of each, run in turn."""
    times: dict[str, list[float]] = {name: [] for name in bodies}
    for count in range(rounds + 2):
        for name, body in bodies.items():
            time.sleep(REST)
            begin = time.perf_counter()
            body()
            if count >= 2:
                times[name].append((time.perf_counter() - begin) * 1e3)
    return {name: statistics.median(found) for name, found in times.items()}


def prefer() -> None:
    """Real-time priority for all threads that there are."""
    for thread in Path("/proc/self/task").iterdir():
        os.sched_setscheduler(int(thread.name), os.SCHED_RR, os.sched_param(1))


def measure(library: RuntimeLibrary, layer: Layer, rounds: int, realtime: bool) -> dict[str, float]:
    """Both ways; they must agree first."""
    dispatcher, device = library.dispatcher(["moe_benchmark"]), library.host()
    problem = library.problem(SIGNATURE, layer.tokens, layer.inter, layer.model, routing=layer.routing)
    plan = dispatcher.plan(problem, device)
    args = layer.args()
    room = ctypes.create_string_buffer(plan.workspace_size + 64)
    workspace = (ctypes.addressof(room) + 63) // 64 * 64
    dispatcher.run(plan, args, workspace)
    wanted = layer.loop().float()
    error = ((layer.c.float() - wanted).abs().max() / wanted.abs().max()).item()
    if not error < 0.02:
        raise SystemExit(f"the results differ by {error:.3f} of the largest")
    if realtime:
        prefer()
    return medians({"ckgen": lambda: dispatcher.run(plan, args, workspace), "torch": layer.loop}, rounds)


def main() -> None:
    """Prints the table or the document."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, nargs="+", default=[8, 16, 32, 64, 128])
    parser.add_argument("--experts", type=int, default=32)
    parser.add_argument("--top-k", type=int, default=4)
    parser.add_argument("--model", type=int, default=2048)
    parser.add_argument("--inter", type=int, default=768)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--realtime", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(THREADS)
    routing = Routing(arguments.experts, arguments.top_k)
    target = Target(own_cpu().gfx, THREADS)
    options = PlanOptions(targets=(target,), ops=frozenset({"moe"}), signatures=(SIGNATURE,))
    weights = experts(routing, arguments.model, arguments.inter)
    rows = []
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        library = load_generated(make_plan(options, load_archs()), "moe_benchmark", Path(folder))
        for tokens in arguments.tokens:
            layer = Layer(tokens, routing, arguments.model, arguments.inter, weights)
            found = measure(library, layer, arguments.rounds, arguments.realtime)
            ms = {name: round(value, 3) for name, value in found.items()}
            rows.append({"tokens": tokens, "ms": ms, "ratio": round(found["torch"] / found["ckgen"], 2)})
    sizes = {"experts": routing.experts, "top_k": routing.top_k, "model": arguments.model, "inter": arguments.inter}
    document = {"cpu": cpu_name(), "threads": THREADS, "torch": torch.__version__, "load": load, **sizes, "rows": rows}
    document["realtime"] = arguments.realtime
    if arguments.json:
        print(json.dumps(document, indent=1))
        return
    print(
        f"moe  {cpu_name()}, {THREADS} threads, torch {torch.__version__}, load {load:.1f} before; medians"
        + (", real-time priority" if arguments.realtime else "")
    )
    print("     bf16, gated, " + ", ".join(f"{name} {value}" for name, value in sizes.items()))
    for row in rows:
        ms = row["ms"]
        print(
            f"  {row['tokens']:4} tokens: ckgen {ms['ckgen']:8.3f} ms, torch {ms['torch']:8.3f} ms: {row['ratio']:.2f}x"
        )
    print("reproduce: python benchmarks/moe.py   (goal 1.5)")


if __name__ == "__main__":
    main()
