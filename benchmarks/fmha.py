"""Attention on this CPU against PyTorch's scaled_dot_product_attention: one process, two threads, interleaved rounds.

    python benchmarks/fmha.py [--lengths S ...] [--dims D ...] [--heads H] [--rounds R] [--capped] [--realtime] [--json]

PyTorch is to be importable by this Python: pip install torch (its CPU build is enough). Both get the same tensors, and
must agree before they are timed; PyTorch takes the fastest of its backends. --capped holds PyTorch and oneDNN to the
level of the kernels. Decode: one query of 8 heads for each KV head, as a part of what all threads together can read.
--realtime gives the timed threads real-time priority, for a machine that others keep busy.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

THREADS = 2
os.environ["CKGEN_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(THREADS)
if "--capped" in sys.argv:  # read when torch is imported
    LEVEL = "avx2" if os.environ.get("CKGEN_HOST_ISA") == "x86_64_v3" else "avx512"
    os.environ["ATEN_CPU_CAPABILITY"] = LEVEL
    os.environ["ONEDNN_MAX_CPU_ISA"] = {"avx2": "AVX2", "avx512": "AVX512_CORE_BF16"}[LEVEL]

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "codegen"), str(ROOT / "tests")]

import torch  # noqa: E402
import torch.nn.functional as functional  # noqa: E402
from host_program import host_program  # noqa: E402
from support import cpu_name  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402

REST = 0.02  # seconds: OpenMP's threads spin for a while after their work
SECONDS = 4.0  # of a case, beyond its least rounds
LEAST_ROUNDS = 3
MATH_LENGTH = 1024  # beyond, PyTorch's composite backend needs all scores at once and is far behind
TILE = (64, 128)
DECODES = (("bf16", 8, 65536, 1), ("bf16", 1, 524288, 2), ("fp32", 8, 32768, 1))
"""Type, KV heads, columns, splits: 268 MB each."""
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
TOLERANCE = {"fp32": 1e-4, "bf16": 2e-2}


def build_library(folder: Path) -> ctypes.CDLL:
    """`benchmarks/fmha.cpp` over ckgen's own library."""
    library = ctypes.CDLL(str(host_program("fmha", folder, shared=True)))
    library.bench_fmha_make.restype = ctypes.c_void_p
    library.bench_isa.restype = ctypes.c_char_p
    library.bench_read.restype = ctypes.c_double
    return library


@contextmanager
def attention(
    library: ctypes.CDLL,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    o: torch.Tensor,
    causal: bool,
    splits: int = 1,
) -> Iterator[Callable[[], None]]:
    """A call of ckgen's kernels on tensors [1, heads, rows, hdim]; its memory is made once."""
    _, heads_q, rows, hdim = q.shape
    sizes = [q.dtype == torch.bfloat16, causal, heads_q, k.shape[1]]
    lengths = [ctypes.c_int64(rows), ctypes.c_int64(k.shape[2])]
    made = library.bench_fmha_make(*map(int, sizes), *lengths, hdim, *TILE, splits)
    if not made:
        raise SystemExit("no kernel takes the problem")
    handle, scale = ctypes.c_void_p(made), ctypes.c_float(1 / math.sqrt(hdim))
    pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (q, k, v, o)]

    def run() -> None:
        if library.bench_fmha_run(handle, *pointers, scale):
            raise SystemExit("the kernels refuse the arguments")

    try:
        yield run
    finally:
        library.bench_fmha_free(handle)


