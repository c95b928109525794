"""How the K iterations of a GEMM's tiles are given to workgroups: a property of a Config, and a wish of a problem."""

from __future__ import annotations

from ckgen.model.op_words import Strategy as Strategy
