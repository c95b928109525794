"""With `CKGEN_EMULATOR_TRACES=FOLDER`, every instruction that the tests execute is appended to files there."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from ckgen_emulator import bindings

_TRACES = os.environ.get("CKGEN_EMULATOR_TRACES")

if _TRACES:
    folder = Path(_TRACES)
    folder.mkdir(parents=True, exist_ok=True)
    plain = bindings._options
    trace = str(folder / f"{os.getpid()}.trace")
    bindings._options = lambda options: plain(replace(options, trace=options.trace or trace))
