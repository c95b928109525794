"""Tuning tables (CSV) to model, and their repair."""

from __future__ import annotations

from ckgen.tables.classify import TableKind
from ckgen.tables.load import LoadedTables, LoadOptions, TableFile, load_tables

__all__ = ["LoadOptions", "LoadedTables", "TableFile", "TableKind", "load_tables"]
