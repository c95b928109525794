"""What the files of a job are called, whichever toolchain makes them."""

from __future__ import annotations

ASSEMBLY = "unit.s"
CODE_OBJECT = "unit.code"
"""A linked code object or a cubin."""
OBJECT = "unit.o"
DEPENDENCIES = "unit.d"
