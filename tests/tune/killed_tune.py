"""A tune that can be killed at any time, and what kills it: `python killed_tune.py --kills 200 --seed 7`.

Each run goes on with the journal of those before it, until one ends by itself. A second file, written after each
measurement that was kept, says what was finished.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

SMALL = 0.002
"""Seconds that a fake measurement takes."""
_READY = "ready:"


@dataclass(frozen=True)
class Survived:
    """`kills` that hit, measurements `lost` and made `twice`, all there are, and torn lines that were dropped."""

    kills: int
    lost: int
    twice: int
    torn: int
    records: frozenset[str]


def tune(journal: Path, finished: Path, problems: int) -> None:
    """One run, resumed."""
    from ckgen.fuzz.case import Case
    from ckgen.measure.model import Measured
    from ckgen.model.target import Target
    from ckgen.tune.journal import Header, Journal, read_journals
    from ckgen.tune.problems import Key, in_ladders, of_counts
    from ckgen.tune.run import Options, Tuner
    from tune.fake_measurer import ENVIRONMENT, FakeMeasurer

    done = os.open(finished, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def heard(problem: Case, measured: Measured) -> None:
        os.write(done, f"{problem.text()} {measured.candidate} {measured.runs} {fake.process}\n".encode())
        time.sleep(SMALL)

    keys = {Key("gemm_bf16_rcr", 0, m, 64, 64): 1 for m in range(1, problems + 1)}
    fake = FakeMeasurer([f"k{at:02}" for at in range(16)], noise=0.05, heard=heard)
    known = read_journals([journal] if journal.exists() else [])
    print(_READY, os.getpid(), flush=True)
    with Journal(journal, Header("c0de", ENVIRONMENT)) as opened:
        Tuner(fake, opened, known, Options()).tune(in_ladders(of_counts(keys, Target("x86_64_v4", 2))))


def serve() -> None:
    """A run for each line of standard input, in a fork, which has all modules from the beginning. It prints its process
    when it is ready to be killed, and this how that ended."""
    for module in ("ckgen.tune.run", "tune.fake_measurer"):
        import_module(module)
    for line in sys.stdin:
        journal, finished, problems = json.loads(line)
        child = os.fork()
        if child == 0:
            tune(Path(journal), Path(finished), problems)
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def records_of(journal: Path) -> frozenset[str]:
    """What a journal holds, as `tune` says it was finished."""
    from ckgen.tune.journal import read_journals

    found = read_journals([journal]).records
    return frozenset(f"{one.problem} {one.measured.candidate} {one.measured.runs} {one.turn}" for one in found)


def survive(folder: Path, kills: int, seed: int, problems: int) -> Survived:
    """Kills runs at random times until so many were hit, and lets the last one end."""
    from ckgen.tune.journal import read_journals

    journal, finished = folder / "journal.jsonl", folder / "finished"
    draw = random.Random(seed)
    hit = torn = 0
    asked = json.dumps([str(journal), str(finished), problems])
    command = [sys.executable, __file__, "--serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        while True:
            print(asked, file=server.stdin, flush=True)
            word, _, run = server.stdout.readline().partition(" ")
            assert word == _READY, f"the run is not ready, but says {word}"
            if hit < kills:
                time.sleep(draw.uniform(0, 0.12))
                os.kill(int(run), signal.SIGKILL)
            ended = int(server.stdout.readline())
            if ended == 0:
                break
            assert ended == -signal.SIGKILL, ended
            hit += 1
            torn += len(read_journals([journal] if journal.exists() else []).torn)
        server.stdin.close()
    records = records_of(journal)
    written = [line for line in journal.read_text().splitlines() if line.startswith('{"measured"')]
    told = finished.read_text().splitlines()
    twice = len(written) - len(records) + sum(count - 1 for count in Counter(told).values())
    return Survived(hit, len(set(told) - records), twice, torn, records)


def main() -> None:
    """Runs, or kills runs and says what survived; exit 1 where a measurement was lost or made twice."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", action="store_true")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--problems", type=int, default=60)
    given = parser.parse_args()
    if given.serve:
        serve()
        return
    with tempfile.TemporaryDirectory() as folder:
        found = survive(Path(folder), given.kills, given.seed, given.problems)
    counts = f"{found.kills} kills, {found.lost} lost, {found.twice} twice, {found.torn} torn lines"
    print(f"seed {given.seed}: {counts}, {len(found.records)} measurements")
    sys.exit(1 if found.lost or found.twice or found.kills < given.kills else 0)


if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    sys.path[:0] = [str(root / "codegen"), str(root / "tests")]
    main()
