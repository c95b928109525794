"""Host GEMM (twins and CPU instances) against numpy's fp32 matmul: same threads, interleaved rounds, medians.

    python benchmarks/host_gemm.py [--threads N] [--rounds R] [--shape M,N,K ...] [--only SUBSTRING]

numpy has no low-precision matmul, so every row is compared with fp32 of the same shape; GF/s counts 2*M*N*K. The time
of a candidate includes packing (decoding) both operands. Correctness is not this file's business: tests/cpp.
"""

import argparse
import ctypes
import os
import pathlib
import platform
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--shape", action="append", help="M,N,K; default 1024,1024,1024 and two small-M shapes")
    parser.add_argument("--only", default="", help="candidates whose name contains this")
    return parser.parse_args()


ARGUMENTS = parse_arguments()
for variable in ("CKGEN_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = str(ARGUMENTS.threads)  # before numpy loads its BLAS

sys.path[:0] = [str(ROOT / "tests/cpp"), str(ROOT / "tests")]
import host_backend as hb  # noqa: E402
import numpy as np  # noqa: E402


def operand(rng, dtype, shape):
    if dtype == "int8":
        return rng.integers(-128, 128, shape).astype(np.int8)
    x = rng.standard_normal(shape).astype(np.float32)
    x = x.astype(hb.NUMPY[dtype])
    return hb.pack_fp4(x) if dtype == "fp4" else x


def aligned(size):
    raw = np.empty(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size]


def candidate(lib, shape, kinds, layout, quant, config):
    """A zero-argument callable that runs one GEMM; it owns its operands."""
    m, n, k = shape
    a_type, b_type, c_type = kinds
    rng = np.random.default_rng(0)
    a = operand(rng, a_type, (m, k))
    b = operand(rng, b_type, (k, n) if layout[1] == "r" else (n, k))
    c = np.empty((m, n), hb.NUMPY[c_type])
    group = {"blockscale": 128, "mx": 32}.get(quant, k)
    scale_type, one = (np.uint8, 127) if quant == "mx" else (np.float32, 1)
    sa, sb = np.full((m, -(-k // group)), one, scale_type), np.full((n, -(-k // group)), one, scale_type)
    traits = hb.traits_of(lib, a_type, b_type, c_type, layout, quant)
    args = hb.Args(
        a.ctypes.data, b.ctypes.data, c.ctypes.data, sa.ctypes.data, sb.ctypes.data, None, True, m, n, k, 1, k,
        n if layout[1] == "r" else k, n, 0, 0, 0,
    )  # fmt: skip
    split = ctypes.c_int64(1)
    references = [ctypes.byref(x) for x in (traits, config, args)]
    if isinstance(config, hb.TwinConfig):
        work = aligned(lib.shim_twin_workspace(references[0], references[1], split, references[2]))
        call = lambda: lib.shim_twin_raw(*references[:2], split, references[2], ctypes.c_void_p(work.ctypes.data))  # noqa: E731
    else:
        work = aligned(lib.shim_host_workspace(*references))
        call = lambda: lib.shim_host_raw(*references, ctypes.c_void_p(work.ctypes.data))  # noqa: E731
    keep = (a, b, c, sa, sb, traits, config, args, work)

    def run(_keep=keep):
        if call() != 0:
            raise SystemExit("the kernel refused its arguments")

    return run


def candidates(lib):
    isa = lib.shim_isa()
    twin = hb.TwinConfig(128, 128, 64, 0, True, True, True)
    wide = isa >= 1
    tile = (14, 32) if wide else (6, 16)
    goto = hb.HostConfig(isa, *tile, 126, 256, 256, 0)
    yield "twin fp32 rrr", ("fp32",) * 3, "rrr", "none", twin
    yield "twin fp32 rcr", ("fp32",) * 3, "rcr", "none", twin
    yield "twin bf16 rcr", ("bf16",) * 3, "rcr", "none", twin
    yield "twin fp8 rowwise", ("fp8_fnuz", "fp8_fnuz", "bf16"), "rcr", "rowwise", twin
    yield "twin fp8 blockscale", ("fp8_fnuz", "fp8_fnuz", "bf16"), "rcr", "blockscale", twin
    yield "twin fp4 mx", ("fp4", "fp4", "bf16"), "rcr", "mx", twin
    yield "twin int8 rowwise", ("int8", "int8", "bf16"), "rcr", "rowwise", twin
    yield f"host fp32 rrr {tile[0]}x{tile[1]}", ("fp32",) * 3, "rrr", "none", goto
    yield f"host fp32 rcr {tile[0]}x{tile[1]}", ("fp32",) * 3, "rcr", "none", goto
    if wide:
        yield "host fp32 rrr 8x48", ("fp32",) * 3, "rrr", "none", hb.HostConfig(isa, 8, 48, 128, 240, 256, 0)
        yield "host fp32 rrr 6x16 v3", ("fp32",) * 3, "rrr", "none", hb.HostConfig(0, 6, 16, 126, 256, 256, 0)
    bf16_name = "host bf16 rcr" + (" dpbf16" if isa >= 2 else "")
    yield bf16_name, ("bf16", "bf16", "fp32"), "rcr", "none", goto
    yield "host fp8 rowwise", ("fp8_fnuz", "fp8_fnuz", "bf16"), "rcr", "rowwise", goto
    yield "host int8 rowwise", ("int8", "int8", "bf16"), "rcr", "rowwise", goto


def numpy_reference(shape):
    m, n, k = shape
    rng = np.random.default_rng(0)
    a, b = operand(rng, "fp32", (m, k)), operand(rng, "fp32", (k, n))
    out = np.empty((m, n), np.float32)
    return lambda: np.matmul(a, b, out=out)


def measure(runs, rounds):
    """name -> seconds per round; every round runs every candidate once, starting at another one each time."""
    times = {name: [] for name in runs}
    names = list(runs)
    for name in names:
        runs[name]()
    for r in range(rounds):
        for name in names[r % len(names) :] + names[: r % len(names)]:
            start = time.perf_counter()
            runs[name]()
            times[name].append(time.perf_counter() - start)
            if name.startswith("numpy"):
                time.sleep(0.15)  # OpenBLAS threads go on spinning (100 ms seen) and would take a core from the next
    return times


def cpu_name(lib):
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    model = next((x.split(":", 1)[1].strip() for x in lines if x.startswith("model name")), "?")
    return f"{lib.shim_cpu().decode()} (/proc/cpuinfo: {model})"


def main():
    shapes = [tuple(int(x) for x in s.split(",")) for s in ARGUMENTS.shape or ()]
    shapes = shapes or [(1024, 1024, 1024), (1, 4096, 4096), (16, 4096, 4096)]
    with tempfile.TemporaryDirectory() as folder:
        lib = hb.load(hb.build(folder))
        print(f"cpu: {cpu_name(lib)}, isa {hb.ISAS[lib.shim_isa()]}, {ARGUMENTS.threads} threads of {os.cpu_count()}")
        print(f"numpy {np.__version__}, python {platform.python_version()}, rounds {ARGUMENTS.rounds}, medians")
        print(f"load average before: {os.getloadavg()[0]:.2f} (above 0.5 others used the cores: do not quote)")
        for shape in shapes:
            runs = {"numpy fp32": numpy_reference(shape)}
            for name, kinds, layout, quant, config in candidates(lib):
                if ARGUMENTS.only in name:
                    runs[name] = candidate(lib, shape, kinds, layout, quant, config)
            times = measure(runs, ARGUMENTS.rounds)
            base = statistics.median(times["numpy fp32"])
            print(f"\n{shape[0]} x {shape[1]} x {shape[2]}\n{'':24} {'ms':>9} {'min':>9} {'GF/s':>8} {'x numpy':>8}")
            for name, seconds in times.items():
                t = statistics.median(seconds)
                rate = 2e-9 * shape[0] * shape[1] * shape[2] / t
                print(f"{name:24} {t * 1e3:9.3f} {min(seconds) * 1e3:9.3f} {rate:8.1f} {base / t:8.2f}")
    extra = "".join(f" --shape {s}" for s in ARGUMENTS.shape or ())
    command = f"python benchmarks/host_gemm.py --threads {ARGUMENTS.threads} --rounds {ARGUMENTS.rounds}{extra}"
    print(f"\nreproduce: {command}")


if __name__ == "__main__":
    main()
