"""`ckgen emulate`: GPU code executed on the CPU and checked while it runs: a GEMM, or any kernel of a code object."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckgen.cli.errors import Command
from ckgen.cli.options import PATH, json_option, targets_of, tuning_option, tuning_or_shipped
from ckgen.cli.output import progress, say, show, show_json
from ckgen.model.errors import UsageError

if TYPE_CHECKING:
    from ckgen.model.target import Target
    from ckgen_emulator.gemm.result import GemmResult

FINDINGS = 1
_SHAPE = re.compile(r"([1-9][0-9]{0,8})x([1-9][0-9]{0,8})x([1-9][0-9]{0,8})")
_OF_GEMM = ("target", "shape", "batch", "k_batch", "data", "tuning", "verbose")
_OF_OBJECT = ("args", "outputs")


@click.command(cls=Command, name="emulate", short_help="Run GPU code on the CPU, and check it while it runs.")
@click.argument("operation", required=False, type=click.Choice(["gemm"]), metavar="[gemm]")
@click.option("--kernel", required=True, metavar="NAME", help="The kernel; of a GEMM also a glob that fits one.")
@click.option("--target", metavar="TARGET", help="The simulated GPU, such as gfx950 or gfx942:304.")
@click.option("--shape", metavar="MxNxK", help="The problem's sizes.")
@click.option("--batch", type=click.IntRange(1, 65535), metavar="B", help="Matrices, where the kernel is batched.")
@click.option("--k-batch", type=click.IntRange(1, 4096), metavar="K", help="Splits of K.  [default: 1]")
@click.option("--data", type=click.Choice(["small-integers", "random"]), help="Operands.  [default: small-integers]")
@tuning_option
@click.option("--code-object", type=PATH, metavar="FILE", help="A linked code object that holds --kernel.")
@click.option("--args", type=PATH, metavar="YAML", help="How to launch --code-object: see docs/emulator.md.")
@click.option("--outputs", type=PATH, metavar="DIR", help="Where to write the arrays that --args calls outputs.")
@click.option("--seed", type=click.IntRange(0), default=0, metavar="S", help="Of data and schedule; 0: plain order.")
@click.option("--threads", type=click.IntRange(1, 1024), default=1, metavar="N", help="Threads of the emulator.")
@click.option("--unchecked", is_flag=True, help="Only compute: faster, and nothing is found.")
@click.option("--stats", is_flag=True, help="Show instructions by class, bytes, bank conflicts, occupancy.")
@click.option("--verbose", is_flag=True, help="Show how small an error in the result would have been seen.")
@click.option("--trace", type=PATH, metavar="FILE", help="Write every executed instruction to a file.")
@json_option
def command(**params: Any) -> int:
    """Run GPU code on the CPU, and check it while it runs.

    `ckgen emulate gemm` builds what is missing of the kernel, runs the problem through ckgen's own dispatcher on a
    simulated GPU and with the host twin, and compares both with the exact result. With --code-object any kernel runs
    that --args says how to launch. Exit 1 for findings and wrong results.
    """
    from ckgen.specs.archs import load_archs

    if (params["operation"] is None) == (params["code_object"] is None):
        raise UsageError("say `ckgen emulate gemm`, or --code-object")
    foreign = _OF_OBJECT if params["operation"] else _OF_GEMM
    given = [name for name in foreign if params[name]]
    if given:
        other = "--code-object" if params["operation"] else "`ckgen emulate gemm`"
        raise UsageError(f"--{given[0].replace('_', '-')} goes with {other}")
    if params["code_object"] is not None:
        return _code_object(params)
    result = _gemm(params, load_archs())
    if params["as_json"]:
        show_json(result.to_json(stats=params["stats"]))
    else:
        from ckgen_emulator.cli.emulate_text import gemm_text

        show(gemm_text(result, stats=params["stats"], verbose=params["verbose"]))
    return 0 if result.ok else FINDINGS


def _gemm(params: dict[str, Any], archs: Any) -> GemmResult:
    from ckgen.build.amd.toolchain import load
    from ckgen.build.cache import default_cache
    from ckgen.build.progress import ProgressLine
    from ckgen.model.tuned_row import Shape
    from ckgen_emulator.gemm.build import default_context
    from ckgen_emulator.gemm.choose import choose_kernel
    from ckgen_emulator.gemm.drive import Request, RunOptions, emulate
    from ckgen_emulator.gemm.problem import Data, GemmProblem, data_of
    from ckgen_emulator.gemm.runtime import build_runtime

    for name in ("target", "shape"):
        if not params[name]:
            raise UsageError(f"--{name} is missing")
    sizes = _SHAPE.fullmatch(params["shape"])
    if sizes is None:
        raise UsageError(f"--shape takes MxNxK, as in 64x128x256; got '{params['shape']}'")
    target = _target(params["target"], archs)
    toolchain = load()
    with progress("reading tables"):
        kernel = choose_kernel(params["kernel"], target, tuning_or_shipped(params["tuning"]), archs, default_cache())
    signature = kernel.instance.signature
    if params["batch"] and not signature.batched:
        raise UsageError(f"--batch: {signature} is not batched")
    batch = (params["batch"] or 1) if signature.batched else 0
    k_batch, data = params["k_batch"] or 1, Data(params["data"] or Data.SMALL_INTEGERS.value)
    if data not in data_of(kernel.instance, k_batch):
        raise UsageError(
            f"--data {data.value}: this kernel rounds parts of C one by one and adds them in any order, so that many "
            f"results are right; ask for {Data.SMALL_INTEGERS.value}, of which only one is"
        )
    problem = GemmProblem(Shape(batch, *map(int, sizes.groups())), k_batch, params["seed"], data)
    if params["trace"] is not None:
        params["trace"].write_bytes(b"")
    line = ProgressLine()

    def tell(text: str) -> None:
        line.clear()
        say(text)

    context = default_context(toolchain, archs, tell, line)
    options = RunOptions(checked=not params["unchecked"], threads=params["threads"], trace=params["trace"])
    try:
        request = Request(kernel, target.cu_num, (problem,))
        line.step("preparing the emulator")
        runtime = build_runtime(tell, line.step)
        line.step("emulating")
        (result,) = emulate([request], runtime, context, options)
    finally:
        line.clear()
    return result


def _target(text: str, archs: Any) -> Target:
    from ckgen_emulator.isa import executed_archs

    found = targets_of([text], archs, os.environ)
    if len(found) != 1 or found[0].gfx not in executed_archs():
        raise UsageError(
            f"--target takes one of {', '.join(executed_archs())}, with its CU count or without; got '{text}'"
        )
    return found[0]


def _code_object(params: dict[str, Any]) -> int:
    from ckgen_emulator.bindings import Options
    from ckgen_emulator.cli.emulate_text import kernel_text
    from ckgen_emulator.code_object.arguments import read_arguments
    from ckgen_emulator.code_object.run import run_kernel

    if params["args"] is None:
        raise UsageError("--args is missing")
    options = Options(
        checked=not params["unchecked"], seed=params["seed"], threads=params["threads"], trace=_text(params["trace"])
    )
    file: Path = params["code_object"]
    result = run_kernel(file, params["kernel"], read_arguments(params["args"]), options, params["outputs"])
    if params["as_json"]:
        show_json(result.to_json(stats=params["stats"]))
    else:
        show(kernel_text(result, stats=params["stats"]))
    return 0 if result.ok else FINDINGS


def _text(path: Path | None) -> str:
    return "" if path is None else str(path)
