"""How M between and beyond the measured sizes is answered, as its template reads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ckgen.families.common.cpp import identifier
from ckgen.families.common.m_policy import Rounding, RoundingBand
from ckgen.families.common.policy import MPolicy
from ckgen.families.tables import all_roundings, rounded_module

_NO_BOUND = 0xFFFFFFFF


def policy_view(policy: MPolicy, used: Sequence[str]) -> dict[str, Any]:
    """The LadderPolicy constants that tables refer to: one for all, or the peer's own per module."""
    if policy is MPolicy.LADDER:
        return {"roundings": [], "policies": [{"name": "ladder", "kernel_m": [], "split_k_m": []}]}

    def refer(roundings: Sequence[Rounding]) -> list[dict[str, Any]]:
        return [{"name": rounding.name, "count": len(rounding.bands)} for rounding in roundings]

    return {
        "roundings": [
            {"name": identifier(name), "bands": [_band(band) for band in rounding.bands]}
            for name, rounding in all_roundings().items()
        ],
        "policies": [
            {
                "name": identifier(f"aiter_{module}"),
                "kernel_m": refer(rounded_module(module).kernel_m),
                "split_k_m": refer(rounded_module(module).split_k_m),
            }
            for module in used
        ],
    }


def _band(band: RoundingBand) -> dict[str, Any]:
    return {
        "to": identifier(band.to),
        "of": band.of,
        "m_over": band.m_over,
        "m_up_to": _NO_BOUND if band.m_up_to is None else band.m_up_to,
        "n_over": band.n_over,
    }
