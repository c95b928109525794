"""A table of GEMMs as its template reads it: arrays laid out, titles for people."""

from __future__ import annotations

from typing import Any

from ckgen.families.common.cpp import identifier, quotable
from ckgen.families.common.ladder import layout_directory, layout_slots
from ckgen.families.gemm.explain import rows_text
from ckgen.families.gemm.measured import GemmUnit, TablePlan

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
                "title": rows_text(n, k, batch, unit.signature.op),
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
        "symbol": identifier(f"{table.target.gfx}_{table.target.cu_num}"),
        "gfx": identifier(table.target.gfx),
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
            {"library": quotable(kernel.library), "name": quotable(kernel.name)} for kernel in table.externals
        ],
    }
