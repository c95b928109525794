"""arch_specs/*.json and target lists to model."""

from __future__ import annotations

from ckgen.specs.archs import (
    arch_of_cu_num,
    arch_of_processor,
    load_arch,
    load_archs,
    processor_of,
    spec_dirs,
)
from ckgen.specs.targets import TargetError, TargetList, parse_targets, resolve_targets, target_of_product

__all__ = [
    "TargetError",
    "TargetList",
    "arch_of_cu_num",
    "arch_of_processor",
    "load_arch",
    "load_archs",
    "parse_targets",
    "processor_of",
    "resolve_targets",
    "spec_dirs",
    "target_of_product",
]
