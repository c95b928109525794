"""`ckgen emulate fmha`: an attention kernel and its problem, as the options say them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ckgen.cli.output import progress
from ckgen.model.arch import ArchSpec
from ckgen.model.target import Target

if TYPE_CHECKING:
    from ckgen_emulator.choose import Place
    from ckgen_emulator.fmha.emulate import FmhaResult


def emulated(params: Mapping[str, Any], target: Target, place: Place, archs: Mapping[str, ArchSpec]) -> FmhaResult:
    """One run of the kernel that --kernel means; UsageError for words that mean nothing."""
    from ckgen.build.cache import default_cache
    from ckgen_emulator.bindings import Options
    from ckgen_emulator.choose import choose_instance
    from ckgen_emulator.fmha import emulate
    from ckgen_emulator.fmha.asked import AskedFmha, problem_of
    from ckgen_emulator.gemm.problem import Data

    data = Data(params["data"] or Data.SMALL_INTEGERS.value)
    asked = AskedFmha(params["sizes"], params["lengths"], params["splits"] or 1, params["seed"], data)
    with progress("reading kernel sets") as line:
        instance, _ = choose_instance("fmha", params["kernel"], target, place, archs, default_cache())
        problem = problem_of(instance.signature, asked)
        trace = str(params["trace"] or "")
        options = Options(checked=not params["unchecked"], seed=params["seed"], threads=params["threads"], trace=trace)
        trace_wrong = params["trace_wrong"]
        return emulate.emulate_fmha(instance, target.gfx, problem, options, trace_wrong=trace_wrong, progress=line)
