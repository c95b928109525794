"""Run as a program in a Python of its own: prints tinygrad's instruction formats of one ISA as JSON.

Arguments: the folder that holds the `tinygrad` package; "cdna", "rdna3" or "rdna4"; "operands" to have each opcode's
operands too. Only the generated tables are imported; the package's own `__init__` modules, which start devices, are
not run.
"""

from __future__ import annotations

import importlib
import json
import sys
import types
from typing import Any

_PACKAGES = ("", ".renderer", ".renderer.amd", ".runtime", ".runtime.autogen", ".runtime.autogen.amd")


def formats(folder: str, isa: str) -> list[dict[str, Any]]:
    """Every format: its size in bytes, fixed bits, opcode fields with their names, and source fields."""
    for package in _PACKAGES:
        name = f"tinygrad{package}"
        module = types.ModuleType(name)
        module.__path__ = [f"{folder}/{name.replace('.', '/')}"]
        sys.modules[name] = module
    found = vars(importlib.import_module(f"tinygrad.runtime.autogen.amd.{isa}.ins"))
    base = found["Inst"]
    classes = (c for c in found.values() if isinstance(c, type) and issubclass(c, base) and c is not base)
    return [_format(cls) for cls in classes]


def operands(isa: str) -> dict[str, dict[int, dict[str, list[Any]]]]:
    """By opcode enum and number: each operand field's number format and bits. After `formats`."""
    found: dict[str, dict[int, dict[str, list[Any]]]] = {}
    for op, fields in importlib.import_module(f"tinygrad.runtime.autogen.amd.{isa}.operands").OPERANDS.items():
        described = {name: [form.name.lower(), bits] for name, (form, bits, _) in fields.items()}
        found.setdefault(type(op).__name__, {})[op.value] = described
    return found


def _format(cls: Any) -> dict[str, Any]:
    fixed, sources, opcodes = [], [], []
    for name, field in cls._fields:
        kind = type(field).__name__
        if kind == "FixedBitField":
            fixed.append([field.lo, field.hi, field.default])
        elif kind == "EnumBitField":
            allowed = field._enum if field.allowed is None else field.allowed
            opcodes.append([field.lo, field.hi, {op.value: op.name.lower() for op in allowed}])
        elif kind in ("SrcField", "SSrcField") and "dst" not in name:
            sources.append([field.lo, field.hi])
    return {"name": cls.__name__, "size": cls._base_size, "fixed": fixed, "opcodes": opcodes, "sources": sources}


if __name__ == "__main__":
    described = formats(sys.argv[1], sys.argv[2])
    whole = {"formats": described, "operands": operands(sys.argv[2])} if "operands" in sys.argv[3:] else described
    json.dump(whole, sys.stdout)
