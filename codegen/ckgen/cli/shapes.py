"""`ckgen shapes`: what a model asks of kernels on each number of ranks, and what the tables cover of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckgen.cli.errors import Command
from ckgen.cli.option_values import one_target, ranks, tuning_or_shipped
from ckgen.cli.options import PATH, json_option, quiet_option, target_option, tuning_option
from ckgen.cli.output import columns, errors_of, plural, progress, say, show, show_json
from ckgen.model.errors import InputError, UsageError

if TYPE_CHECKING:
    from ckgen.model.arch import ArchSpec
    from ckgen.model.target import Target
    from ckgen.plan.model import GenerationPlan
    from ckgen.workload.layer import Layer
    from ckgen.workload.model_config import ModelConfig
    from ckgen.workload.report import Line

_LADDER = "Tokens: a list, pow2:MAX, or the steps of a rounding of the peer's, gl0:MAX."
_PRODUCT = "Signature of quantized products, such as a8w8_blockscale.  [default: by the config]"


@click.command(cls=Command, name="shapes", short_help="Say what a model asks of kernels, and what tables cover of it.")
@click.argument("config", type=PATH)
@click.option("--tp", default="1", show_default=True, metavar="LIST", help="Numbers of tensor-parallel ranks.")
@click.option("--ep", is_flag=True, help="Divide experts among the ranks whole, not along their sizes.")
@click.option("--fuse-shared", is_flag=True, help="Count shared experts among the routed ones.")
@click.option("--m", "m", default="pow2:16384", show_default=True, metavar="LADDER", help=_LADDER)
@target_option("Say which tiers of this device answer, such as mi300x.", required=False)
@click.option("--signature", default="", metavar="S", help=_PRODUCT)
@click.option("--expert-signature", default="", metavar="S", help="The same of experts.")
@tuning_option
@click.option("--untuned", is_flag=True, help="Only layers with an M that no row of --target measured.")
@click.option("--out", type=PATH, metavar="CSV", help="Write the problems as a list of shapes.")
@quiet_option
@json_option
def command(**params: Any) -> int:
    """Say what a model asks of kernels, and what tables cover of it.

    CONFIG is the config.json of a model. Layers are those of one rank, by vLLM's sharding. Exit 3: a config that is
    not understood.
    """
    from ckgen.workload.ladder import ladder
    from ckgen.workload.model_config import read_model
    from ckgen.workload.report import asked_shapes
    from ckgen.workload.shape_list import write_shapes

    if params["untuned"] and not params["target"]:
        raise UsageError("--untuned needs --target: tables are of a target")
    model, sizes = read_model(params["config"]), ladder(params["m"])
    lines = _lines(model, sizes, params)
    if params["untuned"]:
        lines = [line for line in lines if line.coverage is not None and line.coverage.tuned < line.coverage.asked]
    if params["out"] is not None:
        counts = asked_shapes(lines, sizes)
        write_shapes(params["out"], counts)
        say(f"{params['out']}: {plural(len(counts), 'shape')}")
    if params["as_json"]:
        show_json(_document(model, sizes, lines))
    else:
        show(_text(model, lines))
    return 0


def _lines(model: ModelConfig, sizes: Sequence[int], params: Mapping[str, Any]) -> list[Line]:
    from ckgen.specs.archs import load_archs
    from ckgen.workload.coverage import canonical_of, coverage_of
    from ckgen.workload.report import Line
    from ckgen.workload.shard import Parallel, layers_of
    from ckgen.workload.signatures import Spelled, signature_of

    spelled = Spelled(params["signature"], params["expert_signature"])
    divided = [Parallel(tp, params["ep"], params["fuse_shared"]) for tp in ranks(params["tp"])]
    layers = [(one.tp, layer) for one in divided for layer in layers_of(model, one)]
    said = [signature_of(model, layer, spelled) for _, layer in layers]
    _say_unknown(model, layers, said)
    if not params["target"]:
        return [Line(tp, layer, signature, None) for (tp, layer), signature in zip(layers, said, strict=True)]
    archs = load_archs()
    target = one_target(params["target"], archs)
    arch = archs[target.gfx]
    lines = [
        Line(tp, layer, canonical_of(layer.work, text, arch) if text else "", None)
        for (tp, layer), text in zip(layers, said, strict=True)
    ]
    plan = _plan(target, archs, lines, params["tuning"])
    known = {}
    keys = list(dict.fromkeys((line.signature, line.layer.work) for line in lines if line.signature))
    with progress("selecting") as told:
        for count, (signature, work) in enumerate(keys, 1):
            known[signature, work] = coverage_of(plan, target, arch, work, signature, sizes)
            told.count(count, len(keys))
    return [replace(line, coverage=known.get((line.signature, line.layer.work))) for line in lines]


def _say_unknown(model: ModelConfig, layers: Sequence[tuple[int, Layer]], said: Sequence[str]) -> None:
    from ckgen.workload.layer import Attention, Experts
    from ckgen.workload.signatures import quantization_of

    works = [layer.work for (_, layer), text in zip(layers, said, strict=True) if not text]
    for kind, option in ((False, "--signature"), (True, "--expert-signature")):
        if any(isinstance(work, Experts) is kind and not isinstance(work, Attention) for work in works):
            what = "experts" if kind else "products"
            say(f"note: quantization '{quantization_of(model)}' of {what} is not known: name {option}")


def _plan(
    target: Target, archs: Mapping[str, ArchSpec], lines: Sequence[Line], tuning: Sequence[Path]
) -> GenerationPlan:
    from ckgen.plan.options import PlanOptions
    from ckgen.plan.planner import has_errors, make_plan
    from ckgen.workload.coverage import planned_ops

    options = PlanOptions(
        targets=(target,),
        ops=planned_ops(line.layer.work for line in lines),
        named=tuple(dict.fromkeys(line.signature for line in lines if line.signature)),
        tuning=tuning_or_shipped(tuning),
        every_count=True,
    )
    with progress("reading tables"):
        plan = make_plan(options, archs)
    if has_errors(plan):
        raise InputError(errors_of(plan.diagnostics))
    return plan


def _document(model: ModelConfig, sizes: Sequence[int], lines: Sequence[Line]) -> dict[str, Any]:
    from ckgen.workload.report import totals

    return {
        "schema": "ckgen.shapes/1",
        "architecture": model.name,
        "m": list(sizes),
        "layers": [line.document() for line in lines],
        "tiers": totals(lines),
    }


def _text(model: ModelConfig, lines: Sequence[Line]) -> str:
    from ckgen.workload.report import totals

    table = columns([("tp", "layer", "layers", "signature", "sizes", "answered by"), *(line.cells() for line in lines)])
    reasons = dict.fromkeys(
        f"{line.layer.name} at tp {line.tp}: {line.coverage.reason}"
        for line in lines
        if line.coverage is not None and line.coverage.reason
    )
    found = totals(lines)
    end = ", ".join(f"{tier} {count:,}" for tier, count in found.items())
    tiers = [f"problems by tier, each once: {end}"] if found else []
    return "\n".join([model.name, table, *(f"unsupported, {reason}" for reason in reasons), *tiers])
