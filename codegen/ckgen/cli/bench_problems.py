"""The problems that `ckgen bench` is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckgen.cli.option_values import ops_of
from ckgen.families.common.asked import Asked
from ckgen.model.arch import ArchSpec
from ckgen.model.errors import UsageError
from ckgen.model.target import Target

if TYPE_CHECKING:
    from ckgen.families.registry import AnyFamily
    from ckgen.fuzz.case import Case


def family_asked(op: str) -> AnyFamily:
    """The one of OP."""
    from ckgen.families.registry import FAMILIES

    found = ops_of((op,))
    if len(found) != 1:
        raise UsageError(f"one op is measured, got '{op}'")
    return FAMILIES[next(iter(found))]


def problems_asked(
    family: AnyFamily, target: Target, archs: Mapping[str, ArchSpec], params: Mapping[str, Any]
) -> tuple[Case, ...]:
    """Those of --shape, then those of --shapes; UsageError for none, and for words that mean nothing."""
    from ckgen.measure.problems import case_of

    flavour = archs[target.gfx].fp8_flavour
    asked = [_of_option(family, params, text) for text in params["shape"]]
    if params["shapes"] is not None:
        asked += _of_list(family, params["shapes"])
    found: dict[Case, None] = {}
    only = params["signature"] and family.parse_signature(params["signature"], flavour)
    for one in asked:
        signature = family.asked_signature(one, flavour)
        if only is None or signature == only:
            found[case_of(signature, target, family.asked_problem(signature, one))] = None
    if not found:
        raise UsageError("nothing to measure: give --shape, or --shapes with rows of the operation")
    return tuple(found)


def _of_option(family: AnyFamily, params: Mapping[str, Any], text: str) -> Asked:
    asked = Asked(family.name, signature=params["signature"], experts=params["experts"], top_k=params["top_k"])
    return _sized(asked, text, text, text)


def _of_list(family: AnyFamily, path: Path) -> list[Asked]:
    """The rows of a list of shapes that are the family's."""
    from ckgen.families.registry import FAMILIES, family_of_name
    from ckgen.workload.shape_list import read_shapes

    found = []
    for row in sorted(read_shapes(path)):
        of = FAMILIES["moe"] if row.experts else family_of_name(row.signature)
        if of.op == family.op:
            asked = Asked(family.name, signature=row.signature, experts=row.experts or None, top_k=row.top_k or None)
            numbers = f"{row.batch},{row.m},{row.n},{row.k}" if row.batch else f"{row.m},{row.n},{row.k}"
            sizes = row.sizes.replace(";", ",")
            found.append(_sized(asked, numbers, sizes, sizes))
    return found


def _sized(asked: Asked, shape: str, groups: str, words: str) -> Asked:
    """With that of the texts which the operation reads."""
    match asked.op:
        case "grouped_gemm":
            return replace(asked, groups=groups)
        case "fmha":
            return replace(asked, sizes=tuple(words.split()))
    return replace(asked, shape=shape)
