"""`ckgen heuristic fit`: a decision rule from the measured winners of a module."""

from __future__ import annotations

from typing import Any

import click

from ckgen.cli.errors import Command
from ckgen.cli.heuristic_input import growth_of, growth_options, measurements, rule_options, tables_options
from ckgen.cli.options import PATH, quiet_option
from ckgen.cli.output import plural, progress, say, show_json


@click.command(cls=Command, name="fit", short_help="Fit a decision rule to the measured winners of a module.")
@rule_options
@tables_options
@growth_options
@click.option("--out", type=PATH, metavar="JSON", help="Write the rule there.  [default: print it]")
@quiet_option
def command(**params: Any) -> int:
    """Fit a decision rule to the measured winners of a module, or to every candidate's times of a signature.

    MODULE is a module of tables, or with --journal a signature such as gemm_fp32_rcr. The same measurements and options
    give the same bytes. Tables need scikit-learn: pip install 'ckgen[learn]'.
    """
    from ckgen.learn.fit import fit
    from ckgen.learn.rule_file import devices_of, files_of, rule_document, write_rule

    found, growth = measurements(params), growth_of(params)
    rows = found.rows
    with progress("fitting"):
        rule, fitted = fit(rows, found.subject, found.arch, growth)
    provenance = devices_of(rows) if found.is_timed else files_of(rows)
    document = rule_document(found.subject, found.arch, fitted, rows, growth, provenance)
    if params["out"] is None:
        show_json(document)
    else:
        write_rule(params["out"], document)
        layers = len({one.group for one in rows})
        say(
            f"{params['out']}: {plural(len(rule.nodes), 'condition')}, {plural(len(rule.leaves), 'kernel')}, "
            f"of {plural(len(rows), 'row')} and {plural(layers, 'layer')}"
        )
    return 0
