"""What options that choose instances say, as `generate` and `export` take them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckgen.cli.option_values import (
    assumed_dtype,
    assumptions,
    backends_of,
    kernel_sets_of,
    ops_of,
    profiles_of,
    targets_or_env,
    tuning_or_shipped,
)
from ckgen.model.arch import ArchSpec
from ckgen.plan.options import PlanOptions


def chosen(params: Mapping[str, Any], archs: Mapping[str, ArchSpec]) -> PlanOptions:
    """Of `choosing_options`, `module_option` and `assume_option`; UsageError for a value that nobody knows."""
    return PlanOptions(
        targets=targets_or_env(params["targets"], archs),
        ops=ops_of(params["ops"]),
        tuning=tuning_or_shipped(params["tuning"]),
        module=params["module"],
        kernel_sets=kernel_sets_of(params["kernel_sets"], ops_of(params["ops"])),
        profiles=profiles_of(params["profiles"]),
        kernels=tuple(params["kernels"]),
        signatures=tuple(params["signatures"]),
        backends=backends_of(params["backends"]),
        assume_gfx=assumptions(params["assume_gfx"], archs),
        assume_dtype=assumed_dtype(params["assume_dtype"]),
        every_row=True,
    )
