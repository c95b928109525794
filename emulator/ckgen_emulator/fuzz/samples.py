"""`ckgen fuzz --emulate`: samples of every op."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from pathlib import Path

from ckgen.build.amd.toolchain import load
from ckgen.families.fmha.signature import OP as FMHA
from ckgen.fuzz.outcome import Sampled
from ckgen.progress import Progress
from ckgen.runtime import RuntimeLibrary
from ckgen.specs.archs import load_archs
from ckgen_emulator.fuzz.fmha_sample import run_fmha_sample
from ckgen_emulator.fuzz.gemm_sample import run_sample
from ckgen_emulator.gemm.build import default_context
from ckgen_emulator.gemm.runtime import build_runtime


def run_samples(
    ops: frozenset[str],
    seed: int,
    count: int,
    library: Path,
    progress: Progress,
    say: Callable[[str], None],
) -> Mapping[str, Sampled]:
    """See `ckgen.extension.Emulate`."""

    def tell(text: str) -> None:
        progress.clear()
        say(text)

    ended = itertools.count(1)

    def heard(_: object) -> None:
        progress.count(min(next(ended), count * len(ops)), count * len(ops))

    progress.step("preparing the emulator")
    context = default_context(load(), load_archs(), tell, progress)
    runtime = build_runtime(progress.step, progress.step) if ops - {FMHA} else None
    progress.step("emulating")
    found = {}
    for op in sorted(ops):
        if op == FMHA:
            found[op] = run_fmha_sample(seed, count, RuntimeLibrary(library).fmha_split, context, heard)
        else:
            assert runtime is not None
            found[op] = run_sample(op, seed, count, runtime, context, heard)
    return found
