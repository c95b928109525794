"""One JSON document of what tools/gpu_test.sh left in a folder: `record.py FOLDER > RECORD.json`."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections import defaultdict
from pathlib import Path
from statistics import geometric_mean
from typing import Any

SCHEMA = "ckgen.gpu_test/1"
PEER = "cublaslt"
_CHECK = re.compile(
    r"check (\S+): (\d+) kernels, (\d+) shapes, (\d+) runs, (\d+) refused, (\d+) wrong, worst error ([0-9.]+)"
)
_CHECKED = ("kernels", "shapes", "runs", "refused", "wrong")
_INVARIANCE = re.compile(r"invariance \S+: (\d+) rows and (\d+) kernels, (\d+) wrong; .* time ([0-9.]+)")
_HOST = re.compile(r"^ *(.+?) +([0-9.]+) us$", re.MULTILINE)


def record_of(folder: Path) -> dict[str, Any]:
    """Facts of the machine, checks, host times, and times by signature; what is missing is not there."""
    found: dict[str, Any] = {"schema": SCHEMA}
    found |= {name: text(folder / f"{name}.txt") for name in ("device", "driver", "skipped", "seconds")}
    found["checks"] = [checked(one) for one in sorted(folder.glob("check_*.txt"))]
    found["sanitizer"] = {one.stem: last_line(one) for one in sorted(folder.glob("sanitizer_*.txt"))}
    found["invariance"] = {
        one.stem.removeprefix("invariance_"): invariant(one) for one in sorted(folder.glob("invariance_*.txt"))
    }
    found["host_us"] = {what.strip(): float(us) for what, us in _HOST.findall(text(folder / "host.txt"))}
    found["tables"] = {one.stem.removeprefix("table_"): table(one) for one in sorted(folder.glob("table_*.csv"))}
    return found


def checked(file: Path) -> dict[str, Any]:
    """What a check counted; `wrong` is null where it did not come to its end."""
    seen = _CHECK.search(text(file))
    if seen is None:
        return {"name": file.stem, "wrong": None, "end": last_line(file)}
    counts = dict(zip(_CHECKED, map(int, seen.groups()[1:6]), strict=True))
    return {"signature": seen[1], **counts, "worst": float(seen[7])}


def invariant(file: Path) -> dict[str, Any]:
    """Rows and kernels compared, and what one order costs; `wrong` is null where it did not come to its end."""
    seen = _INVARIANCE.search(text(file))
    if seen is None:
        return {"wrong": None, "end": last_line(file)}
    return {"rows": int(seen[1]), "kernels": int(seen[2]), "wrong": int(seen[3]), "time": float(seen[4])}


def table(file: Path) -> dict[str, Any]:
    """cuBLASLt's time over that of the selected kernel, of our fastest, of the fastest of both: above 1 is faster."""
    times: dict[tuple[int, int, int], dict[str, float]] = defaultdict(dict)
    taken: dict[tuple[int, int, int], str] = {}
    with file.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            problem = (int(row["m"]), int(row["n"]), int(row["k"]))
            times[problem][row["kernel"]] = float(row["us"])
            if row["is_selected"] == "1":
                taken[problem] = row["kernel"]
    both = [one for one, of in times.items() if PEER in of and one in taken]
    if not both:
        return {"problems": len(times), "compared": 0}
    selected = {one: times[one][PEER] / times[one][taken[one]] for one in both}
    best = [times[one][PEER] / min(us for name, us in times[one].items() if not is_peer(name)) for one in both]
    either = [times[one][PEER] / min(times[one].values()) for one in both]
    by_m: dict[int, list[float]] = defaultdict(list)
    for one, ratio in selected.items():
        by_m[one[0]].append(ratio)
    worst = min(selected, key=lambda one: selected[one])
    return {
        "problems": len(times),
        "compared": len(both),
        "selected": rounded(geometric_mean(selected.values())),
        "best": rounded(geometric_mean(best)),
        "best_of_both": {"all": rounded(geometric_mean(either)), "worst": rounded(min(either))},
        "worst": {"problem": "x".join(map(str, worst)), "selected": rounded(selected[worst])},
        "by_m": {str(m): rounded(geometric_mean(of)) for m, of in sorted(by_m.items())},
    }


def is_peer(kernel: str) -> bool:
    """Whether it is cuBLASLt's own choice or another answer of it; one that selection took has an instance's name."""
    return kernel.partition(":")[0] == PEER


def rounded(ratio: float) -> float:
    """To a thousandth."""
    return round(ratio, 3)


def text(file: Path) -> str:
    """Without its ends; empty where there is no file."""
    return file.read_text(encoding="utf-8", errors="replace").strip() if file.is_file() else ""


def last_line(file: Path) -> str:
    """Of a file."""
    return (text(file).splitlines() or [""])[-1]


if __name__ == "__main__":
    json.dump(record_of(Path(sys.argv[1])), sys.stdout, indent=1)
    print()
