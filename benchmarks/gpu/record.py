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
OTHER_PEERS = ("cublaslt_loop", "torch")
ON_DEVICE = "@device"
_CHECK = re.compile(
    r"check (\S+): (\d+) kernels, (\d+) shapes, (\d+) runs, (\d+) refused, (\d+) wrong, worst error ([0-9.]+)"
)
_CHECKED = ("kernels", "shapes", "runs", "refused", "wrong")
_INVARIANCE = re.compile(r"invariance \S+: (\d+) rows and (\d+) kernels, (\d+) wrong; .* time ([0-9.]+)")
_REPEAT = re.compile(r"repeat \S+: (\d+) kernels and problems, (\d+) launches, (\d+) bursts with other bytes")
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
    found["repeat"] = {one.stem.removeprefix("repeat_"): repeated(one) for one in sorted(folder.glob("repeat_*.txt"))}
    found["host_us"] = {what.strip(): float(us) for what, us in _HOST.findall(text(folder / "host.txt"))}
    found["tables"] = {}
    for one in sorted(folder.glob("table_*.csv")):
        found["tables"] |= tables(one)
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


def repeated(file: Path) -> dict[str, Any]:
    """Launches of kernels whose bytes are to be the same; `other` is null where it did not come to its end."""
    seen = _REPEAT.search(text(file))
    if seen is None:
        return {"other": None, "end": last_line(file)}
    return {"kernels": int(seen[1]), "launches": int(seen[2]), "other": int(seen[3])}


def tables(file: Path) -> dict[str, dict[str, Any]]:
    """Of one file by its signature; those of groups whose sizes the device knows stand beside, `@device` behind it."""
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    name = file.stem.removeprefix("table_")
    found = {name: table([row for row in rows if not row["kernel"].endswith(ON_DEVICE)])}
    if any(row["kernel"].endswith(ON_DEVICE) for row in rows):
        of_device = [row for row in rows if row["kernel"].endswith(ON_DEVICE) or is_peer(row["kernel"])]
        found[name + ON_DEVICE] = table(of_device)
    return found


def table(rows: list[dict[str, str]]) -> dict[str, Any]:
    """Of cuBLASLt, and of each other peer that was timed by its name."""
    times: dict[tuple[str, ...], dict[str, float]] = defaultdict(dict)
    taken: dict[tuple[str, ...], str] = {}
    for row in rows:
        many = row.get("groups") or row.get("batch") or "0"
        problem = (many, row["m"], row["n"], row["k"])
        times[problem][row["kernel"]] = float(row["us"])
        if row["is_selected"] == "1":
            taken[problem] = row["kernel"]
    others = {peer: beside(peer, times, taken) for peer in OTHER_PEERS if any(peer in of for of in times.values())}
    return {**beside(PEER, times, taken), **({"peers": others} if others else {})}


def beside(
    peer: str, times: dict[tuple[str, ...], dict[str, float]], taken: dict[tuple[str, ...], str]
) -> dict[str, Any]:
    """A peer's time over that of the selected kernel, of our fastest, of the fastest of both: above 1 is faster."""
    both = [one for one, of in times.items() if peer in of and one in taken]
    if not both:
        return {"problems": len(times), "compared": 0}
    selected = {one: times[one][peer] / times[one][taken[one]] for one in both}
    best = [times[one][peer] / min(us for name, us in times[one].items() if is_ours(name)) for one in both]
    either = [times[one][peer] / min(times[one].values()) for one in both]
    by_m: dict[int, list[float]] = defaultdict(list)
    for one, ratio in selected.items():
        by_m[int(one[1])].append(ratio)
    worst = min(selected, key=lambda one: selected[one])
    return {
        "problems": len(times),
        "compared": len(both),
        "selected": rounded(geometric_mean(selected.values())),
        "best": rounded(geometric_mean(best)),
        "best_of_both": {"all": rounded(geometric_mean(either)), "worst": rounded(min(either))},
        "worst": {"problem": problem_text(worst), "selected": rounded(selected[worst])},
        "by_m": {str(m): rounded(geometric_mean(of)) for m, of in sorted(by_m.items())},
    }


def problem_text(problem: tuple[str, ...]) -> str:
    """M, N and K, with the batch or the number of groups before them."""
    many, *sizes = problem
    count = many.count(";") + 1 if ";" in many else int(many)
    return (f"{count}*" if count else "") + "x".join(sizes)


def is_peer(kernel: str) -> bool:
    """Whether it is torch, cuBLASLt's own choice or another answer of it; one that selection took has an instance's
    name."""
    return kernel.partition(":")[0] in (PEER, *OTHER_PEERS)


def is_ours(kernel: str) -> bool:
    """Whether ckgen built it."""
    return not is_peer(kernel) and f"_{PEER}_" not in kernel


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
