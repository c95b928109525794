"""GPU code on the emulator: wave instructions per second, with checks and without, and one thread against two.

No public emulator of these chips with checks could be had from a package registry, so the figures stand against each
other. Kernels are those that the tests compile; all runs of a kernel are interleaved.
"""

from __future__ import annotations

import os
import statistics
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from support import cpu_name

from ckgen import paths
from ckgen.build.amd.toolchain import load
from ckgen.build.cache import default_cache
from ckgen.build.progress import ProgressLine
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.specs.archs import load_archs
from ckgen_emulator.choose import Place, choose_kernel
from ckgen_emulator.gemm.build import default_context
from ckgen_emulator.gemm.drive import Request, RunOptions, emulate
from ckgen_emulator.gemm.problem import GemmProblem
from ckgen_emulator.gemm.runtime import build_runtime

ROUNDS = 5
TARGET = Target("gfx942", 304)
BLOCKS = "256x64x64x128"
LOADS = "8x32x1_8x32x1_1x32x1x8"
KERNELS = (
    ("gemm_fp16_rcr_ck_tile_compv3_intrawave_cshuffle_pad111_64x64x64_2x2x1_32x32x16_vec1", Shape(0, 1024, 1024, 1024)),
    (f"gemm_int8_bf16_rcr_rowwise_ck_{BLOCKS}_32x32_1x1_{LOADS}_8x8x1_1x1_intrawave_v3", Shape(0, 1024, 1024, 1024)),
    (
        f"gemm_fp8_fnuz_bf16_rcr_blockscale_ck_1x128x128_{BLOCKS}_16x16_32x32_1x1_{LOADS}_8_1x1_intrawave_v3",
        Shape(0, 512, 512, 1024),
    ),
)
WAYS = {
    "plain": RunOptions(checked=False),
    "checked": RunOptions(),
    "checked, 2 threads": RunOptions(threads=2),
}


def main() -> None:
    """Prints the table."""
    archs = load_archs()
    context = default_context(load(), archs, print, ProgressLine())
    runtime = build_runtime(print)
    print(f"emulator  {cpu_name()}, {os.cpu_count()} cores, median of {ROUNDS}, whole launch by wall clock")
    for name, shape in KERNELS:
        kernel = choose_kernel(name, TARGET, Place((paths.tuning_dir() / "aiter",)), archs, default_cache())
        seconds: dict[str, list[float]] = defaultdict(list)
        instructions = 0
        for _ in range(ROUNDS):
            for way, options in WAYS.items():
                request = Request(kernel, TARGET.cu_num, (GemmProblem(shape),))
                (result,) = emulate([request], runtime, context, options)
                assert result.ok and result.answer is not None, result.trouble
                seconds[way].append(result.answer.seconds)
                instructions = result.instructions
        median = {way: statistics.median(times) for way, times in seconds.items()}
        print(f"{name[:60]}… {shape.m}x{shape.n}x{shape.k}, {instructions:,} instructions of waves")
        for way, time in median.items():
            rate = instructions / time / 1e6
            print(f"  {way:20} {time:6.2f} s   {rate:5.2f} M/s   {time / median['plain']:.2f}x the plain run")
    print("reproduce: python benchmarks/emulator.py")


if __name__ == "__main__":
    main()
