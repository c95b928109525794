"""The problems that `ckgen bench` is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ckgen.cli.options import ops_of
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
    flavour = archs[target.gfx].fp8_flavour
    found = [_shape(family, target, archs, params, text) for text in params["shape"]]
    if params["shapes"] is not None:
        signature = params["signature"]
        only = family.parse_signature(signature, flavour) if signature is not None else None
        found += _listed(family, target, params["shapes"], only)
    if not found:
        raise UsageError("nothing to measure: give --shape or --shapes")
    return tuple(dict.fromkeys(found))


def _shape(
    family: AnyFamily, target: Target, archs: Mapping[str, ArchSpec], params: Mapping[str, Any], text: str
) -> Case:
    from ckgen.measure.problems import case_of

    asked = Asked(family.name, signature=params["signature"], experts=params["experts"], top_k=params["top_k"])
    match family.name:
        case "grouped_gemm":
            asked = replace(asked, groups=text)
        case "fmha":
            asked = replace(asked, sizes=tuple(text.split()))
        case _:
            asked = replace(asked, shape=text)
    signature = family.asked_signature(asked, archs[target.gfx].fp8_flavour)
    return case_of(signature, target, family.asked_problem(signature, asked))


def _listed(family: AnyFamily, target: Target, path: Any, only: Any) -> list[Case]:
    """The rows of a list of shapes whose signatures are the family's, and `only` that one where it is given."""
    from ckgen.families.registry import family_of_name
    from ckgen.fuzz.case import Case
    from ckgen.measure.problems import SEED
    from ckgen.workload.shape_list import read_shapes

    found = []
    for row in sorted(read_shapes(path)):
        if family_of_name(row.signature).op != family.op or (only is not None and only.canonical() != row.signature):
            continue
        case = Case(row.signature, str(target), m=row.m, n=row.n, k=row.k, batch=row.batch or 1, seed=SEED)
        found.append(replace(case, experts=row.experts, top_k=row.top_k))
    return found
