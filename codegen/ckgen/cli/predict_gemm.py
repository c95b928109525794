"""`ckgen predict gemm`: every kernel that can run a problem, with its predicted time and what it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckgen.cli.errors import Command
from ckgen.cli.option_values import kernel_sets_of, one_target, tuning_or_shipped
from ckgen.cli.options import (
    PATH,
    json_option,
    kernel_set_option,
    kernels_option,
    quiet_option,
    target_option,
    tuning_option,
)
from ckgen.cli.output import columns, errors_of, progress, show, show_json
from ckgen.model.errors import InputError, UsageError

if TYPE_CHECKING:
    from ckgen.model.target import Target
    from ckgen.predict.cpu_time import CpuConstants
    from ckgen.predict.predicted import Predicted

NOTHING = 1
_CONSTANTS = "Constants of a CPU, as `ckgen predict calibrate --out` writes them."
_GHZ = "Clock, in place of the spec's peak."
_GB = "Memory bandwidth, in place of the spec's."


@click.command(cls=Command, name="gemm", short_help="Predict every kernel's time for one problem.")
@target_option()
@click.option("--signature", required=True, metavar="S", help="Such as a8w8_blockscale or gemm_bf16_rcr.")
@click.option("--shape", required=True, metavar="M,N,K", help="The sizes; of a batched signature B,M,N,K.")
@click.option("--best", type=click.IntRange(1), metavar="N", help="Only so many.  [default: all]")
@click.option("--ghz", type=click.FloatRange(0.01, 100), metavar="F", help=_GHZ)
@click.option("--gb-per-s", type=click.FloatRange(0.1, 1e6), metavar="F", help=_GB)
@click.option("--constants", type=PATH, metavar="JSON", help=_CONSTANTS)
@kernels_option
@kernel_set_option
@tuning_option
@quiet_option
@json_option
def command(**params: Any) -> int:
    """Predict the time of every kernel that can run a problem on a target, the best ranked first.

    ranked: the time times a factor of the kernel, where tables told how often it is the best beyond its time.

    Kernels are those that a library of the signature holds: of tables, rules, defaults and kernel sets. Splits of K are
    those that rows of the arch have. Exit 1: no kernel runs it.
    """
    from ckgen.families.gemm.predicted.chip import chip_of
    from ckgen.families.gemm.query import GemmQuery
    from ckgen.families.gemm.signature import parse_signature
    from ckgen.families.registry import FAMILIES
    from ckgen.plan.options import PlanOptions
    from ckgen.plan.planner import make_plan
    from ckgen.predict.predicted import model_of, predicted, splits_of
    from ckgen.specs.archs import load_archs

    archs = load_archs()
    target = one_target(params["target"], archs)
    arch = archs[target.gfx]
    signature = parse_signature(params["signature"], arch.fp8_flavour)
    if str(signature.op) != "gemm":
        raise UsageError(f"'{params['signature']}' is a signature of op {signature.op}: only plain GEMMs are predicted")
    problem = FAMILIES["gemm"].asked_problem(signature, _asked(params["shape"]))
    options = PlanOptions(
        targets=(target,),
        named=(signature.canonical(),),
        tuning=tuning_or_shipped(params["tuning"]),
        kernel_sets=kernel_sets_of(params["kernel_sets"], ("gemm",)),
        every_count=True,
    )
    with progress("reading tables"):
        plan = make_plan(options, archs)
    if errors_of(plan.diagnostics):
        raise InputError(errors_of(plan.diagnostics))
    unit = plan.unit(signature)
    query = GemmQuery(plan, target, signature, problem)
    if (illegal := query.illegal()) is not None:
        raise UsageError(f"--shape: {illegal.text}")
    chip = chip_of(arch, target, ghz=params["ghz"], gb_per_s=params["gb_per_s"])
    model = model_of(chip, signature, _calibrated(params["constants"], target, signature.canonical()))
    instances, splits = (unit.instances, splits_of(unit, target.gfx)) if unit is not None else ((), (1,))
    found = predicted(model, instances, query.shape, splits, params["kernels"])
    shown = found[: params["best"]]
    if params["as_json"]:
        show_json(_document(target, signature.canonical(), query.sizes_document(), model.source, shown))
    else:
        show(f"{query.subject()}  {query.sizes_text()}  {target}\nconstants: {model.source}\n{_text(shown)}")
    return 0 if found else NOTHING


def _asked(shape: str) -> Any:
    from ckgen.families.common.asked import Asked

    return Asked("gemm", shape=shape)


def _calibrated(path: Path | None, target: Target, signature: str) -> CpuConstants | None:
    if path is None:
        return None
    from ckgen.predict.calibrate import read

    own = [one for one in read(path) if one.signature == signature and one.target == str(target)]
    if not own:
        raise UsageError(f"{path} has no constants of {signature} on {target}")
    return own[0].constants


def _document(
    target: Target, signature: str, shape: Mapping[str, Any], source: str, found: list[Predicted]
) -> dict[str, Any]:
    return {
        "target": str(target),
        "signature": signature,
        "shape": dict(shape),
        "constants": source,
        "predicted": [asdict(one) for one in found],
    }


def _text(found: list[Predicted]) -> str:
    """A line a kernel: microseconds, those it is ranked by, its terms, the splits and its name."""
    if not found:
        return "no kernel of the signature runs it there"
    words = list(found[0].terms)
    head = ("us", "ranked", *(word for word in words if word != "us"), "k_batch", "kernel")
    lines = [
        (
            *map(_number, (one.us, one.ranked_us)),
            *(_number(one.terms[word]) for word in words if word != "us"),
            str(one.k_batch),
            one.instance,
        )
        for one in found
    ]
    return columns([head, *lines])


def _number(value: float) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)
