"""The processes in which candidates run, forks of `python -m ckgen.measure.worker LIBRARY NAME CONTENTS SETTINGS`.

Each reads a request per line of stdin, and writes lines of JSON: what it is at, what came out, and `end` behind each
answer. Whatever a kernel does ends its process and no other; the lines before say which one it was.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ckgen.fuzz.case import Case, parse_case
from ckgen.fuzz.forks import serve
from ckgen.fuzz.space import Space
from ckgen.measure.conditions import Conditions, Place
from ckgen.measure.library import Contents, contents_of
from ckgen.measure.loaded import Loaded
from ckgen.measure.model import Candidate, Effort, MeasureStatus
from ckgen.measure.quiet import settle
from ckgen.measure.timing import Body, interleaved
from ckgen.measure.trial import Refused, Trial
from ckgen.model.errors import CkgenError, UsageError

READY = "ready"
_REST = 0.02
"""Seconds after which our threads no longer spin, where a peer's are next."""
_LEAST = 0.001
"""Seconds of an end, which is none where it is 0."""
_HEARS = 0.0005
"""Seconds in which the other process reads a line, and takes a CPU for it, which kernels of this CPU would miss."""


class Worker:
    """Answers requests about one library. Operands, references and what is known of candidates stay until another
    problem is measured."""

    def __init__(self, loaded: Loaded, conditions: Conditions, tell: Callable[[Mapping[str, Any]], None]) -> None:
        self._loaded = loaded
        self._conditions = conditions
        self._tell = tell
        self._trial: Trial | None = None

    def answer(self, request: Mapping[str, Any]) -> None:
        """Tells what a request asks for; UsageError for a problem that means nothing."""
        if request["do"] == "device":
            self._tell({"end": self._loaded.device_words()})
            return
        problem = parse_case(request["problem"])
        match request["do"]:
            case "candidates":
                self._tell({"end": [asdict(one) for one in self._loaded.candidates(problem)]})
            case "selected":
                found = self._loaded.selected(problem)
                self._tell({"end": asdict(found) if found is not None else None})
            case "measure":
                candidates = [Candidate(**one) for one in request["candidates"]]
                trial = self._trial_of(problem)
                peers = tuple(request["peers"])
                self._measure(trial, candidates, {*request["checked"]}, peers, Effort(**request["effort"]))
                self._tell({"end": trial.size()})

    def _trial_of(self, problem: Case) -> Trial:
        """The last one where it is of this problem; else that is let go before there are further operands."""
        if self._trial is None or self._trial.problem != problem:
            self._trial = None
            self._trial = Trial(self._loaded, problem, self._conditions, lambda what: self._tell({"at": what}))
        return self._trial

    def _measure(
        self, trial: Trial, candidates: list[Candidate], checked: set[int], peers: tuple[str, ...], effort: Effort
    ) -> None:
        bodies: dict[str, Body] = {}
        rest = _REST if peers and not self._loaded.is_on_device else 0.0
        begun = time.monotonic()
        for number, candidate in enumerate(candidates):
            self._tell({"candidate": number})
            if bodies and effort.limit and time.monotonic() - begun > effort.limit:
                self._tell({"refused": MeasureStatus.LATE.value, "reason": f"{effort.limit:.3g} s were over before"})
                continue
            try:
                if number not in checked:
                    self._tell({"checked": asdict(trial.check(candidate))})
                bodies[str(number)] = trial.body(candidate, rest)
            except Refused as refused:
                self._tell({"refused": refused.status.value, "reason": str(refused)})
            except MemoryError:
                reason = "there is not enough memory for its operands"
                self._tell({"refused": MeasureStatus.OUT_OF_MEMORY.value, "reason": reason})
        if not bodies:
            return
        first = candidates[int(next(iter(bodies)))]
        for peer in peers:
            self._tell({"peer": peer})
            ways, outcomes = trial.offered(peer, first)
            bodies |= {f"{peer}:{way}": body for way, body in ways.items()}
            self._tell({"offered": [asdict(one) for one in outcomes]})
        self._tell({"at": "run"})
        if not self._loaded.is_on_device:
            settle()
        if effort.ends:
            effort = replace(effort, ends=max(effort.ends - (time.monotonic() - begun), _LEAST))
        timed = interleaved(bodies, effort, warmup=self._conditions.warmup, heard=self._heard)
        for name, sample in timed.items():
            if ":" not in name:
                trial.timed(candidates[int(name)], sample.median)
            times = {"median_us": sample.median * 1e6, "spread": sample.spread, "runs": len(sample.seconds)}
            self._tell({"timed": name, **times})

    def _heard(self, name: str) -> None:
        peer, colon, _ = name.partition(":")
        self._tell({"peer": peer} if colon else {"candidate": int(name)})
        if not self._loaded.is_on_device:
            time.sleep(_HEARS)


def main(argv: list[str]) -> int:
    """Plans, and forks until nobody asks any more."""
    library, name, contents, settings = argv
    what, given = contents_of(contents), json.loads(settings)
    try:
        space = what.space()
    except CkgenError as error:
        sys.stderr.write(str(error))
        return 1
    return serve(space, lambda planned: _answer(Path(library), name, what, planned, given))


def _answer(library: Path, name: str, contents: Contents, space: Space, settings: Mapping[str, Any]) -> int:
    """Answers until standard input ends."""
    _limit(settings["memory"])
    answers = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)  # what kernels print is no answer

    def tell(message: Mapping[str, Any]) -> None:
        answers.write(json.dumps(message) + "\n")

    conditions = Conditions(**settings["conditions"])
    try:
        loaded = Loaded(library, name, contents, Place(settings["place"]), space, graphs=conditions.graph)
    except CkgenError as error:
        sys.stderr.write(str(error))
        return 1
    answers.write(f"{READY} {loaded.digest}\n")
    worker = Worker(loaded, conditions, tell)
    for line in sys.stdin:
        try:
            worker.answer(json.loads(line))
        except UsageError as error:
            tell({"usage": str(error)})
        except Exception as error:
            at = traceback.extract_tb(error.__traceback__)[-1]
            tell({"internal": f"{type(error).__name__}: {error} ({Path(at.filename).name}:{at.lineno})"})
    return 0


def _limit(memory: int) -> None:
    """No core files, and so much address space."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
