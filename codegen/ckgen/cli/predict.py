"""`ckgen predict`: times of GEMMs that nobody measured, and how far such predictions are from measured ones."""

from __future__ import annotations

import click

from ckgen.cli.groups import Entry, LazyGroup

COMMANDS = {
    "gemm": Entry("ckgen.cli.predict_gemm", "Predict every kernel's time for one problem."),
    "eval": Entry("ckgen.cli.predict_eval", "Say how far predicted times are from those of tables."),
    "fit": Entry("ckgen.cli.predict_fit", "Fit the constants of a module on an arch to tables."),
    "calibrate": Entry("ckgen.cli.predict_calibrate", "Fit the constants of a CPU to a tune's journal."),
}


@click.group(cls=LazyGroup, name="predict", entries=COMMANDS)
def command() -> None:
    """Predict times of GEMMs from what is known of a chip and of a kernel."""
