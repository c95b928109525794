"""How M between and beyond the measured sizes is answered, as its template reads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ckgen.families.common.cpp import identifier, said
from ckgen.families.common.m_policy import Rounding, RoundingBand
from ckgen.families.common.policy import MPolicy
from ckgen.families.tables import all_roundings, rounded_module


def policy_view(policy: MPolicy, used: Sequence[str]) -> dict[str, Any]:
    """The LadderPolicy constants that tables refer to: one for all, or the peer's own per module; the empty one is none
    of the peer's."""
    ladder = {"name": "ladder", "kernel_m": [], "split_k_m": []}
    if policy is MPolicy.LADDER:
        return {"roundings": [], "policies": [ladder]}

    def refer(roundings: Sequence[Rounding]) -> list[str]:
        return [identifier(rounding.name) for rounding in roundings]

    return {
        "roundings": [
            {"name": identifier(name), "bands": [_band(band) for band in rounding.bands]}
            for name, rounding in all_roundings().items()
        ],
        "policies": [
            ladder
            if not module
            else {
                "name": identifier(f"aiter_{module}"),
                "kernel_m": refer(rounded_module(module).kernel_m),
                "split_k_m": refer(rounded_module(module).split_k_m),
            }
            for module in used
        ],
    }


def _band(value: RoundingBand) -> str:
    """The words of a ckgen::RoundingBand; limits that it has none of are not said."""
    limits = {"m_over": value.m_over, "m_up_to": value.m_up_to or 0, "n_over": value.n_over}
    of = [str(value.of)] if value.of else []
    to = f"ckgen::RoundingBand::To::{identifier(value.to)}"
    return f"band({', '.join((to, *of))}){''.join(said(limits, dict.fromkeys(limits, 0)))}"