def medians(bodies: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Milliseconds of each, run in turn."""
    times: dict[str, list[float]] = {name: [] for name in bodies}
    start = time.perf_counter()
    for count in range(rounds + 1):
        if count > LEAST_ROUNDS and time.perf_counter() - start > SECONDS:
            break
        for name, body in bodies.items():
            time.sleep(REST)
            begin = time.perf_counter()
            body()
            if count:
                times[name].append((time.perf_counter() - begin) * 1e3)
    return {name: statistics.median(found) for name, found in times.items()}


def prefer() -> None:
    """Real-time priority for all threads that there are."""
    for thread in Path("/proc/self/task").iterdir():
        os.sched_setscheduler(int(thread.name), os.SCHED_RR, os.sched_param(1))


def peers(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> dict[str, Callable[[], torch.Tensor]]:
    """PyTorch's backends that are worth a look."""

    def by(backend: SDPBackend) -> Callable[[], torch.Tensor]:
        def body() -> torch.Tensor:
            with sdpa_kernel(backend):
                return functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

        return body

    found = {"flash": by(SDPBackend.FLASH_ATTENTION)}
    if q.shape[2] <= MATH_LENGTH:
        found["math"] = by(SDPBackend.MATH)
    return found


def measure(
    library: ctypes.CDLL, dtype: str, length: int, hdim: int, causal: bool, arguments: argparse.Namespace
) -> dict[str, object]:
    """One problem both ways."""
    torch.manual_seed(length + hdim)
    q, k, v = (torch.randn(1, arguments.heads, length, hdim).to(DTYPES[dtype]) for _ in range(3))
    o = torch.empty_like(q)
    others = peers(q, k, v, causal)
    with attention(library, q, k, v, o, causal) as run:
        run()
        error = (o.float() - others["flash"]().float()).abs().max().item()
        if not error < TOLERANCE[dtype]:
            raise SystemExit(f"{dtype} S={length} D={hdim}: the results differ by {error:.4f}")
        if arguments.realtime:
            prefer()
        ms = medians({"ckgen": run, **others}, arguments.rounds)
    best = min(ms[name] for name in others)
    operations = 4 * arguments.heads * length * length * hdim * (0.5 if causal else 1.0)
    return {
        "dtype": dtype,
        "hdim": hdim,
        "mask": "causal" if causal else "full",
        "length": length,
        "ms": round(ms["ckgen"], 3),
        "torch_ms": round(best, 3),
        "gflops": round(operations / ms["ckgen"] / 1e6),
        "ratio": round(best / ms["ckgen"], 3),
    }


def decode(
    library: ctypes.CDLL, dtype: str, heads_k: int, length: int, splits: int, realtime: bool
) -> dict[str, object]:
    """One query against a KV cache beyond the last-level cache, and how fast the same bytes are only read."""
    torch.manual_seed(1)
    hdim = 128
    q = torch.randn(1, 8 * heads_k, 1, hdim).to(DTYPES[dtype])
    both = torch.randn(2, 1, heads_k, length, hdim).to(DTYPES[dtype])
    k, v = both[0], both[1]
    o, seen = torch.empty_like(q), ctypes.c_uint64(0)
    size = both.numel() * both.element_size()
    pointer, count = ctypes.c_void_p(both.data_ptr()), ctypes.c_int64(size)
    with attention(library, q, k, v, o, False, splits) as run:
        run()
        if realtime:
            prefer()
        reads: list[float] = []

        def read() -> None:
            reads.append(library.bench_read(pointer, count, ctypes.byref(seen)))

        ms = medians({"ckgen": run, "read": read}, 41)
    seconds = statistics.median(reads[1:])
    return {
        "dtype": dtype,
        "heads_k": heads_k,
        "length": length,
        "splits": splits,
        "megabytes": round(size / 1e6),
        "ms": round(ms["ckgen"], 3),
        "gb_per_s": round(size / ms["ckgen"] / 1e6, 1),
        "read_gb_per_s": round(size / seconds / 1e9, 1),
        "part": round(seconds * 1e3 / ms["ckgen"], 2),
    }


def geomean(values: list[float]) -> float:
    """Of values above 0."""
    return math.exp(statistics.fmean(math.log(value) for value in values))


def summary(rows: list[dict[str, object]]) -> Iterator[str]:
    """Ratios by type, head dim and mask, and what a causal mask saves."""
    for dtype in DTYPES:
        ratios = []
        for hdim in sorted({int(str(row["hdim"])) for row in rows}):
            for mask in ("full", "causal"):
                some = [
                    float(str(r["ratio"])) for r in rows if (r["dtype"], r["hdim"], r["mask"]) == (dtype, hdim, mask)
                ]
                ratios += some
                yield f"  {dtype} D={hdim:<3} {mask:6} {geomean(some):5.2f}x"
        yield f"  {dtype} geomean      {geomean(ratios):5.2f}x   (goal 1.2)"
    times = {(r["dtype"], r["hdim"], r["length"], r["mask"]): float(str(r["ms"])) for r in rows}
    parts = [
        ms / times[(*key[:3], "full")] for key, ms in times.items() if key[3] == "causal" and int(str(key[2])) >= 2048
    ]
    if parts:
        yield f"  causal takes at most {max(parts):.2f} of full, for S >= 2048   (goal 0.6)"


def main() -> None:
    """Prints the table or the document."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lengths", type=int, nargs="+", default=[512, 1024, 2048, 4096, 8192])
    parser.add_argument("--dims", type=int, nargs="+", default=[64, 128])
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--capped", action="store_true")
    parser.add_argument("--realtime", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(THREADS)
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        library = build_library(Path(folder))
        isa = library.bench_isa().decode()
        rows = [
            measure(library, dtype, length, hdim, causal, arguments)
            for dtype in DTYPES
            for hdim in arguments.dims
            for length in arguments.lengths
            for causal in (False, True)
        ]
        decodes = [
            decode(library, dtype, heads_k, length, splits, arguments.realtime)
            for dtype, heads_k, length, splits in DECODES
        ]
    about = {"cpu": cpu_name(), "isa": isa, "threads": THREADS, "torch": torch.__version__, "load": load}
    about["peer_level"] = torch.backends.cpu.get_cpu_capability()
    if arguments.json:
        print(json.dumps({**about, "capped": arguments.capped, "rows": rows, "decode": decodes}, indent=1))
        return
    print(f"fmha  {about['cpu']}, {isa}, {THREADS} threads, torch {torch.__version__} at {about['peer_level']}", end="")
    print(f"{' (capped)' if arguments.capped else ''}, load {load:.1f} before; medians", end="")
    print(", real-time priority" if arguments.realtime else "")
    for row in rows:
        print("  {dtype} D={hdim:<3} {mask:6} S={length:<5} ckgen {ms:9.3f} ms".format(**row), end="")
        print(" {gflops:4} GFLOP/s, torch {torch_ms:9.3f} ms: {ratio:.2f}x".format(**row))
    print("\n".join(summary(rows)))
    for one in decodes:
        print("  decode {dtype} {heads_k} KV heads x {length}, {splits} splits: {ms:.3f} ms,".format(**one), end="")
        print(" {gb_per_s} of {read_gb_per_s} GB/s read: {part:.2f}   (goal 0.8)".format(**one))
    print("reproduce: python benchmarks/fmha.py")


if __name__ == "__main__":
    main()
