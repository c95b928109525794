"""What all benchmarks share: their options, what they say about where they ran, and the rows that they print.

A benchmark is a file with `rows(run)`, which yields a Row for each figure, and ends with `main(rows, __doc__)`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / folder) for folder in ("codegen", "emulator", "tests")]

from ckgen.measure.environment import cpu_name, loaded_versions  # noqa: E402
from ckgen.measure.model import Effort  # noqa: E402
from ckgen.measure.timing import QUICK, Body, Sample, interleaved  # noqa: E402

CXX = os.environ.get("CXX", "g++")
SCALES = {"s": 1.0, "ms": 1e3, "µs": 1e6, "ns": 1e9}
_THREADS = ("CKGEN_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. Of a time, `ratio` is the peer's over ours: above 1 ours is faster.

    peer is the fastest of `peers`, which has all of them in `unit`, or why one is not there. runs: rounds of ours;
    spread: of ours, half of what lies between its quartiles, as a part of its median; load: the machine's, over a
    minute, when the row was made.
    """

    name: str
    what: str
    shape: str
    unit: str
    ours: float
    kernel: str
    peer: str
    ratio: float | None
    peers: dict[str, float | str]
    spread: float
    runs: int
    command: str
    cpu: str
    threads: int
    load: float
    versions: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """One run of a benchmark: what was asked for, and a folder of its own."""

    script: str
    folder: Path
    threads: int
    quick: bool
    only: str

    def wants(self, name: str) -> bool:
        """Whether the row of that name is asked for."""
        return fnmatchcase(name, self.only)

    def measure(
        self, name: str, what: str, shape: str, ours: Body, peers: Mapping[str, Body | str], *, unit: str = "ms",
        kernel: str = "", effort: Effort | None = None,
    ) -> Row:  # fmt: skip
        """Ours against all peers in turns; a peer that is a text is not offered, and the text says why."""
        bodies = {name: body for name, body in peers.items() if isinstance(body, Body)}
        samples = interleaved({"": ours, **bodies}, QUICK if self.quick else effort or Effort())
        found = {name: samples.get(name, body) for name, body in peers.items()}
        told = {name: one for name, one in found.items() if isinstance(one, Sample | str)}
        return self.timed(name, what, shape, samples[""], told, unit=unit, kernel=kernel)

    def timed(
        self, name: str, what: str, shape: str, ours: Sample, peers: Mapping[str, Sample | str], *, unit: str = "ms",
        kernel: str = "",
    ) -> Row:  # fmt: skip
        """The row of times that were taken already."""
        scale = SCALES[unit]
        medians = {name: one.median for name, one in peers.items() if isinstance(one, Sample)}
        best = min(medians, key=lambda name: medians[name], default="")
        told = {name: rounded(one.median * scale) if isinstance(one, Sample) else one for name, one in peers.items()}
        ratio = rounded(medians[best] / ours.median) if best else None
        spread, runs = round(ours.spread, 3), len(ours.seconds)
        return self._row(name, what, shape, unit, rounded(ours.median * scale), kernel, best, ratio, told, spread, runs)

    def counted(
        self, name: str, what: str, shape: str, unit: str, ours: float, peers: Mapping[str, float | str] | None = None
    ) -> Row:
        """The row of what is counted, not timed: the same in every run."""
        return self._row(name, what, shape, unit, rounded(ours), "", "", None, dict(peers or {}), 0.0, 1)

    def _row(
        self, name: str, what: str, shape: str, unit: str, ours: float, kernel: str, peer: str, ratio: float | None,
        peers: dict[str, float | str], spread: float, runs: int,
    ) -> Row:  # fmt: skip
        command = f"python benchmarks/{self.script}.py --threads {self.threads} --only {name}"
        place = (command, cpu_name(), self.threads, round(os.getloadavg()[0], 1), versions())
        return Row(f"{self.script}.{name}", what, shape, unit, ours, kernel, peer, ratio, peers, spread, runs, *place)


def rounded(value: float) -> float:
    """To three significant digits; whole numbers as they are."""
    return value if float(value).is_integer() else float(f"{value:.3g}")


def option_parser(doc: str | None = None) -> argparse.ArgumentParser:
    """The options that every benchmark has; there are no others."""
    parser = argparse.ArgumentParser(description=(doc or "").split("\n")[0])
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of ours and of the peers")
    parser.add_argument("--only", default="*", metavar="NAME", help="rows of that name; * stands for any text")
    parser.add_argument("--quick", action="store_true", help="one round each: shows that it works, measures nothing")
    parser.add_argument("--json", action="store_true", help="rows as one JSON document, progress on stderr")
    return parser


def on_threads(threads: int) -> None:
    """So many of ours and of every peer; begins the program anew where they are others."""
    wanted = dict.fromkeys(_THREADS, str(threads))
    if not wanted.items() <= os.environ.items():  # libraries read it when they are loaded, and some are
        os.environ.update(wanted)
        os.execv(sys.executable, [sys.executable, *sys.argv])


def main(rows: Callable[[Run], Iterable[Row]], doc: str | None) -> None:
    """Runs the benchmark and prints its rows."""
    given = option_parser(doc).parse_args()
    on_threads(given.threads)
    script = Path(sys.argv[0]).stem
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        run = Run(script, Path(folder), given.threads, given.quick, given.only)
        found = list(_told(rows(run)))
    print(f"{script}: {len(found)} rows in {time.perf_counter() - began:.0f} s", file=sys.stderr)
    if given.json:
        print(json.dumps([asdict(row) for row in found], ensure_ascii=False))
        return
    print(f"{cpu_name()}, {given.threads} threads, load {os.getloadavg()[0]:.1f}, {versions()}")
    for row in found:
        print(f"{row.name:34} {row.what}, {row.shape}: {row.ours:g} {row.unit} (± {row.spread:.1%}, {row.runs} runs)")
        if row.kernel:
            print(f"{'':34} takes {row.kernel}")
        for name, value in row.peers.items():
            print(f"{'':34} {name}: {value if isinstance(value, str) else f'{value:g} {row.unit}'}")
        if row.ratio is not None:
            print(f"{'':34} {row.ratio:g}x the speed of {row.peer}")


def _told(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows, each with a line of progress."""
    for row in rows:
        against = f", {row.ratio:g}x {row.peer}" if row.ratio is not None else ""
        print(f"{row.name}: {row.ours:g} {row.unit}{against}", file=sys.stderr, flush=True)
        yield row


@cache
def _fixed_versions() -> dict[str, str]:
    from ckgen import __version__

    compiler = subprocess.run([CXX, "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
    return {"ckgen": __version__, CXX: compiler, "python": platform.python_version()}


def versions() -> dict[str, str]:
    """Ours, and those of the libraries that are loaded."""
    return _fixed_versions() | loaded_versions()
