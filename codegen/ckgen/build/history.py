"""What jobs of a family took so far: how much memory to keep for the next, and how long it will run."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from ckgen.build.entry import Entry
from ckgen.build.kept import keep, kept

_SCHEMA = "ckgen.build_history/1"


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
        """The largest peak and the mean time that were measured, else a guess by the family's first words."""
        if family not in self._known:
            self._known[family] = self._read(family) or _guess(family)
        return self._known[family]

    def add(self, family: str, entry: Entry) -> None:
        """Counts a job that ran here."""
        known = self._read(family) or Estimate(0, 0)
        total = known.seconds * known.count + entry.seconds
        new = Estimate(max(known.peak_mb, entry.peak_mb), total / (known.count + 1), known.count + 1)
        self._known[family] = new
        keep(self._place(family), _SCHEMA, asdict(new))

    def _read(self, family: str) -> Estimate | None:
        fields = kept(self._place(family), _SCHEMA)
        return None if fields is None else Estimate(**fields)

    def _place(self, family: str) -> Path:
        return self.folder / f"{family.replace('/', '-')}.json"


def _guess(family: str) -> Estimate:
    guesses, words = _guesses(), family.split("/")
    known = ("/".join(words[:count]) for count in range(len(words), 0, -1))
    return next((guesses[name] for name in known if name in guesses), guesses["device"])


@cache
def _guesses() -> dict[str, Estimate]:
    data = json.loads(Path(__file__).with_name("estimates.json").read_text(encoding="utf-8"))
    return {name: Estimate(guess["peak_mb"], guess["seconds"]) for name, guess in data["families"].items()}
