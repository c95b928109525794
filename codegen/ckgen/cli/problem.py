"""The problem that `lookup` and `explain` are asked, and a selection as JSON."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ckgen.cli.option_values import (
    assumed_dtype,
    assumptions,
    kernel_sets_of,
    one_target,
    ops_of,
    targets_or_env,
    tuning_or_shipped,
)
from ckgen.cli.options import (
    assume_option,
    beside_option,
    json_option,
    kernel_set_option,
    module_option,
    policy_option,
    quiet_option,
    target_option,
    tuning_option,
)
from ckgen.cli.output import progress, say, say_diagnostics
from ckgen.families.common.asked import Asked
from ckgen.families.common.policy import MPolicy
from ckgen.families.common.query import Query
from ckgen.model.arch import ArchSpec
from ckgen.model.diagnostic import Severity
from ckgen.model.errors import InputError, UsageError
from ckgen.model.selection import Wishes
from ckgen.model.strategy import Strategy
from ckgen.model.target import Target
from ckgen.plan.model import GenerationPlan
from ckgen.plan.options import PlanOptions
from ckgen.plan.select import Selection

if TYPE_CHECKING:
    from ckgen.families.registry import AnyFamily

F = TypeVar("F", bound=Callable[..., Any])

NOT_ANSWERED = 1
_STRATEGY = "How a tile's K is given to workgroups; any leaves it to the dispatcher."
_GROUPS = "Sizes of the groups of a grouped GEMM, as in 128x256x512,3*64x256x512."
_ON_DEVICE = "Groups whose rows only the device knows, at most M each, as in 16:256x4096x7168."
_SHAPE = "The sizes; of a batched signature also B,M,N,K; of an MoE signature tokens, and N and K of its first product."
_BLOCK_M = "The rows that sorted tokens are padded to; any where left out."
_INVARIANT = "Ask for one order of additions for every M."
_MOST = 2**16 - 1


def problem_options(function: F) -> F:
    """The argument OP and the options that say problem, device, tables and kernel sets."""
    for option in (
        json_option,
        quiet_option,
        click.option("--strategy", type=click.Choice([str(s) for s in Strategy]), default="any", help=_STRATEGY),
        click.option("--deterministic", is_flag=True, help="Refuse results that depend on the order of workgroups."),
        click.option("--batch-invariant", is_flag=True, help=_INVARIANT),
        policy_option,
        assume_option,
        module_option,
        kernel_set_option,
        tuning_option,
        beside_option,
        click.option("--batch", metavar="B", help="The batch of a batched signature."),
        click.option("--block-m", type=click.IntRange(1), metavar="M", help=_BLOCK_M),
        click.option("--top-k", type=click.IntRange(0, _MOST), metavar="N", help="Experts that each token goes to."),
        click.option("--experts", type=click.IntRange(0, _MOST), metavar="N", help="Experts of an MoE problem."),
        click.option("--groups-on-device", metavar="COUNT:MxNxK", help=_ON_DEVICE),
        click.option("--groups", metavar="MxNxK,…", help=_GROUPS),
        click.option("--shape", metavar="M,N,K", help=_SHAPE),
        click.option("--signature", metavar="S", help="Such as a8w8_blockscale, gemm_bf16_rcr or fmha_bf16_masked."),
        target_option(),
        click.argument("sizes", nargs=-1, metavar="[KEY=VALUE]..."),
        click.argument("op"),
    ):
        function = option(function)
    return function


def asked_query(params: Mapping[str, Any]) -> Query:
    """The problem on its device against a plan of the tables; UsageError for words that mean nothing."""
    from ckgen.specs.archs import load_archs

    archs, asked = load_archs(), Asked.of(params)
    family = _family(asked.op)
    target = one_target(params["target"], archs)
    signature = family.asked_signature(asked, archs[target.gfx].fp8_flavour)
    problem = family.asked_problem(signature, asked)

    def query(plan: GenerationPlan) -> Query:
        return family.query(plan, target, signature, problem, _wishes(params))

    tuning = tuning_or_shipped(params["tuning"], has_shipped=family.has_shipped_tables)
    plan = _plan(params, archs, target, family, signature.canonical(), tuning)
    if not (loaded := loaded_tables()):
        return query(plan)
    names = {one.name for one in plan.instances}
    beside = query(_plan(params, archs, target, family, signature.canonical(), (*tuning, *loaded)))
    return beside if _is_held(beside, names) else query(plan)


def loaded_tables() -> tuple[Path, ...]:
    """The tables of CKGEN_TABLES, which a program loads when it starts, in their order."""
    return tuple(map(Path, filter(None, os.environ.get("CKGEN_TABLES", "").split(":"))))


def _is_held(loaded: Query, names: Set[str]) -> bool:
    """Whether a program that has loaded tables answers by them: their rows add no instance to its library."""
    from ckgen.plan.select import select

    found = select(loaded).instance
    if found is None or found.name in names:
        say("note: tables: rows of CKGEN_TABLES come before compiled ones")
        return True
    say(f"note: CKGEN_TABLES: a row is left out, its instance is not in the library: {found.name}")
    return False


def _family(op: str) -> AnyFamily:
    """The one that OP names, alone or before a signature."""
    from ckgen.families.registry import FAMILIES

    named = [family for family in FAMILIES.values() if family.signature_in(op) is not None]
    if not named and op not in FAMILIES and (signature := _as_signature(op)):
        raise UsageError(f"'{op}' is a signature: its op comes first, as in `{signature} --signature {op}`")
    found = named if named and op not in FAMILIES else [FAMILIES[name] for name in ops_of((op,))]
    if len(found) != 1:
        raise UsageError(f"a problem has one op, got '{op}'")
    return found[0]


def _as_signature(text: str) -> str:
    """The op of a canonical signature; empty where a text is none."""
    from ckgen.families.registry import family_of_name

    try:
        family = family_of_name(text)
        family.parse_signature(text, None)
    except UsageError:
        return ""
    return family.op


def _wishes(params: Mapping[str, Any]) -> Wishes:
    return Wishes(params["deterministic"], Strategy(params["strategy"]), params["batch_invariant"])


def _plan(
    params: Mapping[str, Any],
    archs: Mapping[str, ArchSpec],
    target: Target,
    family: AnyFamily,
    signature: str,
    tuning: tuple[Path, ...],
) -> GenerationPlan:
    """The plan of a library that asks for the signature, for the device and those beside it, with these tables; its
    warnings are said."""
    from ckgen.plan.planner import has_errors, make_plan

    ops = family.planned_with
    built = targets_or_env(params["targets"], archs) if params["targets"] else ()
    options = PlanOptions(
        targets=tuple(sorted({target, *built})),
        ops=ops,
        named=(signature,),
        tuning=tuning,
        module=params["module"],
        kernel_sets=kernel_sets_of(params["kernel_sets"], ops),
        m_policy=MPolicy(params["m_policy"]),
        assume_gfx=assumptions(params["assume_gfx"], archs),
        assume_dtype=assumed_dtype(params["assume_dtype"]),
        every_count=not built,
    )
    with progress("reading tables"):
        plan = make_plan(options, archs)
    if has_errors(plan):
        raise InputError(d for d in plan.diagnostics if d.severity is not Severity.NOTE)
    say_diagnostics(d for d in plan.diagnostics if d.severity is Severity.WARNING)
    return plan


def lookup_document(query: Query, selection: Selection) -> dict[str, Any]:
    """A selection as JSON; null for what there is none of."""
    row, instance = selection.row, selection.instance
    external = None
    if selection.external is not None and selection.winner is not None:
        source = query.plan.place(selection.winner)
        external = {
            "library": selection.external.library,
            "kernel": selection.external.name,
            "source": source,
            "us": selection.winner.us,
        }
    return {
        "target": str(query.target),
        "signature": query.signature.canonical(),
        "shape": query.sizes_document(),
        "tier": selection.tier.value,
        "instance": instance.name if instance is not None else None,
        "table_kernel": table_kernel(selection) or None,
        "k_batch": selection.k_batch if instance is not None else None,
        "source": query.plan.place(row) if row is not None else None,
        "us": row.us if row is not None else None,
        "external": external,
        "reason": selection.reason or None,
        "absent": query.absent() or None,
    }


def table_kernel(selection: Selection) -> str:
    """What a table calls the instance; empty where none does, or by the instance's own name."""
    row, instance = selection.row, selection.instance
    if instance is None:
        return ""
    kernel: str = row.kernel if row is not None else instance.table_kernel
    return kernel if kernel != instance.name else ""
