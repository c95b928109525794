"""`ckgen report coverage`: what tables cover, as a page, as JSON, and the gaps as a list of shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckgen.cli.errors import Command
from ckgen.cli.option_values import kernel_sets_of, targets_or_env, tuning_or_shipped
from ckgen.cli.options import PATH, json_option, kernel_set_option, quiet_option, targets_option, tuning_option
from ckgen.cli.output import columns, errors_of, plural, progress, say, show, show_json
from ckgen.model.errors import InputError, UsageError

if TYPE_CHECKING:
    from ckgen.model.arch import ArchSpec
    from ckgen.model.target import Target
    from ckgen.plan.inputs import PlanInputs
    from ckgen.plan.model import GenerationPlan
    from ckgen.report.coverage_maps import Asked, Map
    from ckgen.workload.model_config import ModelConfig
    from ckgen.workload.shard import Parallel
    from ckgen.workload.signatures import Spelled

_LADDER = "Tokens: a list, pow2:MAX, or the steps of a rounding of the peer's, gl0:MAX."
_CSV = "Write the problems without a row as a list of shapes, which `ckgen tune --shapes` reads."
_PRUNE = "Write the profile that leaves out instances that nothing chooses; `ckgen generate --profile` takes it."
_BUILT = "summary.json of `ckgen amd-check --out`: what compiling cost."
_PRODUCT = "Signature of quantized products of the model, such as a8w8_blockscale.  [default: by the config]"


@click.command(cls=Command, name="coverage", short_help="What tables cover, and how near rows come to the chip.")
@targets_option
@tuning_option
@kernel_set_option
@click.option("--m", "m", default="pow2:16384", show_default=True, metavar="LADDER", help=_LADDER)
@click.option(
    "--model", type=PATH, metavar="JSON", help="Ask what a model asks, by its config.json, not what tables have."
)
@click.option("--tp", default="1", show_default=True, metavar="LIST", help="Its numbers of tensor-parallel ranks.")
@click.option("--ep", is_flag=True, help="Divide its experts among the ranks whole.")
@click.option("--fuse-shared", is_flag=True, help="Count its shared experts among the routed ones.")
@click.option("--signature", default="", metavar="S", help=_PRODUCT)
@click.option("--expert-signature", default="", metavar="S", help="The same of experts.")
@click.option("--built", type=PATH, metavar="JSON", help=_BUILT)
@click.option("--out", type=PATH, metavar="HTML", help="Write the page.")
@click.option("--csv", "gaps", type=PATH, metavar="CSV", help=_CSV)
@click.option("--prune", type=PATH, metavar="YAML", help=_PRUNE)
@quiet_option
@json_option
def command(**params: Any) -> int:
    """What tables cover, and how near rows come to the chip.

    By target and signature: which tiers answer each N and K, at every M of a ladder; what became of rows; which kernels
    win them, and which instances nothing chooses; achieved rates against the chip's peaks. Without --targets: of all
    that the rows name.
    """
    from ckgen.report.built import read_built
    from ckgen.report.coverage import Subject, coverage
    from ckgen.report.coverage_maps import asked_of_tables, maps_of, never_chosen
    from ckgen.specs.archs import load_archs
    from ckgen.workload.ladder import ladder

    archs, sizes = load_archs(), ladder(params["m"])
    built = read_built(params["built"]) if params["built"] is not None else ()
    targets = targets_or_env(params["targets"], archs) if params["targets"] else None
    asking = _Asking.of(params) if params["model"] is not None else None
    with progress("reading tables") as line:
        known, plan = _planned(params, archs, targets, asking)
        found = targets or plan.targets
        asked = asking.asked(found, archs) if asking is not None else asked_of_tables(plan, found)
        line.step("selecting")
        maps, chosen = maps_of(plan, asked, sizes)
        never = never_chosen(maps, chosen)
        line.step("counting")
        told = asking.told if asking is not None else "the tables"
        subject = Subject(told, _names(params["tuning"]), tuple(found), params["m"], sizes)
        document = coverage(subject, known, plan, maps, never, built)
    _write(params, document, maps, never)
    if params["as_json"]:
        show_json(document)
    else:
        show(_text(document))
    return 0


class _Asking:
    """A model that asks, and on which ranks."""

    def __init__(self, model: ModelConfig, divided: Sequence[Parallel], spelled: Spelled, told: str) -> None:
        self.model, self.divided, self.spelled, self.told = model, divided, spelled, told

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> _Asking:
        """Of the options; UsageError and InputError as of `ckgen shapes`."""
        from ckgen.cli.option_values import words
        from ckgen.report.coverage_model import left_out
        from ckgen.workload.model_config import read_model
        from ckgen.workload.shard import Parallel
        from ckgen.workload.signatures import Spelled

        ranks = words((params["tp"],))
        if not ranks or any(not word.isdecimal() or not 1 <= int(word[:9]) <= 1024 for word in ranks):
            raise UsageError(f"--tp takes numbers of 1 to 1024, as in 1,2,4,8; got '{params['tp']}'")
        model = read_model(params["model"])
        divided = [Parallel(int(word), params["ep"], params["fuse_shared"]) for word in ranks]
        spelled = Spelled(params["signature"], params["expert_signature"])
        for layer in left_out(model, divided, spelled):
            say(f"note: the quantization of {layer} is not known: name --signature or --expert-signature")
        return cls(model, divided, spelled, f"{params['model'].name} on {', '.join(ranks)} ranks")

    def asked(self, targets: Sequence[Target], archs: Mapping[str, ArchSpec]) -> dict[tuple[Target, str], Asked]:
        """By target and signature."""
        from ckgen.report.coverage_model import asked_of_model

        return asked_of_model(self.model, self.divided, self.spelled, targets, archs)


def _planned(
    params: Mapping[str, Any], archs: Mapping[str, ArchSpec], targets: tuple[Target, ...] | None, asking: _Asking | None
) -> tuple[PlanInputs, GenerationPlan]:
    from ckgen.families.registry import FAMILIES
    from ckgen.plan.inputs import plan_inputs
    from ckgen.plan.options import PlanOptions
    from ckgen.plan.planner import has_errors, plan_of

    ops = frozenset(FAMILIES)
    named = {name for _, name in asking.asked(targets, archs)} if asking is not None and targets else set()
    options = PlanOptions(
        targets=targets, ops=ops, tuning=tuning_or_shipped(params["tuning"]), named=tuple(sorted(named)),
        kernel_sets=kernel_sets_of(params["kernel_sets"], ops), every_count=True, every_row=True,
    )  # fmt: skip
    known = plan_inputs(options, archs)
    plan = plan_of(known, ())
    if has_errors(plan):
        raise InputError(errors_of(plan.diagnostics))
    return known, plan


def _names(tuning: Sequence[Path]) -> tuple[str, ...]:
    """The tables as people name them."""
    from ckgen.cli.option_values import layers_of

    layers, adds = layers_of(tuning)
    return (*(("the shipped tables",) if adds or not layers else ()), *map(str, layers))


def _write(
    params: Mapping[str, Any], document: Mapping[str, Any], maps: Sequence[Map], never: Sequence[tuple[Any, str]]
) -> None:
    from ckgen.report.coverage_page import coverage_page
    from ckgen.report.prune import pruned_profile
    from ckgen.tables.files import write_files
    from ckgen.workload.shape_list import write_shapes

    if params["out"] is not None:
        page = coverage_page(document).encode()
        write_files({params["out"]: page})
        say(f"{params['out']}: {len(page):,} bytes")
    if params["gaps"] is not None:
        gaps = {shape: 1 for one in maps for shape in one.gaps()}
        write_shapes(params["gaps"], gaps)
        say(f"{params['gaps']}: {plural(len(gaps), 'shape')}")
    if params["prune"] is not None:
        write_files({params["prune"]: pruned_profile(never, document["asked_by"]).encode()})
        say(f"{params['prune']}: leaves out {plural(len(never), 'instance')}")


def _text(document: Mapping[str, Any]) -> str:
    from ckgen.report.html import percent

    totals = document["totals"]
    kernels = f"{plural(totals['kernels'], 'kernel')} win, {plural(totals['never_chosen'], 'instance')} never chosen"
    rows = [("target", "signature", "measured", "asked", "share", "answered else")]
    for one in document["maps"]:
        others = ", ".join(f"{tier} {count:,}" for tier, count in one["tiers"].items() if tier != "exact")
        share = percent(one["measured"], one["asked"])
        rows.append((one["target"], one["signature"], f"{one['measured']:,}", f"{one['asked']:,}", share, others))
    return "\n".join(
        [
            columns(rows),
            f"{totals['measured']:,} of {totals['problems']:,} problems measured, {totals['gaps']:,} gaps",
            f"{totals['rows']:,} rows, {totals['selected']:,} selected; {kernels}",
            f"{plural(totals['beyond_physics'], 'row')} faster than the chip",
        ]
    )
