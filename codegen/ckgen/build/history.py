"""What jobs of a family took so far: how much memory to keep for the next, and how long it will run."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from ckgen.build.entry import Entry


@dataclass(frozen=True, slots=True)
class Estimate:
    """MiB at the peak and wall seconds of a job of a family; `count` jobs were measured, 0 for a first guess."""

    peak_mb: float
    seconds: float
    count: int = 0


class History:
    """The figures of each family, in one file each; several processes may add to them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "history"
        self._known: dict[str, Estimate] = {}

    def estimate(self, family: str) -> Estimate:
        """The largest peak and the mean time that were measured, else a guess by the family's first word."""
        if family not in self._known:
            self._known[family] = self._read(family) or _guess(family)
        return self._known[family]

    def add(self, family: str, entry: Entry) -> None:
        """Counts a job that ran here."""
        known = self._read(family) or Estimate(0, 0)
        total = known.seconds * known.count + entry.seconds
        new = Estimate(max(known.peak_mb, entry.peak_mb), total / (known.count + 1), known.count + 1)
        self._known[family] = new
        self.folder.mkdir(parents=True, exist_ok=True)
        fd, name = tempfile.mkstemp(dir=self.folder)
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            json.dump(asdict(new), file)
        Path(name).replace(self._place(family))

    def _read(self, family: str) -> Estimate | None:
        try:
            fields = json.loads(self._place(family).read_text(encoding="utf-8"))
            return Estimate(float(fields["peak_mb"]), float(fields["seconds"]), int(fields["count"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _place(self, family: str) -> Path:
        return self.folder / f"{family.replace('/', '-')}.json"


def _guess(family: str) -> Estimate:
    guesses = _guesses()
    return guesses.get(family.partition("/")[0], guesses["device"])


@cache
def _guesses() -> dict[str, Estimate]:
    data = json.loads(Path(__file__).with_name("estimates.json").read_text(encoding="utf-8"))
    return {name: Estimate(guess["peak_mb"], guess["seconds"]) for name, guess in data["families"].items()}
