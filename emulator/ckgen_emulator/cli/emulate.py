"""`ckgen emulate`: GPU code executed on the CPU and checked while it runs: a GEMM, or any kernel of a code object."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from ckgen.cli.errors import Command
from ckgen.cli.option_values import kernel_sets_of, targets_of, tuning_or_shipped
from ckgen.cli.options import PATH, json_option, kernel_set_option, quiet_option, target_option, tuning_option
from ckgen.cli.output import progress, show, show_json
from ckgen.cli.shared import is_flag_given
from ckgen.model.arch import ArchSpec
from ckgen.model.errors import UsageError
from ckgen.model.target import Target

FINDINGS = 1
_OPERATIONS = {
    "gemm": ("shape", "batch", "k_batch", "verbose"),
    "grouped_gemm": ("groups", "rows_on_device", "k_batch", "verbose"),
    "moe": ("shape", "experts", "top_k", "block_m", "verbose"),
    "fmha": ("sizes", "lengths", "splits"),
}
"""What each has of its own."""
_OF_ALL = ("target", "data", "tuning", "kernel_sets", "trace_wrong")
_OF_OBJECT = ("args", "outputs")
_GROUPS = "Groups of a grouped GEMM, as in 128x256x512,3*64x256x512."
_LENGTHS = "Lengths of sequences: 5x66,3*1x128; of append rows before and new: 40+1,0+16."


@click.command(cls=Command, name="emulate", short_help="Run GPU code on the CPU, and check it while it runs.")
@click.argument("operation", required=False, type=click.Choice([*_OPERATIONS]), metavar="[OP]")
@click.argument("sizes", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--kernel", required=True, metavar="NAME", help="The kernel; of an OP also a glob that fits one.")
@target_option("The simulated GPU, such as gfx950 or gfx942:304.", required=False)
@click.option("--shape", metavar="MxNxK", help="The problem's sizes; of moe tokens, and N and K of its first product.")
@click.option("--batch", type=click.IntRange(1, 65535), metavar="B", help="Matrices, where the kernel is batched.")
@click.option("--k-batch", type=click.IntRange(1, 4096), metavar="K", help="Splits of K.  [default: 1]")
@click.option("--groups", metavar="MxNxK,…", help=_GROUPS)
@click.option("--rows-on-device", is_flag=True, help="Only the device knows how many rows each group has.")
@click.option("--experts", type=click.IntRange(1, 65535), metavar="N", help="Experts of an MoE problem.")
@click.option("--top-k", type=click.IntRange(1, 65535), metavar="N", help="Experts that each token goes to.")
@click.option("--block-m", type=click.IntRange(1), metavar="M", help="The rows that sorted tokens are padded to.")
@click.option("--lengths", metavar="QxK,…", help=_LENGTHS)
@click.option("--splits", type=click.IntRange(1, 4096), metavar="N", help="Equal splits of the keys.  [default: 1]")
@click.option("--data", type=click.Choice(["small-integers", "random"]), help="Operands.  [default: small-integers]")
@tuning_option
@kernel_set_option
@click.option("--code-object", type=PATH, metavar="FILE", help="A linked code object that holds --kernel.")
@click.option("--args", type=PATH, metavar="YAML", help="How to launch --code-object: see docs/emulator.md.")
@click.option("--outputs", type=PATH, metavar="DIR", help="Where to write the arrays that --args calls outputs.")
@click.option("--seed", type=click.IntRange(0), default=0, metavar="S", help="Of data and schedule; 0: plain order.")
@click.option("--threads", type=click.IntRange(1, 1024), default=1, metavar="N", help="Threads of the emulator.")
@click.option("--unchecked", is_flag=True, help="Only compute: faster, and nothing is found.")
@click.option("--stats", is_flag=True, help="Show instructions by class, bytes, bank conflicts, occupancy.")
@click.option("--verbose", is_flag=True, help="Show how small an error in the result would have been seen.")
@click.option("--trace", type=PATH, metavar="FILE", help="Write every executed instruction to a file.")
@click.option("--trace-wrong", is_flag=True, help="Find what wrote the first wrong element, in a second run.")
@quiet_option
@json_option
def command(**params: Any) -> int:
    """Run GPU code on the CPU, and check it while it runs.

    OP is gemm, grouped_gemm, moe or fmha, whose sizes are KEY=VALUE as in `ckgen explain`. What is missing of the
    kernel is built. A GEMM, groups or experts run through ckgen's own dispatcher on a simulated GPU and with the host
    twin, attention as its own launches; all are held against the exact result. With --code-object any kernel runs that
    --args says how to launch. Exit 1 for findings and wrong results.
    """
    if (params["operation"] is None) == (params["code_object"] is None):
        raise UsageError(f"say `ckgen emulate OP`, one of {', '.join(_OPERATIONS)}, or --code-object")
    _refuse_others(params)
    if params["trace"] is not None:
        params["trace"].write_bytes(b"")  # every launch appends to it
    result, text = _code_object(params) if params["code_object"] is not None else _operation(params)
    if params["as_json"]:
        show_json(result.to_json(stats=params["stats"]))
    else:
        show(text(result))
    return 0 if result.ok else FINDINGS


def _refuse_others(params: Mapping[str, Any]) -> None:
    """UsageError for what another operation has, or a code object."""
    op = params["operation"]
    own = {*_OPERATIONS[op], *_OF_ALL} if op else {*_OF_OBJECT}
    for name in (*_OF_ALL, *(name for names in _OPERATIONS.values() for name in names), *_OF_OBJECT):
        if not is_flag_given(name) or name in own:
            continue
        said = {"sizes": f"'{next(iter(params['sizes']), '')}'", "kernel_sets": "--kernel-set"}
        owners = [f"`ckgen emulate {one}`" for one, names in _OPERATIONS.items() if name in names]
        owners = owners or ["--code-object" if name in _OF_OBJECT else "`ckgen emulate OP`"]
        raise UsageError(f"{said.get(name, '--' + name.replace('_', '-'))} goes with {' or '.join(owners)}")


def _operation(params: dict[str, Any]) -> tuple[Any, Any]:
    """The run's result, and what writes it for people."""
    from ckgen.families.registry import FAMILIES
    from ckgen.specs.archs import load_archs
    from ckgen_emulator.choose import Place
    from ckgen_emulator.cli import emulate_fmha, emulate_gemm, emulate_text

    if not params["target"]:
        raise UsageError("--target is missing")
    archs, op = load_archs(), params["operation"]
    target = _target(params["target"], archs)
    sets = kernel_sets_of(params["kernel_sets"], FAMILIES[op].planned_with)
    place = Place(tuning_or_shipped(params["tuning"]), sets)
    if op == "fmha":
        result: Any = emulate_fmha.emulated(params, target, place, archs)
        return result, lambda one: emulate_text.fmha_text(one, stats=params["stats"])
    result = emulate_gemm.emulated(params, target, place, archs)
    return result, lambda one: emulate_text.gemm_text(one, stats=params["stats"], verbose=params["verbose"])


def _target(text: str, archs: Mapping[str, ArchSpec]) -> Target:
    from ckgen_emulator.isa import executed_archs

    found = targets_of([text], archs, os.environ)
    if len(found) != 1 or found[0].gfx not in executed_archs():
        raise UsageError(
            f"--target takes one of {', '.join(executed_archs())}, with its CU count or without; got '{text}'"
        )
    return found[0]


def _code_object(params: dict[str, Any]) -> tuple[Any, Any]:
    """The run's result, and what writes it for people."""
    from ckgen_emulator.bindings import Options
    from ckgen_emulator.cli.emulate_text import kernel_text
    from ckgen_emulator.code_object.arguments import read_arguments
    from ckgen_emulator.code_object.run import run_kernel

    if params["args"] is None:
        raise UsageError("--args is missing")
    options = Options(
        checked=not params["unchecked"],
        seed=params["seed"],
        threads=params["threads"],
        trace=str(params["trace"] or ""),
    )
    file: Path = params["code_object"]
    arguments = read_arguments(params["args"])
    with progress("reading the code object") as line:
        result = run_kernel(file, params["kernel"], arguments, options, params["outputs"], line.step)
    return result, lambda one: kernel_text(one, stats=params["stats"])
