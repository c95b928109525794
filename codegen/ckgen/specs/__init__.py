"""arch_specs/*.json and target lists to model."""

from __future__ import annotations

from ckgen.specs.archs import arch_of_cu_num, load_arch, load_archs
from ckgen.specs.targets import TargetError, TargetList, parse_targets, resolve_targets

__all__ = ["TargetError", "TargetList", "arch_of_cu_num", "load_arch", "load_archs", "parse_targets", "resolve_targets"]
