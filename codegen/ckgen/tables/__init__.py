"""Tuning tables (CSV) to model, and their repair; families say what columns mean."""

from __future__ import annotations

from ckgen.tables.dialect import LoadOptions
from ckgen.tables.load import LoadedTables, TableFile, load_tables

__all__ = ["LoadOptions", "LoadedTables", "TableFile", "load_tables"]
