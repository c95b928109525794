"""GPU code on the emulator: wave instructions per second, with checks and without, and one thread against two.

No public emulator of these chips with checks could be had from a package registry, so the figures stand against each
other. Kernels are those that the tests compile; all runs of a kernel are interleaved.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from support import Row, Run, main

from ckgen import paths
from ckgen.build.amd.toolchain import load
from ckgen.build.cache import default_cache
from ckgen.measure.timing import Sample
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.progress import Progress
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
KERNELS = {
    "fp16": (
        "gemm_fp16_rcr_ck_tile_compv3_intrawave_cshuffle_pad111_64x64x64_2x2x1_32x32x16_vec1",
        Shape(0, 1024, 1024, 1024),
    ),
    "int8": (
        f"gemm_int8_bf16_rcr_rowwise_ck_{BLOCKS}_32x32_1x1_{LOADS}_8x8x1_1x1_intrawave_v3",
        Shape(0, 1024, 1024, 1024),
    ),
    "fp8-blockscale": (
        f"gemm_fp8_fnuz_bf16_rcr_blockscale_ck_1x128x128_{BLOCKS}_16x16_32x32_1x1_{LOADS}_8_1x1_intrawave_v3",
        Shape(0, 512, 512, 1024),
    ),
}
WAYS = {
    "plain": RunOptions(checked=False),
    "checked": RunOptions(),
    "checked-2-threads": RunOptions(threads=2),
}


def rows(run: Run) -> Iterator[Row]:
    """For each kernel its instructions, and a row for each way."""
    chosen = {name: one for name, one in KERNELS.items() if any(run.wants(f"{name}-{way}") for way in (*WAYS, "count"))}
    if not chosen:
        return
    archs = load_archs()
    context, runtime = default_context(load(), archs, _say, Progress()), build_runtime(_say)
    for name, (kernel_name, shape) in chosen.items():
        kernel = choose_kernel(kernel_name, TARGET, Place((paths.tuning_dir() / "aiter",)), archs, default_cache())
        seconds: dict[str, list[float]] = {way: [] for way in WAYS}
        instructions = 0
        for _ in range(1 if run.quick else ROUNDS):
            for way, options in WAYS.items():
                request = Request(kernel, TARGET.cu_num, (GemmProblem(shape),))
                (result,) = emulate([request], runtime, context, options)
                if not result.ok or result.answer is None:
                    raise RuntimeError(f"{kernel_name}: {result.trouble}")
                seconds[way].append(result.answer.seconds)
                instructions = result.instructions
        text = f"{kernel_name}, {shape.m} × {shape.n} × {shape.k}"
        if run.wants(f"{name}-count"):
            yield run.counted(f"{name}-count", f"emulate {name}", text, "wave instructions", instructions)
        plain = Sample(tuple(seconds["plain"]))
        for way, times in seconds.items():
            if run.wants(f"{name}-{way}"):
                peers = {"its own plain run": plain} if way != "plain" else {}
                yield run.timed(f"{name}-{way}", f"emulate {name}, {way}", text, Sample(tuple(times)), peers, unit="s")


def _say(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    main(rows, __doc__)
