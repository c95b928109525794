"""What a row of a table of the MX-FP8 kernels for few rows means: a Config by its name, or none of ours."""

from __future__ import annotations

import re

from ckgen.families.gemm.hip_config import HipConfig, HipKind
from ckgen.families.gemm.mxfp8_envelope import config_of, envelope

MODULE, LIBRARY = "mxfp8", "hip"
FORM = "m<M>_n<n_sub>_k<k_splits>"
_NAME = re.compile(r"m(0|[1-9][0-9]{0,8})_n(0|[1-9][0-9]{0,8})_k(0|[1-9][0-9]{0,8})")


def config_named(name: str) -> HipConfig | None:
    """The Config of a row's kernel; None where the name has another form or numbers that no kernel has.

    n_sub and k_splits are those of the matrix instructions' form where it takes so many rows, else of a GEMV.
    """
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    m, n_sub, k_splits = map(int, found.groups())
    kind = HipKind.MFMA if m in envelope().kinds[HipKind.MFMA].m else HipKind.GEMV
    return config_of(kind, m, n_sub, k_splits)
