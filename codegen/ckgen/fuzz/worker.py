"""The processes in which cases run, forks of `python -m ckgen.fuzz.worker LIBRARY NAME TABLES [--verbose] OP…`.

Each reads a case per line of stdin and writes an outcome per line of stdout. A crash ends its process and no other.
"""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path

from ckgen.fuzz.case import parse_case
from ckgen.fuzz.check import Checker
from ckgen.fuzz.forks import serve
from ckgen.fuzz.outcome import CaseFailure, FailureKind, Outcome
from ckgen.fuzz.prepare import Inputs
from ckgen.fuzz.space import Space
from ckgen.runtime import RuntimeLibrary

READY = "ready"
VERBOSE = "--verbose"


def main(argv: list[str]) -> int:
    """Plans, and forks until nobody asks any more."""
    library, name, tables, *ops = argv
    verbose = VERBOSE in ops
    space = Inputs(tuple(op for op in ops if op != VERBOSE), Path(tables)).space()
    return serve(space, lambda planned: _serve(planned, Path(library), name, verbose))


def _serve(space: Space, library: Path, name: str, verbose: bool) -> int:
    """Answers until stdin ends."""
    checker = Checker(space, RuntimeLibrary(library), name, verbose)
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
