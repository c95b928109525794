"""Where `ckgen emulate` looks for the kernel that is named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ckgen.cli.options import kernel_sets_of, tuning_or_shipped

if TYPE_CHECKING:
    from ckgen_emulator.choose import Place


def place_of(params: Mapping[str, Any], op: str) -> Place:
    """What --tuning and --kernel-set say; UsageError for a set that is not there."""
    from ckgen.families.registry import FAMILIES
    from ckgen_emulator.choose import Place

    sets = kernel_sets_of(params["kernel_sets"], FAMILIES[op].planned_with)
    return Place(tuning_or_shipped(params["tuning"]), sets)
