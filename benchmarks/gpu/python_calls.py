"""What a call from Python costs its thread on this machine's NVIDIA GPU, in turns with torch's.

    python3 benchmarks/gpu/python_calls.py [ROUNDS]

A small product in bf16, in batches of calls that the driver's queue holds, behind each of which the device is waited
for; the least and the median batch of ROUNDS, 300, in microseconds a call. `ckgen.jit` builds a library of one kernel.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import ckgen

KERNEL = "gemm_bf16_rcr_cutlass_64x64x64_1x1_pp"
M, N, K = 16, 512, 512
CALLS = 200


def main(rounds: int) -> int:
    """1 where the product is wrong."""
    import torch

    lib = ckgen.jit(["gemm"], "native", signatures=["gemm_bf16_rcr"], kernels=[KERNEL], device_code=True)
    a, w = (torch.randn(rows, K, device="cuda", dtype=torch.bfloat16) for rows in (M, N))
    out, turned, side = torch.empty(M, N, device="cuda", dtype=torch.bfloat16), w.T, torch.cuda.Stream()
    calls: dict[str, Callable[[], Any]] = {
        "ckgen, out given": lambda: lib.gemm(a, turned, out=out),
        "ckgen, out and stream given": lambda: lib.gemm(a, turned, out=out, stream=side),
        "ckgen": lambda: lib.gemm(a, turned),
        "torch.mm, out given": lambda: torch.mm(a, turned, out=out),
        "torch.mm": lambda: torch.mm(a, turned),
    }
    wrong = not torch.allclose(lib.gemm(a, turned).float(), a.float() @ turned.float(), atol=0.5, rtol=0.02)
    times: dict[str, list[float]] = {name: [] for name in calls}
    for name in [*calls] * rounds:
        call = calls[name]
        begun = time.perf_counter()
        for _ in range(CALLS):
            call()
        times[name].append((time.perf_counter() - begun) / CALLS * 1e6)
        torch.cuda.synchronize()
    for name, of in times.items():
        print(f"{name:28}{min(of):8.2f} least {median(of):8.2f} median, us a call")
    if wrong:
        print("WRONG")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:2] or ["300"])))
