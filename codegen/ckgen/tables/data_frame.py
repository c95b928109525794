"""Rows as a pandas DataFrame. pandas is imported where one is made: reading tables needs none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ckgen.model.row import Row

if TYPE_CHECKING:
    from pandas import DataFrame


def rows_frame(rows: Sequence[Row | None]) -> DataFrame:
    """What each row says, in the order given; a row that could not be read (None) says nothing.

    Columns: op, module, gfx, cu_num, sku where a row names a product, every size that some row's shape has, library,
    kernel, k_batch, us (microseconds), error_ratio. Words are categories; counts and sizes are nullable integers; us
    and error_ratio are floats. What a row does not say is missing, as is the batch of a GEMM that is not batched.
    """
    import pandas as pd

    names_product = any(row is not None and row.target is not None and row.target.sku for row in rows)
    columns = [
        *_WORDS_AND_TARGET,
        *([_PRODUCT] if names_product else []),
        *(_size(name, dtype) for name, dtype in _sizes(rows).items()),
        *_ANSWER_AND_MEASUREMENT,
    ]
    data = {one.name: [None if row is None else one.of(row) for row in rows] for one in columns}
    return pd.DataFrame(data, dtype=object).astype({one.name: one.dtype for one in columns})


class _Column(NamedTuple):
    name: str
    dtype: str
    of: Callable[[Row], object]


_WORDS_AND_TARGET = (
    _Column("op", "category", lambda row: row.op),
    _Column("module", "category", lambda row: row.module or None),
    _Column("gfx", "category", lambda row: row.target.gfx if row.target else None),
    _Column("cu_num", "Int64", lambda row: row.cu_num or None),
)
_PRODUCT = _Column("sku", "category", lambda row: row.target.sku or None if row.target else None)
_ANSWER_AND_MEASUREMENT = (
    _Column("library", "category", lambda row: row.library or None),
    _Column("kernel", "category", lambda row: row.kernel or None),
    _Column("k_batch", "Int64", lambda row: row.k_batch),
    _Column("us", "float64", lambda row: row.us),
    _Column("error_ratio", "float64", lambda row: row.error_ratio),
)
_DTYPES = {bool: "boolean", int: "Int64"}


def _sizes(rows: Sequence[Row | None]) -> dict[str, str]:
    """The sizes that some row names, and how a column of each is kept."""
    named = [(name, value) for row in rows if row is not None for name, value in row.named_sizes.items()]
    dtypes = {name: "Int64" for name, _ in named}
    return dtypes | {name: _DTYPES.get(type(value), "category") for name, value in named if value is not None}


def _size(name: str, dtype: str) -> _Column:
    def of(row: Row) -> object:
        value = row.named_sizes.get(name)
        return str(value) if value is not None and dtype == "category" else value

    return _Column(name, dtype, of)
