"""What a row of a table of the MX-FP8 kernels for few rows means: a kernel's name, or that none of ours answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ckgen.families.gemm.hip_config import HipConfig
from ckgen.families.gemm.mxfp8_select import NOT_THIS_ONE, Declined, GemmKey, Tuned, choose_gemm
from ckgen.model.decode_row import DecodeRow
from ckgen.model.target import Target
from ckgen.model.tuned_row import Discriminators, TunedRow

MODULE, LIBRARY = "mxfp8", "hip"


def key_of(row: DecodeRow) -> GemmKey:
    """What the row answers for."""
    return GemmKey(row.shape.k, row.shape.n, row.shape.m)


def says(row: DecodeRow) -> Tuned:
    """What the row answers."""
    return Tuned(row.n_sub, row.k_splits, row.use_hip)


def rows_for(rows: Iterable[DecodeRow], target: Target) -> Mapping[GemmKey, Tuned]:
    """The rows that hold on a target, later ones winning; a row without a target holds on every one."""
    return {key_of(row): says(row) for row in rows if row.target in (None, target)}


def tuned_row(row: DecodeRow, target: Target) -> TunedRow | Declined:
    """The row as one of a tuned GEMM table whose kernel is named by its Config; `target` where the row tells none."""
    if not row.use_hip:
        return NOT_THIS_ONE
    config = choose_gemm(key_of(row), {key_of(row): says(row)})
    if not isinstance(config, HipConfig):
        return config
    own = row.target or target
    return TunedRow(
        location=row.location,
        layer=row.layer,
        module=MODULE,
        target=own,
        cu_num=own.cu_num,
        shape=row.shape,
        discriminators=Discriminators(),
        library=LIBRARY,
        kernel=config.text(),
        k_batch=1,
        us=None,
        error_ratio=None,
    )
