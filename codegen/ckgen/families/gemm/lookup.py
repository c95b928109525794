"""A table of GEMMs as its template reads it: every rung in words, named by what it is of."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from ckgen.families.common.cpp import described, identifier, quotable, target_symbol
from ckgen.families.common.cpp_words import why_not_a_name
from ckgen.families.common.ladder import Rung
from ckgen.families.common.query import ExternalKernel
from ckgen.families.gemm.measured import GemmUnit, GroupKey, TablePlan
from ckgen.families.gemm.one_order import choice_of_ladder, order_in
from ckgen.families.gemm.row_key import RowKey

_MAX_INDEX = 0xFFFF
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9]+")


def table_view(unit: GemmUnit, table: TablePlan, row_key: Callable[[int], RowKey]) -> dict[str, Any]:
    """Ladders and externals of one lookup header; ValueError where a 16-bit index would overflow.

    `row_key` says the batch of their keys.
    """
    winners = [(described(unit.instances[one.instance])[0], one.k_batch) for one in table.choices]
    externals = external_names(table.externals)
    groups = [
        {
            **_of_key(key, row_key),
            "order": _order(unit, table, key, winners),
            "rungs": [_rung(rung, *winners[rung.choice]) for rung in group.runnable.rungs],
            "external_rungs": [_rung(rung, externals[rung.choice], 1) for rung in group.external.rungs],
        }
        for key, group in table.groups.items()
    ]
    longest = max((len(group["rungs"]) for group in groups), default=0)
    if max(len(groups), len(unit.instances), len(externals), longest) > _MAX_INDEX:
        raise ValueError(f"{unit.name} on {table.target}: more than {_MAX_INDEX} groups, instances or rungs")
    return {
        "symbol": target_symbol(table.target),
        "gfx": identifier(table.target.gfx),
        "cu_num": table.target.cu_num,
        "groups": groups,
        "externals": [
            {"number": number, "library": quotable(kernel.library), "name": quotable(kernel.name)}
            for number, kernel in zip(externals, table.externals, strict=True)
        ],
    }


def external_names(kernels: Sequence[ExternalKernel]) -> list[str]:
    """An enumerator for each: library and name, and a digest of both where these alone would not do.

    A name depends on its own kernel only, but for kernels whose letters and digits are alike.
    """
    plain = [_NOT_IN_A_NAME.sub("_", _with_library(kernel)).strip("_") for kernel in kernels]
    count = Counter(plain)
    return [
        name if count[name] == 1 and why_not_a_name(name) is None else identifier(f"external_{name}_{_digest(kernel)}")
        for name, kernel in zip(plain, kernels, strict=True)
    ]


def _with_library(kernel: ExternalKernel) -> str:
    return kernel.name if kernel.name.startswith(f"{kernel.library}_") else f"{kernel.library}_{kernel.name}"


def _digest(kernel: ExternalKernel) -> str:
    return hashlib.sha256(f"{kernel.library}\0{kernel.name}".encode()).hexdigest()[:8]


def _of_key(key: GroupKey, row_key: Callable[[int], RowKey]) -> dict[str, Any]:
    """What tells a ladder from others of its table."""
    n, k, batch = key
    words = row_key(batch)
    arguments = ", ".join(filter(None, (str(n), str(k), words.cpp)))
    return {"title": words.text(n, k), "name": words.name(n, k), "arguments": arguments}


def _order(unit: GemmUnit, table: TablePlan, key: GroupKey, winners: Sequence[tuple[str, int]]) -> str:
    """Whose order of additions answers all M of a ladder that has several; empty where the first rung's is the one."""
    orders = {order_in(unit.instances, table.choices[at]) for _, at in table.groups[key].runnable.sizes()}
    choice = choice_of_ladder(unit, table, key) if len(orders) > 1 else None
    if choice is None:
        return ""
    winner, k_batch = winners[table.choices.index(choice)]
    return ", ".join((winner, *([f"k_batch({k_batch})"] if k_batch != 1 else [])))


def _rung(rung: Rung, winner: str, k_batch: int) -> str:
    sizes = (rung.first,) if rung.first == rung.last else (rung.first, rung.last, rung.step)
    splits = [f"k_batch({k_batch})"] if k_batch != 1 else []
    return f"rung({', '.join((*map(str, sizes), winner, *splits))})"
