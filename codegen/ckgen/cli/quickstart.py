"""`ckgen quickstart`: the shipped tables generated, built, selected, run and verified, as one table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ckgen.cli.errors import Command
from ckgen.cli.options import quiet_option
from ckgen.cli.output import columns, plural, progress, show, show_json

_NEXT = """\
what next
  {folder}/generated                      the C++ that was generated: lookup headers, instances, registration
  ckgen lookup gemm --target gfx942:304 --signature a8w8_blockscale --shape 100,5120,2048
  ckgen explain gemm --target gfx942:304 --signature a8w8_blockscale --shape 100,5120,2048
  ckgen generate --targets "gfx942;gfx950" --out my_kernels     your own library; docs/cmake.md for CMake"""


@click.command(
    cls=Command, name="quickstart", short_help="build, run and verify real problems on simulated GPUs and this CPU"
)
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("ckgen_quickstart"),
    show_default=True,
    help="where the sources and the build go",
)
@click.option("--verbose", is_flag=True, help="also how small an error would have been seen, per problem")
@quiet_option
@click.option("--json", "as_json", is_flag=True, help="one JSON document on stdout")
def command(folder: Path, verbose: bool, as_json: bool) -> int:
    """Generate from the shipped tables for three AMD GPUs and this CPU, build with CMake, then select, run and verify.

    GPUs are simulated: their instances' host twins run. Exit 1 if a result is wrong.
    """
    from ckgen.quickstart.run import prepare

    with progress("planning") as told:
        session = prepare(folder, told.step)
        lines = []
        for line in session.lines():
            lines.append(line)
            told.count(len(lines), session.count)
    explained = lines[4]
    trail = session.explain(explained.target, explained.problem)
    wrong = [line for line in lines if not line.outcome.ok]
    if as_json:
        show_json({"results": [_document(line) for line in lines], "explain": trail, "wrong": len(wrong)})
    else:
        show(columns([_HEADER, *(_cells(line) for line in lines)]))
        show(f"\n{plural(len(lines), 'problem')}, {len(wrong)} wrong; every element of C was compared\n")
        if verbose:
            show(columns([_SENSITIVITY, *(_sensitivity(line) for line in lines if line.outcome.sensitivity)]) + "\n")
        show(trail.rstrip())
        show("\n" + _NEXT.format(folder=folder))
    return 1 if wrong else 0


_HEADER = ("target", "problem", "B x M x N x K", "tier", "k_batch", "max error", "of bound", "ms", "instance")


def _cells(line: Any) -> tuple[str, ...]:
    outcome, choice = line.outcome, line.outcome.choice
    sizes = line.problem.shape
    shape = f"{f'{sizes.batch} x ' if sizes.batch else ''}{sizes.m} x {sizes.n} x {sizes.k}"
    if choice.instance is None:
        return (str(line.target), line.problem.what, shape, str(choice.tier), "-", "-", "-", "-", choice.reason)
    return (
        str(line.target),
        line.problem.what,
        shape,
        str(choice.tier),
        str(choice.k_batch),
        f"{outcome.max_error:.2g}",
        f"{outcome.excess:.2f}{'' if outcome.ok else ' WRONG'}",
        f"{outcome.milliseconds:.2f}",
        choice.instance,
    )


_SENSITIVITY = ("target", "problem", "bound/|C| median", "worst")
"""A bound of 0 asks for equality."""


def _sensitivity(line: Any) -> tuple[str, ...]:
    found = line.outcome.sensitivity
    return (str(line.target), line.problem.what, f"{found.median:.2g}", f"{found.worst:.2g}")


def _document(line: Any) -> dict[str, Any]:
    outcome, choice, shape = line.outcome, line.outcome.choice, line.problem.shape
    seen = outcome.sensitivity
    return {
        "target": str(line.target),
        "problem": line.problem.what,
        "signature": line.signature.canonical(),
        "shape": {"batch": shape.batch, "m": shape.m, "n": shape.n, "k": shape.k},
        "tier": str(choice.tier),
        "instance": choice.instance,
        "k_batch": choice.k_batch if choice.instance else None,
        "external": {"library": choice.external[0], "kernel": choice.external[1]} if choice.external else None,
        "reason": choice.reason,
        "max_error": outcome.max_error,
        "error_of_bound": outcome.excess,
        "sensitivity": {"median": seen.median, "worst": seen.worst} if seen else None,
        "milliseconds": outcome.milliseconds,
        "ok": outcome.ok,
    }
