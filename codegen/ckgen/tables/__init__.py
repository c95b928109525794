"""Tuning tables (CSV) to model, and their repair; families say what columns mean.

`frame` is for programs of users. It stands on the planner, as they do; no module of ckgen imports from this file.
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from ckgen.tables.dialect import LoadOptions
from ckgen.tables.load import LoadedTables, TableFile, load_tables

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["LoadOptions", "LoadedTables", "TableFile", "frame", "load_tables"]


def frame(paths: str | PathLike[str] | Iterable[str | PathLike[str]]) -> DataFrame:
    """What becomes of every row of these tables or folders of tables, as `ckgen validate` sees it; later ones win.

    One row per row of a table, in file and line order. Columns: file, line; op, module, gfx, cu_num; the sizes of the
    shapes that there are (of a GEMM batch, m, n, k); library, kernel, k_batch, us (microseconds), error_ratio; fate,
    a category of `FateKind`'s words, and reason. What a row does not say is missing.

    UsageError for a path that is not there; InputError for a file without a table in it. Whatever else is wrong in a
    table is the fate of its rows.
    """
    from ckgen.families.registry import FAMILIES
    from ckgen.model.errors import InputError
    from ckgen.plan.options import PlanOptions
    from ckgen.plan.planner import make_plan
    from ckgen.report.rows import plan_frame
    from ckgen.specs.archs import load_archs
    from ckgen.tables.read import NO_TABLE

    arguments = [paths] if isinstance(paths, str | PathLike) else paths
    options = PlanOptions(targets=None, ops=frozenset(FAMILIES), tuning=tuple(map(Path, arguments)))
    plan = make_plan(options, load_archs())
    unreadable = [one for one in plan.diagnostics if one.code in NO_TABLE]
    if unreadable:
        raise InputError(unreadable)
    return plan_frame(plan)
