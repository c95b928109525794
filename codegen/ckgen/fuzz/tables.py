"""Small tables for a fuzz run: rows of the shipped ones with sizes small enough that what they choose can run."""

from __future__ import annotations

import csv
import io
from pathlib import Path

_MOST_ROWS = 64
_M = (1, 8, 16, 40, 64, 100, 128, 200)
_NK = ((256, 512), (512, 256), (96, 1024), (128, 1024), (384, 128))
_BATCH = 2
_MEASURED = frozenset({"us", "tflops", "bw", "errRatio", "err_ratio"})
_OF_KERNEL = _MEASURED | {"libtype", "kernelId", "solidx", "splitK", "kernelName"}


def write_small_tables(shipped: Path, folder: Path) -> None:
    """A file beneath `folder` for each tuned GEMM table of `shipped`; of each key one row, every target among them."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(shipped.glob("*gemm.csv")):
        text = _shrunk(path.read_text(encoding="utf-8"))
        if text:
            (folder / path.name).write_text(text, encoding="utf-8")


def _shrunk(text: str) -> str:
    """The table with at most _MOST_ROWS rows of each target; empty for a file that is no tuned GEMM table."""
    reader = csv.DictReader(io.StringIO(text), skipinitialspace=True)
    columns = reader.fieldnames or ()
    if not {"gfx", "cu_num", "M", "N", "K", "kernelName"} <= {*columns}:
        return ""
    by_target: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in reader:
        by_target.setdefault((row["gfx"], row["cu_num"]), []).append(row)
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for rows in by_target.values():
        step = max(len(rows) // _MOST_ROWS, 1)
        for index, row in enumerate(rows[::step]):
            n, k = _NK[index // len(_M) % len(_NK)]
            small = row | {"M": str(_M[index % len(_M)]), "N": str(n), "K": str(k)}
            if "B" in row:
                small["B"] = str(_BATCH)
            found.setdefault(tuple(small[name] for name in columns if name not in _OF_KERNEL), small)
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(found.values())
    return out.getvalue()
