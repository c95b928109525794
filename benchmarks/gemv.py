"""Products of few rows on the CPU: how fast weights of each precision are read, against bf16 of the same shape.

    python benchmarks/gemv.py [--threads N] [--rounds R] [--shape N,K] [--rows 1,2,4] [--only SUBSTRING]

The weights of every candidate are larger than the last-level cache, and the candidates take turns, so each call reads
them from memory. GB/s counts the weights and their scales once; `read` is what a loop that only reads them reaches.
`cpu ms` is the CPU time of all threads, which others that use the cores disturb least.
torch, where it is installed, is the peer: bf16 `linear` on the same threads. Correctness is not this file's business:
dispatcher_cpp/tests/test_host_small_m.cpp.
"""

import argparse
import ctypes
import os
import pathlib
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--shape", default="16384,7168", help="N,K of the weights")
    parser.add_argument("--rows", default="1,2,4", help="values of M")
    parser.add_argument("--only", default="", help="candidates whose name contains this, beside bf16")
    return parser.parse_args()


ARGUMENTS = parse_arguments()
for variable in ("CKGEN_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = str(ARGUMENTS.threads)  # before any library reads it

sys.path[:0] = [str(ROOT / "tests/cpp"), str(ROOT / "tests")]
import host_backend as hb  # noqa: E402
import numpy as np  # noqa: E402

BITS = {"bf16": 16, "int8": 8, "fp8_ocp": 8, "fp4": 4}
# name -> type of A and of B, quantisation
KINDS = {
    "bf16": ("bf16", "bf16", "none"),
    "mxfp8": ("fp8_ocp", "fp8_ocp", "mx"),
    "mxfp4": ("fp4", "fp4", "mx"),
    "fp8 x mxfp4": ("fp8_ocp", "fp4", "mx"),
    "fp8 blockscale": ("fp8_ocp", "fp8_ocp", "blockscale"),
    "fp8 rowwise": ("fp8_ocp", "fp8_ocp", "rowwise"),
    "int8 rowwise": ("int8", "int8", "rowwise"),
}


def operand(rng, dtype, rows, k):
    """rows x k values in memory; large ones repeat a part."""
    part = min(rows, 64)
    if dtype == "int8":
        values = rng.integers(-128, 128, (part, k)).astype(np.int8)
    else:
        values = rng.standard_normal((part, k)).astype(np.float32).astype(hb.NUMPY[dtype])
    if dtype == "fp4":
        values = hb.pack_fp4(values)
    return np.ascontiguousarray(np.resize(values.view(np.uint8), (rows, k * BITS[dtype] // 8)))


class Candidate:
    """One product, ready to be called; `bytes` is what it reads of the weights and their scales."""

    def __init__(self, lib, shape, kinds, isa):
        m, n, k = shape
        a_type, b_type, quant = kinds
        rng = np.random.default_rng(0)
        a, b = operand(rng, a_type, m, k), operand(rng, b_type, n, k)
        c = np.empty((m, n), hb.NUMPY["bf16"])
        group = {"blockscale": 128, "mx": 32}.get(quant, k)
        blocks = -(-n // 128) if quant == "blockscale" else n
        scale_type, one = (np.uint8, 127) if quant == "mx" else (np.float32, 1)
        scales = [np.full((rows, -(-k // group)), one, scale_type) for rows in (m, blocks)]
        traits = hb.traits_of(lib, a_type, b_type, "bf16", "rcr", quant)
        args = hb.Args(
            a.ctypes.data, b.ctypes.data, c.ctypes.data, scales[0].ctypes.data, scales[1].ctypes.data, None, True,
            m, n, k, 1, k, k, n, 0, 0, 0,
        )  # fmt: skip
        config = hb.HostConfig(isa, 4, 16 if isa == 0 else 32, 64, 512, 512, 0)
        references = [ctypes.byref(x) for x in (traits, config, args)]
        work = np.empty(lib.shim_host_workspace(*references) + 64, np.uint8)
        start = -work.ctypes.data % 64
        self.keep = (a, b, c, scales, traits, config, args, work)
        self.call = lambda: lib.shim_host_raw(*references, ctypes.c_void_p(work.ctypes.data + start))
        self.bytes = b.nbytes + (scales[1].nbytes if quant != "none" else 0)

    def __call__(self):
        if self.call() != 0:
            raise SystemExit("the kernel refused its arguments")


class Read:
    """Reads the weights and does nothing with them."""

    def __init__(self, lib, weights):
        self.lib, self.weights, self.bytes = lib, weights, weights.nbytes

    def __call__(self):
        self.lib.shim_read(ctypes.c_void_p(self.weights.ctypes.data), ctypes.c_int64(self.bytes))


def torch_peer(shape):
    """torch's bf16 linear, or None where there is no torch."""
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(ARGUMENTS.threads)
    m, n, k = shape
    a, b = torch.randn(m, k).bfloat16(), torch.randn(64, k).bfloat16().repeat(-(-n // 64), 1)[:n].contiguous()

    def run():
        torch.nn.functional.linear(a, b)

    run.bytes = b.numel() * 2
    run.title = f"torch {torch.__version__} bf16"
    return run


def measure(runs, rounds):
    """name -> (seconds, CPU seconds) per round; every round runs all once, starting at another each time."""
    times = {name: [] for name in runs}
    names = list(runs)
    for name in names:
        runs[name]()
    for r in range(rounds):
        for name in names[r % len(names) :] + names[: r % len(names)]:
            start = time.perf_counter(), time.process_time()
            runs[name]()
            times[name].append((time.perf_counter() - start[0], time.process_time() - start[1]))
            if name.startswith("torch"):
                time.sleep(0.2)  # OpenMP's threads spin on and would take a core from the next
    return times


def report(lib, shape, isa):
    runs = {
        name: Candidate(lib, shape, kinds, isa)
        for name, kinds in KINDS.items()
        if name == "bf16" or ARGUMENTS.only in name
    }
    runs["read"] = Read(lib, runs["bf16"].keep[1])
    peer = torch_peer(shape)
    if peer is not None:
        runs[peer.title] = peer
    times = measure(runs, ARGUMENTS.rounds)
    wall, cpu = ({name: statistics.median(t[i] for t in rounds) for name, rounds in times.items()} for i in (0, 1))
    print(f"\nM {shape[0]}, N {shape[1]}, K {shape[2]}")
    print(f"{'':24} {'MB':>7} {'ms':>8} {'GB/s':>6} {'x bf16':>7} {'cpu ms':>8} {'x bf16':>7}")
    for name in times:
        size, seconds = runs[name].bytes, f"{wall[name] * 1e3:8.2f} {runs[name].bytes / wall[name] / 1e9:6.1f}"
        ratios = f"{wall['bf16'] / wall[name]:7.2f} {cpu[name] * 1e3:8.2f} {cpu['bf16'] / cpu[name]:7.2f}"
        print(f"{name:24} {size / 1e6:7.1f} {seconds} {ratios}")


def main():
    n, k = (int(x) for x in ARGUMENTS.shape.split(","))
    with tempfile.TemporaryDirectory() as folder:
        lib = hb.load(hb.build(folder))
        isa = lib.shim_isa()
        print(f"cpu: {lib.shim_cpu().decode()}, isa {hb.ISAS[isa]}, {ARGUMENTS.threads} threads of {os.cpu_count()}")
        print(f"{ARGUMENTS.rounds} interleaved rounds, medians; load average before: {os.getloadavg()[0]:.2f}")
        for m in (int(x) for x in ARGUMENTS.rows.split(",")):
            report(lib, (m, n, k), isa)
    print(f"\nload average after: {os.getloadavg()[0]:.2f} (far above the threads used: others shared the cores)")
    print(f"reproduce: python benchmarks/gemv.py {' '.join(sys.argv[1:])}".rstrip())


if __name__ == "__main__":
    main()
