"""What a call from Python costs over the C++ run of the same plan, on the smallest GEMM there is.

python benchmarks/python_calls.py [--library libX_runtime.so --name X]: without one, `ckgen.jit` builds it.
Each figure is the least of many short batches, so that what else runs on the machine counts little.
"""

from __future__ import annotations

import argparse
import timeit
from collections.abc import Callable

import numpy as np

import ckgen
from ckgen.families.gemm.enums import Layout
from ckgen.runtime.packed import packed_args

SHAPE = ckgen.Shape(0, 1, 1, 16)
BATCH, BATCHES = 300, 2000


def least(call: Callable[[], object]) -> float:
    """Microseconds of one call."""
    return min(timeit.repeat(call, number=BATCH, repeat=BATCHES)) / BATCH * 1e6


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library")
    parser.add_argument("--name", default="ckgen_jit")
    given = parser.parse_args()
    if given.library:
        lib = ckgen.load(given.library, [given.name], "cpu")
    else:
        lib = ckgen.jit(["gemm"], "native", signatures=["gemm_fp32_rcr"], device="cpu")
    a, b, out = np.ones((1, 16), np.float32), np.ones((1, 16), np.float32), np.empty((1, 1), np.float32)
    plan = lib.plan("gemm_fp32_rcr", SHAPE)
    args = packed_args(Layout.RCR, SHAPE, a=a.ctypes.data, b=b.ctypes.data, c=out.ctypes.data)
    cpp = lib.dispatcher.bench(plan, args, 10_000, 100_000).median_us
    turned = b.T
    calls: dict[str, Callable[[], object]] = {
        "numpy, out given": lambda: lib.gemm(a, turned, out=out),
        "numpy": lambda: lib.gemm(a, turned),
    }
    try:
        import torch

        x, w, y = torch.from_numpy(a), torch.from_numpy(b).T, torch.from_numpy(out)
        calls |= {"torch, out given": lambda: lib.gemm(x, w, out=y), "torch": lambda: lib.gemm(x, w)}
    except ImportError:
        print("torch is not installed")
    print(f"{'C++ run, by bench':24}{cpp:8.2f} us")
    for name, call in calls.items():
        time = least(call)
        print(f"{name:24}{time:8.2f} us  {time - cpp:6.2f} us over it")


if __name__ == "__main__":
    main()
