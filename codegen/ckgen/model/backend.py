"""Who turns a Config into code."""

from __future__ import annotations

from ckgen.model.op_words import Backend as Backend
