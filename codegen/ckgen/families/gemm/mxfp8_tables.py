"""What a row of a table of the MX-FP8 kernels for few rows means: a Config by its name, or none of ours."""

from __future__ import annotations

import re

from ckgen.families.gemm.hip_config import HipConfig, HipKind
from ckgen.families.gemm.mxfp8_envelope import config_of, envelope

MODULE, LIBRARY = "mxfp8", "hip"
FORM = "<gemv|mfma>_m<M>_n<n_sub>_k<k_splits>"
_KINDS = {kind.value: kind for kind in HipKind if not kind.is_moe}
_COUNT = "([1-9][0-9]{0,8})"
_NAME = re.compile(f"({'|'.join(_KINDS)})_m{_COUNT}_n{_COUNT}_k{_COUNT}")


def name_of_row(kind: HipKind, m: int, n_sub: int, k_splits: int) -> str:
    """The name of the kernel that a row chooses, in FORM; where there is none, the row's own numbers."""
    config = config_of(kind, m, n_sub, k_splits)
    if config is not None:
        m, n_sub, k_splits = config.m, config.n_sub, config.k_splits
    return f"{kind}_m{m}_n{n_sub}_k{k_splits}"


def usual_kind(m: int) -> HipKind:
    """That of rows that tell none: matrix instructions where they take so many rows, else a GEMV."""
    return HipKind.MFMA if m in envelope().kinds[HipKind.MFMA].m else HipKind.GEMV


def config_named(name: str) -> HipConfig | None:
    """The Config of a kernel's name; None where the name has another form or numbers that no kernel has."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    kind, (m, n_sub, k_splits) = _KINDS[found[1]], map(int, found.groups()[1:])
    config = config_of(kind, m, n_sub, k_splits)
    return config if config is not None and config.m == m else None


def describe_names() -> str:
    """FORM and the numbers that there are, for an error's detail."""
    numbers = (
        f"{kind}: M {f'up to {known.m[-1]}' if kind is HipKind.GEMV else f'of {_listed(known.m)}'}, "
        f"n_sub of {_listed((0, *known.n_sub))}, k_splits of {_listed((0, *known.k_splits))}"
        for kind, known in envelope().kinds.items()
        if not kind.is_moe
    )
    return f"{FORM}; {'; '.join(numbers)}"


def _listed(values: tuple[int, ...]) -> str:
    return ", ".join(map(str, values))
