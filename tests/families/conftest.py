"""The shipped tables as fixtures."""

from __future__ import annotations

import pytest
from families_rows import Rows, read_rows


@pytest.fixture(scope="session")
def all_rows() -> Rows:
    return read_rows()


@pytest.fixture(scope="session")
def rows(all_rows: Rows) -> Rows:
    """The rows of kernels that ckgen builds."""
    return tuple(row for row in all_rows if row.library in ("ck", "cktile"))
