"""What `ckgen bench` writes of each candidate and each way of a peer: lines of JSON, and CSV."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ckgen.families.registry import family_of_name
from ckgen.fuzz.case import Case
from ckgen.fuzz.operations import operation_of
from ckgen.measure.against import PeerOutcome
from ckgen.measure.conditions import Conditions
from ckgen.measure.environment import build_flags, clock_mhz, governor, gpu_clock_mhz
from ckgen.measure.model import Candidate, Effort, Environment, Measured, MeasureStatus
from ckgen.model.errors import UsageError


@dataclass(frozen=True, slots=True)
class Setting:
    """What all rows of a run share."""

    environment: Environment
    conditions: Conditions
    effort: Effort
    library: Path

    def document(self) -> dict[str, Any]:
        """By names of columns; the load is that of now."""
        where = asdict(self.environment) | {"versions": dict(self.environment.versions)}
        how = {name: getattr(self.conditions, name) for name in ("warmup", "rotating", "flush", "graph")}
        load = round(os.getloadavg()[0], 2)
        is_gpu = bool(self.environment.driver)
        mhz = gpu_clock_mhz(self.environment.bus) if is_gpu else clock_mhz()
        clock = {"governor": "" if is_gpu else governor(), "mhz": mhz}
        clocks = {**clock, "load": load}
        return {**where, "flags": build_flags(self.library), **clocks, **how, "repeat": self.effort.most}


@dataclass(frozen=True, slots=True)
class Measure:
    """Of one problem: bytes of its operands, and how many sets of them took turns."""

    problem: Case
    bytes: int
    sets: int

    def row(self, outcome: Measured, selected: Candidate | None, setting: Setting) -> dict[str, Any]:
        """Of a candidate."""
        verified = outcome.status is MeasureStatus.OK
        return {
            **self._head("candidate", outcome.candidate.instance),
            "k_batch": outcome.candidate.k_batch,
            "status": outcome.status.value,
            "reason": outcome.reason or None,
            "selected": outcome.candidate == selected,
            "verified": verified,
            **self._figures(outcome),
            "checked": outcome.checked,
            "digest": outcome.digest,
            **setting.document(),
        }

    def peer_row(self, outcome: PeerOutcome, setting: Setting) -> dict[str, Any]:
        """Of a way of a peer, verified where it was timed."""
        timed = outcome.runs > 0
        return {
            **self._head("peer", f"{outcome.peer}: {outcome.name}" if outcome.name != outcome.peer else outcome.peer),
            "k_batch": None,
            "status": MeasureStatus.OK.value if timed else MeasureStatus.REFUSED.value,
            "reason": outcome.reason or None,
            "selected": False,
            "verified": timed,
            **self._figures(outcome),
            "checked": None,
            "digest": None,
            **setting.document(),
        }

    def _head(self, kind: str, name: str) -> dict[str, Any]:
        return {
            "kind": kind,
            "signature": self.problem.signature,
            "problem": self.problem.text(),
            "name": name,
            "bytes": self.bytes,
            "sets": self.sets,
        }

    def _figures(self, outcome: Measured | PeerOutcome) -> dict[str, Any]:
        seconds = outcome.median_us * 1e-6
        signature = family_of_name(self.problem.signature).parse_signature(self.problem.signature, None)
        work = operation_of(signature).flops(self.problem, signature)
        return {
            "median_us": round(outcome.median_us, 3) if seconds else None,
            "spread": round(outcome.spread, 4) if seconds else None,
            "runs": outcome.runs,
            "gflops": round(work / seconds / 1e9, 2) if seconds and work else None,
            "gb_s": round(self.bytes / seconds / 1e9, 2) if seconds else None,
            "max_rel": _finite(outcome.max_rel),
            "frob_rel": _finite(outcome.frob_rel),
        }


def _finite(value: float) -> float | None:
    """JSON has no infinity."""
    return float(f"{value:.4g}") if math.isfinite(value) else None


def append_lines(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """A line of JSON for each row, behind what is there; UsageError where it cannot be written."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(row, allow_nan=False) + "\n" for row in rows)
    except OSError as error:
        raise UsageError(f"--out {path}: {error.strerror}") from error


def write_csv(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Replaces the file; versions are one cell. UsageError where it cannot be written."""
    flat = [{**row, "versions": " ".join(f"{name}={text}" for name, text in row["versions"].items())} for row in rows]
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(flat[0]) if flat else [], lineterminator="\n")
            writer.writeheader()
            writer.writerows(flat)
    except OSError as error:
        raise UsageError(f"--csv {path}: {error.strerror}") from error
