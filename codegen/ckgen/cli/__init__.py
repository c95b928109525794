"""The command line: every sub-command in a file of its own, imported when it is called."""

from __future__ import annotations

import click

from ckgen.cli.groups import Entry, RootGroup
from ckgen.model.collector import keep_what_is_made
from ckgen.version import __version__

__all__ = ["cli", "main"]

COMMANDS = {
    "quickstart": Entry("ckgen.cli.quickstart", "Build, run and verify real problems on simulated GPUs and this CPU."),
    "generate": Entry("ckgen.cli.generate", "Write the C++ library for a list of targets."),
    "validate": Entry("ckgen.cli.validate", "Check tuning tables and say what becomes of every row."),
    "lookup": Entry("ckgen.cli.lookup", "Say which instance answers a problem on a target."),
    "explain": Entry("ckgen.cli.explain", "Show the whole trail of a lookup, with what was rejected and why."),
    "list": Entry("ckgen.cli.listing", "List archs, ops, instances, profiles, rules, names …"),
    "export": Entry("ckgen.cli.export", "Print every instance as one JSON document."),
    "tune": Entry("ckgen.cli.tune", "Time every candidate, and write the table of the winners."),
    "shapes": Entry("ckgen.cli.shapes", "Say what a model asks of kernels, and what tables cover of it."),
    "report": Entry("ckgen.cli.report", "Pages of what tables cover, and of what tunes found."),
    "diff": Entry("ckgen.cli.diff", "Say what tables choose otherwise than others did."),
    "record": Entry("ckgen.cli.record", "Collect the shapes that no table holds: from logs and lists."),
    "heuristic": Entry("ckgen.cli.heuristic", "Fit, judge and show decision rules, which answer where no table does."),
    "predict": Entry("ckgen.cli.predict", "Predict times of GEMMs from what is known of a chip and of a kernel."),
    "kernel-set": Entry("ckgen.cli.kernel_set", "Make kernel sets of what other tools ask for."),
    "tables": Entry("ckgen.cli.tables", "Mend, join and count tuning tables."),
    "toolchain": Entry("ckgen.cli.toolchain", "Prepare the compilers for devices."),
    "build": Entry("ckgen.cli.build", "Compile GPU kernels, and judge what is in them."),
    "amd-check": Entry("ckgen.cli.amd_check", "Compile and judge the AMD kernels that the tables name."),
    "inspect": Entry("ckgen.cli.inspect", "Show what is in AMDGPU code objects, and judge it."),
    "emulate": Entry(None, "Run GPU code on the CPU, and check it while it runs."),
    "fmha": Entry("ckgen.cli.fmha", "Say what an attention problem means."),
    "fuzz": Entry("ckgen.cli.fuzz", "Run random problems and hold them against the definition."),
    "bench": Entry("ckgen.cli.bench", "Time the kernels that can run a problem, every one verified."),
    "config": Entry("ckgen.cli.config", "Say what shared options are, and where each is from."),
    "env": Entry("ckgen.cli.env", "Show versions, tools and what this machine is."),
    "schema": Entry("ckgen.cli.schema", "Print the JSON Schema of an input or an output."),
}
CONFIG_HELP = "What answers options that are left out.  [default: ckgen.toml or pyproject.toml, here or above]"


@click.group(
    cls=RootGroup,
    name="ckgen",
    entries=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
@click.version_option(__version__, prog_name="ckgen", message="%(prog)s %(version)s")
@click.option("--config", envvar="CKGEN_CONFIG", metavar="TOML|none", help=CONFIG_HELP)
def cli(config: str | None) -> None:
    """Generate a C++ kernel library and its dispatcher from arch specs and tuning tables.

    Exit codes: 0 done, 1 drift or findings, 2 usage, 3 invalid input, 4 internal error.
    """


def main() -> int:
    """The entry point; leaves by SystemExit with the command's exit code."""
    keep_what_is_made()
    cli.main(prog_name="ckgen")
    return 0
