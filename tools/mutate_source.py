"""Measures what the tests of a room catch: its source changed in one place, drawn by a seed, and its own tests run.

usage: mutate_source.py --room NAME [--seed S] [--count N] [--mutant ID ...] [--json]

Works in a copy of the repository. Progress goes to stderr, the figures (or with --json all verdicts) to stdout.
--mutant judges single ones of all that can be drawn, by the names that a report gives them. Needs the optional
dependencies `mutation`. Exit code 1 if fewer than 90 % of the mutants that are not equivalent are killed, or if
`mutation/equivalents/` lists what is no mutant.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys

from mutation.campaign import Verdict, campaign
from mutation.report import campaign_json, campaign_text, verdict_text
from mutation.rooms import rooms

_ENOUGH = 90.0


def heard(verdict: Verdict) -> None:
    print(verdict_text(verdict), file=sys.stderr, flush=True)


def main() -> int:
    known = rooms()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--room", required=True, choices=sorted(known))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--mutant", action="append", default=[], metavar="ID")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that the copy is removed
    result = campaign(known[options.room], options.seed, options.count, frozenset(options.mutant), heard)
    print(json.dumps(campaign_json(result), indent=1) if options.json else campaign_text(result))
    return 0 if result.percentage >= _ENOUGH and not result.stale else 1


if __name__ == "__main__":
    sys.exit(main())
