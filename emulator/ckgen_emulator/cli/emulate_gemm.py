"""`ckgen emulate gemm`, `grouped_gemm` and `moe`: a kernel and its problem, as the options say them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ckgen.cli.output import progress, say
from ckgen.model.arch import ArchSpec
from ckgen.model.errors import UsageError
from ckgen.model.target import Target

if TYPE_CHECKING:
    from ckgen_emulator.choose import Place
    from ckgen_emulator.gemm.kernel import GemmKernel
    from ckgen_emulator.gemm.problem import GemmProblem
    from ckgen_emulator.gemm.result import GemmResult

_SHAPE = re.compile(r"([1-9][0-9]{0,8})x([1-9][0-9]{0,8})x([1-9][0-9]{0,8})")
_NEEDED = {"gemm": ("shape",), "grouped_gemm": ("groups",), "moe": ("shape", "experts", "top_k")}


def emulated(params: Mapping[str, Any], target: Target, place: Place, archs: Mapping[str, ArchSpec]) -> GemmResult:
    """One run of the kernel that --kernel means; UsageError for words that mean nothing."""
    from ckgen.build.amd.toolchain import load
    from ckgen.build.cache import default_cache
    from ckgen.progress import Progress
    from ckgen_emulator.choose import choose_kernel
    from ckgen_emulator.gemm.build import default_context
    from ckgen_emulator.gemm.drive import Request, RunOptions, emulate
    from ckgen_emulator.gemm.runtime import build_runtime

    op = params["operation"]
    for name in _NEEDED[op]:
        if not params[name]:
            raise UsageError(f"--{name.replace('_', '-')} is missing")
    sizes = _sizes(params)
    toolchain = load()
    with progress("reading tables"):
        kernel = choose_kernel(params["kernel"], target, place, archs, default_cache(), op)
    problem = _problem(params, kernel, sizes)
    line = Progress()

    def tell(text: str) -> None:
        line.clear()
        say(text)

    context = default_context(toolchain, archs, tell, line)
    options = RunOptions(
        checked=not params["unchecked"],
        threads=params["threads"],
        trace=params["trace"],
        trace_wrong=params["trace_wrong"],
    )
    try:
        line.step("preparing the emulator")
        runtime = build_runtime(tell, line.step)
        line.step("emulating")
        (result,) = emulate([Request(kernel, target.cu_num, (problem,))], runtime, context, options)
    finally:
        line.clear()
    return result


def _sizes(params: Mapping[str, Any]) -> tuple[Any, ...]:
    """M, N and K, or the groups."""
    if params["operation"] == "grouped_gemm":
        return _groups(params)
    sizes = _SHAPE.fullmatch(params["shape"])
    if sizes is None:
        raise UsageError(f"--shape takes MxNxK, as in 64x128x256; got '{params['shape']}'")
    return tuple(map(int, sizes.groups()))


def _groups(params: Mapping[str, Any]) -> tuple[Any, ...]:
    from ckgen.families.common.asked import Asked
    from ckgen.families.grouped_gemm.asked import asked_groups

    op = params["operation"]
    groups = asked_groups(op, Asked(op, groups=params["groups"])).sizes
    if params["rows_on_device"] and len({(one.n, one.k) for one in groups}) > 1:
        raise UsageError("--rows-on-device: such groups have one N and one K")
    return groups


def _problem(params: Mapping[str, Any], kernel: GemmKernel, sizes: tuple[Any, ...]) -> GemmProblem:
    from ckgen.model.groups import Routing
    from ckgen.model.tuned_row import Shape
    from ckgen_emulator.gemm.problem import Data, GemmProblem, data_of

    op, seed, signature = params["operation"], params["seed"], kernel.instance.signature
    k_batch, data = params["k_batch"] or 1, Data(params["data"] or Data.SMALL_INTEGERS.value)
    if data not in data_of(kernel.instance, k_batch):
        raise UsageError(
            f"--data {data.value}: this kernel rounds parts of C one by one and adds them in any order, so that many "
            f"results are right; ask for {Data.SMALL_INTEGERS.value}, of which only one is"
        )
    if op == "grouped_gemm":
        return GemmProblem.grouped(sizes, k_batch, seed, data, on_device=params["rows_on_device"])
    if op == "moe":
        routing = Routing(params["experts"], params["top_k"])
        return GemmProblem(Shape(0, *sizes), 1, seed, data, routing=routing, block_m=_block_m(params, kernel))
    if params["batch"] and not signature.batched:
        raise UsageError(f"--batch: {signature} is not batched")
    batch = (params["batch"] or 1) if signature.batched else 0
    return GemmProblem(Shape(batch, *sizes), k_batch, seed, data)


def _block_m(params: Mapping[str, Any], kernel: GemmKernel) -> int:
    """What is asked; else a layer sorts by itself, and a part's tokens are sorted for its own tile."""
    from ckgen.families.gemm.enums import MoePart

    is_layer = kernel.instance.signature.moe.part is MoePart.LAYER
    return params["block_m"] or (0 if is_layer else int(kernel.instance.config.macro_tile.m))
