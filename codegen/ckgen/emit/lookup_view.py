"""A TablePlan as its template reads it: arrays laid out, titles for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ckgen.emit import cpp
from ckgen.families.common.ladder import layout_directory, layout_slots
from ckgen.families.common.m_policy import Rounding, RoundingBand
from ckgen.families.common.policy import MPolicy
from ckgen.families.gemm.measured import GemmUnit, TablePlan
from ckgen.families.tables import all_roundings, rounded_module

_NO_BOUND = 0xFFFFFFFF
_MAX_INDEX = 0xFFFF


def table_view(unit: GemmUnit, table: TablePlan) -> dict[str, Any]:
    """Groups, rungs, choices and slots of one lookup header; ValueError where a 16-bit index would overflow."""
    groups: list[dict[str, Any]] = []
    rungs = externals = 0
    for (n, k, batch), group in table.groups.items():
        groups.append(
            {
                "n": n,
                "k": k,
                "batch": batch,
                "title": f"N={n} K={k}" + (f" B={batch}" if batch else ""),
                "rungs": group.runnable.rungs,
                "external_rungs": group.external.rungs,
                "rung_begin": rungs,
                "external_begin": externals,
            }
        )
        rungs += len(group.runnable.rungs)
        externals += len(group.external.rungs)
    longest = max((len(group["rungs"]) for group in groups), default=0)
    if max(len(groups), len(unit.instances), longest) > _MAX_INDEX:
        raise ValueError(f"{unit.name} on {table.target}: more than {_MAX_INDEX} groups, instances or rungs")
    return {
        "symbol": cpp.identifier(f"{table.target.gfx}_{table.target.cu_num}"),
        "gfx": cpp.identifier(table.target.gfx),
        "cu_num": table.target.cu_num,
        "groups": groups,
        "rung_count": rungs,
        "slots": layout_slots(list(table.groups)),
        "directory": layout_directory([group.runnable for group in table.groups.values()]),
        "choices": [
            {
                "instance": choice.instance,
                "k_batch": choice.k_batch,
                "name": unit.instances[choice.instance].table_kernel or unit.instances[choice.instance].name,
            }
            for choice in table.choices
        ],
        "externals": [
            {"library": cpp.quotable(kernel.library), "name": cpp.quotable(kernel.name)} for kernel in table.externals
        ],
    }


def policy_view(policy: MPolicy, used: Sequence[str]) -> dict[str, Any]:
    """The LadderPolicy constants that tables refer to: one for all, or the peer's own per module."""
    if policy is MPolicy.LADDER:
        return {"roundings": [], "policies": [{"name": "ladder", "kernel_m": [], "split_k_m": []}]}

    def refer(roundings: Sequence[Rounding]) -> list[dict[str, Any]]:
        return [{"name": rounding.name, "count": len(rounding.bands)} for rounding in roundings]

    return {
        "roundings": [
            {"name": cpp.identifier(name), "bands": [_band(band) for band in rounding.bands]}
            for name, rounding in all_roundings().items()
        ],
        "policies": [
            {
                "name": cpp.identifier(f"aiter_{module}"),
                "kernel_m": refer(rounded_module(module).kernel_m),
                "split_k_m": refer(rounded_module(module).split_k_m),
            }
            for module in used
        ],
    }


def _band(band: RoundingBand) -> dict[str, Any]:
    return {
        "to": cpp.identifier(band.to),
        "of": band.of,
        "m_over": band.m_over,
        "m_up_to": _NO_BOUND if band.m_up_to is None else band.m_up_to,
        "n_over": band.n_over,
    }
