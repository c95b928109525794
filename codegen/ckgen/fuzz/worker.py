"""The process in which cases run: `python -m ckgen.fuzz.worker LIBRARY NAME TABLES [--verbose] OP…`.

Reads a case per line of stdin and writes an outcome per line of stdout. A crash ends this process and no other.
"""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path

from ckgen.fuzz.case import parse_case
from ckgen.fuzz.check import Checker
from ckgen.fuzz.outcome import CaseFailure, FailureKind, Outcome
from ckgen.fuzz.prepare import Inputs
from ckgen.runtime import RuntimeLibrary

READY = "ready"
VERBOSE = "--verbose"


def main(argv: list[str]) -> int:
    """Answers until stdin ends."""
    library, name, tables, *ops = argv
    verbose = VERBOSE in ops
    inputs = Inputs(tuple(op for op in ops if op != VERBOSE), Path(tables))
    checker = Checker(inputs.space(), RuntimeLibrary(Path(library)), name, verbose)
    print(READY, flush=True)
    for line in sys.stdin:
        print(json.dumps(_answer(checker, line).to_json()), flush=True)
    return 0


def _answer(checker: Checker, line: str) -> Outcome:
    """An error of the fuzzer itself, or of ckgen's Python, is a failure of the case."""
    try:
        return checker.check(parse_case(line))
    except Exception as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        what = f"{type(error).__name__}: {error} ({Path(at.filename).name}:{at.lineno})"
        return CaseFailure(FailureKind.INTERNAL, what).outcome


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
