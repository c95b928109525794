"""Machine code of the short texts that tests assemble, as recorded: the assembler takes 13 ms for each.

`CKGEN_RECORD_MACHINE_CODE=1 pytest -n 0 tests/emulator` adds what is not recorded, or makes the file anew.
"""

from __future__ import annotations

import atexit
import json
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_suffix(".json")
_IS_RECORDING = os.environ.get("CKGEN_RECORD_MACHINE_CODE") == "1"
_LONGEST = 200
"""Characters of a text that is recorded; few are longer, and they would be most of the file."""


@cache
def recorded(arch: str) -> Mapping[str, bytes]:
    """The machine code of an arch by the text that it was made of."""
    return {text: bytes.fromhex(code) for text, code in _code().get(arch, {}).items()}


def archs() -> tuple[str, ...]:
    """Those that there is code of."""
    return tuple(_code())


def record(arch: str, text: str, code: bytes) -> None:
    """Adds what a text became, where recording is asked for."""
    if _IS_RECORDING and len(text) <= _LONGEST:
        _code().setdefault(arch, {})[text] = code.hex()


@cache
def _code() -> dict[str, dict[str, str]]:
    if _IS_RECORDING:
        atexit.register(_write)
    known: dict[str, dict[str, str]] = json.loads(_FILE.read_text(encoding="utf-8")) if _FILE.exists() else {}
    return known


def _write() -> None:
    _FILE.write_text(json.dumps(_code(), indent=0, sort_keys=True) + "\n", encoding="utf-8")
