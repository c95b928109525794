"""`ckgen list instances`: what a generation with these options would hold, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckgen.cli.option_values import backends_of, kernel_sets_of, ops_of, profiles_of, targets_or_env, tuning_or_shipped
from ckgen.cli.output import columns, plural, progress
from ckgen.families.gemm.naming import ops_word
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.kernel_sets import SHIPPED, shipped_set_files
from ckgen.model.target import Target
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import demand_right, make_plan
from ckgen.specs.archs import load_archs

if TYPE_CHECKING:
    from ckgen.plan.model import AnyInstance, GenerationPlan

Params = Mapping[str, Any]


def instances(params: Params) -> dict[str, Any]:
    """Every instance and their counts per op, operand types and arch."""
    found = plan_of(options_of(params)).instances
    per = Counter((_op(one), _dtypes(one.signature), arch) for one in found for arch in one.archs)
    return {
        "instances": [_row(instance) for instance in found],
        "counts": {
            "instances": len(found),
            "ops": counted(_op(one) for one in found),
            "dtypes": counted(_dtypes(one.signature) for one in found),
            "archs": counted(arch for one in found for arch in one.archs),
            "backends": counted(str(one.backend) for one in found),
            "per": [
                {"op": op, "dtypes": dtypes, "arch": arch, "instances": count}
                for (op, dtypes, arch), count in sorted(per.items())
            ],
        },
    }


def instances_text(document: Mapping[str, Any]) -> str:
    """A line per instance, then a table of the counts: a line per op and operand types, a column per arch."""
    rows = [
        (one["name"], one["id"], one["op"], one["backend"], ", ".join(one["targets"])) for one in document["instances"]
    ]
    counts = document["counts"]
    archs = list(counts["archs"])
    cells = {(one["op"], one["dtypes"], one["arch"]): str(one["instances"]) for one in counts["per"]}
    kinds = sorted({(one["op"], one["dtypes"]) for one in counts["per"]})
    table = [("op", "dtypes", *archs)]
    table += [(op, dtypes, *(cells.get((op, dtypes, arch), "–") for arch in archs)) for op, dtypes in kinds]
    table += [("all", "", *(str(count) for count in counts["archs"].values()))]
    return "\n".join(filter(None, (columns(rows), columns(table), plural(counts["instances"], "instance"))))


def options_of(params: Params) -> PlanOptions:
    """What `choosing_options` say; without any the shipped tables and sets on every arch."""
    archs = load_archs()
    sets = params["kernel_sets"] or (() if params["tuning"] else tuple(map(Path, SHIPPED)))
    every = tuple(Target(arch.name, arch.default_cu_num) for arch in archs.values())
    return PlanOptions(
        targets=targets_or_env(params["targets"], archs) if params["targets"] else every,
        ops=ops_of(params["ops"]),
        tuning=tuning_or_shipped(params["tuning"]),
        kernel_sets=kernel_sets_of(sets, ops_of(params["ops"])),
        profiles=profiles_of(params["profiles"]),
        kernels=tuple(params["kernels"]),
        signatures=tuple(params["signatures"]),
        backends=backends_of(params["backends"]),
        every_count=not params["targets"],
    )


def plan_of(options: PlanOptions) -> GenerationPlan:
    """The plan; InputError for what is wrong, but for shipped sets of which nothing is left: nobody named them."""
    with progress("reading tables"):
        plan = make_plan(options, load_archs())
    return checked(plan, options)


def checked(plan: GenerationPlan, options: PlanOptions) -> GenerationPlan:
    """The plan; InputError as of `plan_of`."""
    demand_right(plan, frozenset(map(str, shipped_set_files(options.ops))))
    return plan


def _row(instance: AnyInstance) -> dict[str, Any]:
    return {
        "name": instance.name,
        "id": f"{instance.id:016x}",
        "op": _op(instance),
        "signature": instance.signature.canonical(),
        "module": instance.module or None,
        "backend": str(instance.backend),
        "targets": list(instance.archs),
    }


def _op(instance: AnyInstance) -> str:
    """The `--ops` word that asks for it."""
    signature = instance.signature
    return ops_word(signature, instance.config) if isinstance(signature, GemmSignature) else str(signature.op)


def _dtypes(signature: Any) -> str:
    """A's type, and B's where it is another."""
    return str(signature.a) if signature.a is signature.b else f"{signature.a}·{signature.b}"


def counted(words: Any) -> dict[str, int]:
    """How often each word is there, by word."""
    return dict(sorted(Counter(words).items()))
