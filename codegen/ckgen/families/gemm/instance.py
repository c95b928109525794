"""Instances of GEMMs and of what is made of them."""

from __future__ import annotations

from ckgen.families.common import instance
from ckgen.families.gemm.problem_rules import Constraints
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.config import Config

Instance = instance.Instance[GemmSignature, Config, Constraints]
"""Its Config is one of its own family's."""
