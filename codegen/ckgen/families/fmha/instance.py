"""Instances of attention."""

from __future__ import annotations

from ckgen.families.common.instance import Instance
from ckgen.families.fmha.constraints import FmhaConstraints
from ckgen.families.fmha.grammar import AnyFmhaConfig
from ckgen.families.fmha.signature import FmhaSignature

FmhaInstance = Instance[FmhaSignature, AnyFmhaConfig, FmhaConstraints]
