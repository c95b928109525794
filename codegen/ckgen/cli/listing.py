"""`ckgen list`: archs, ops, instances, rules, kernel-name forms."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ckgen.cli.errors import Command
from ckgen.cli.options import tuning_or_shipped
from ckgen.cli.output import columns, errors_of, progress, show, show_json
from ckgen.model.errors import InputError, UsageError

Rows = list[dict[str, Any]]


@click.command(cls=Command, name="list", short_help="List archs, ops, instances, rules or kernel-name forms.")
@click.argument("what", type=click.Choice(["archs", "ops", "instances", "rules", "names"]))
@click.option("--module", metavar="NAME", help="For names: only this module's forms.")
@click.option("--json", "as_json", is_flag=True, help="One JSON array on stdout.")
def command(what: str, module: str | None, as_json: bool) -> int:
    """List archs, ops, instances, rules or kernel-name forms.

    Instances are those of the built-in search spaces and of the shipped tables, on every arch.
    """
    if module is not None and what != "names":
        raise click.UsageError(f"--module goes with 'names', not with '{what}'")
    rows = _names(module) if what == "names" else _LISTS[what]()
    if as_json:
        show_json(rows)
    else:
        show("\n".join(row["form"] for row in rows) if module else columns([_cells(row) for row in rows]))
    return 0


def _cells(row: dict[str, Any]) -> list[str]:
    def text(value: object) -> str:
        if isinstance(value, list):
            return ", ".join(map(str, value))
        return "–" if value is None or value == "" else str(value)

    return [text(value) for value in row.values()]


def _archs() -> Rows:
    from ckgen.specs.archs import load_archs

    return [
        {
            "name": arch.name,
            "kind": arch.kind.value,
            "family": arch.family,
            "default_cu_num": arch.default_cu_num,
            "cu_nums": list(arch.cu_nums),
            "fp8": arch.fp8_flavour.value if arch.fp8_flavour is not None else None,
            "products": [sku.name for sku in arch.skus],
        }
        for arch in load_archs().values()
    ]


def _ops() -> Rows:
    from ckgen.families.registry import FAMILIES

    return [
        {"name": family.name, "modules": sorted(family.modules), "signatures": list(family.aliases)}
        for family in FAMILIES.values()
    ]


def _rules() -> Rows:
    from ckgen.families.gemm.problem_rules import messages
    from ckgen.rules import all_rules

    configs = [
        {"id": rule.id, "judges": "config", "backend": str(rule.backend), "text": rule.contract, "source": rule.source}
        for rule in all_rules()
    ]
    problems = [
        {"id": rule, "judges": "problem", "backend": None, "text": text, "source": None}
        for rule, text in messages().items()
    ]
    return [*configs, *problems]


def _instances() -> Rows:
    from ckgen.families.gemm import kernel_set
    from ckgen.families.registry import FAMILIES
    from ckgen.model.target import Target
    from ckgen.plan.options import PlanOptions
    from ckgen.plan.planner import make_plan
    from ckgen.specs.archs import load_archs

    archs = load_archs()
    folder = Path(kernel_set.__file__).with_name("kernel_sets")
    options = PlanOptions(
        targets=tuple(Target(arch.name, arch.default_cu_num) for arch in archs.values()),
        ops=frozenset(FAMILIES),
        tuning=tuning_or_shipped(()),
        kernel_sets=tuple(folder / f"{name}.yaml" for name in kernel_set.SHIPPED),
        every_count=True,
    )
    with progress("reading tables"):
        plan = make_plan(options, archs)
    if errors_of(plan.diagnostics):
        raise InputError(errors_of(plan.diagnostics))
    return [
        {
            "name": instance.name,
            "op": "gemm",
            "signature": instance.signature.canonical(),
            "module": instance.module or None,
            "backend": str(instance.backend),
            "targets": list(instance.archs),
        }
        for instance in plan.instances
    ]


def _names(module: str | None) -> Rows:
    from ckgen.families.gemm.grammar import grammars
    from ckgen.families.gemm.modules import modules

    if module is not None and module not in modules():
        raise UsageError(f"unknown module '{module}' (known: {', '.join(modules())})")
    rows = [
        {"module": name, "library": grammar.library, "form": grammar.hint(full=True)}
        for name in modules()
        for grammar in grammars()
        if name in grammar.modules and module in (None, name)
    ]
    if module is not None and not rows:
        raise UsageError(f"module '{module}' has no kernel names of its own: its kernels are external")
    return rows


_LISTS: dict[str, Callable[[], Rows]] = {"archs": _archs, "ops": _ops, "rules": _rules, "instances": _instances}
