"""`ckgen list`: archs, ops, instances, profiles, rules, kernel-name forms, attention problems of models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from ckgen.cli.errors import Command
from ckgen.cli.options import choosing_options, quiet_option
from ckgen.cli.output import columns, show, show_json
from ckgen.cli.shared import is_flag_given
from ckgen.model.errors import UsageError

Rows = list[dict[str, Any]]


@click.command(cls=Command, name="list", short_help="List archs, ops, instances, profiles, rules, names …")
@click.argument("what", type=click.Choice(["archs", "ops", "instances", "profiles", "rules", "names", "fmha-problems"]))
@click.option("--module", metavar="NAME", help="For names: only this module's forms.")
@click.option("--count", is_flag=True, help="For profiles: how much each keeps of the instances.")
@choosing_options
@quiet_option
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def command(what: str, module: str | None, count: bool, as_json: bool, **choosing: Any) -> int:
    """List archs, ops, instances, profiles, rules, kernel-name forms, or attention problems of public models.

    Instances are those of the shipped tables and of the built-in search spaces on every arch; --tuning and --kernel-set
    say others, the other options leave some out. With --count or any of these options profiles are counted over the
    same instances, which takes seconds the first time; with any of these attention problems are shown with what answers
    each.
    """
    if module is not None and what != "names":
        raise click.UsageError(f"--module goes with 'names', not with '{what}'")
    if count and what != "profiles":
        raise click.UsageError(f"--count goes with 'profiles', not with '{what}'")
    chosen = any(map(is_flag_given, choosing))
    if what == "instances" or (what == "profiles" and (chosen or count)) or (what == "fmha-problems" and chosen):
        document, text = _planned(what, choosing)
        if as_json:
            show_json(document)
        else:
            show(text)
        return 0
    if chosen:
        raise click.UsageError(f"only 'instances', 'profiles' and 'fmha-problems' can be chosen from, not '{what}'")
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

    return [text(value) for key, value in row.items() if key != "config"]


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
    from ckgen.families.common.problem_finding import messages
    from ckgen.families.rules import all_rules

    configs = [
        {"id": rule.id, "judges": "config", "backend": str(rule.backend), "text": rule.contract, "source": rule.source}
        for rule in all_rules()
    ]
    problems = [
        {"id": rule, "judges": "problem", "backend": None, "text": text, "source": None}
        for rule, text in messages().items()
    ]
    return [*configs, *problems]


def _names(module: str | None) -> Rows:
    from ckgen.families.tables import name_forms, table_modules

    if module is not None and module not in table_modules():
        raise UsageError(f"unknown module '{module}' (known: {', '.join(table_modules())})")
    rows = [
        {"module": name, "library": library, "form": form}
        for name in table_modules()
        if module in (None, name)
        for library, form in name_forms(name)
    ]
    if module is not None and not rows:
        raise UsageError(f"module '{module}' has no kernel names of its own: its kernels are external")
    return rows


def _fmha_problems() -> Rows:
    from ckgen.cli.list_fmha import fmha_problems

    return fmha_problems()


def _profiles() -> Rows:
    from ckgen.plan.profile_file import shipped_names, shipped_profile

    return [{"name": name, "about": shipped_profile(name).about} for name in shipped_names()]


def _planned(what: str, choosing: dict[str, Any]) -> tuple[Any, str]:
    """The document and the text."""
    if what == "fmha-problems":
        from ckgen.cli.list_fmha import answered, answered_text

        rows = answered(choosing)
        return rows, answered_text(rows)
    if what == "instances":
        from ckgen.cli.list_instances import instances, instances_text

        found = instances(choosing)
        return found, instances_text(found)
    from ckgen.cli.list_profiles import profiles, profiles_text

    counts = profiles(choosing)
    return counts, profiles_text(counts)


_LISTS: dict[str, Callable[[], Rows]] = {
    "archs": _archs, "ops": _ops, "profiles": _profiles, "rules": _rules, "fmha-problems": _fmha_problems,
}  # fmt: skip
