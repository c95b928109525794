"""The table of docs/nvidia.md of a record of tools/gpu_test.sh: `page.py RECORD.json`, Markdown to stdout."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PEERS = {"cublaslt": "cuBLASLt", "torch": "torch", "cublaslt_loop": "a loop of cuBLASLt"}
HEAD = ("| | against | problems | what is selected | our fastest | worst |", "|---|---|---|---|---|---|")


def lines(record: dict[str, Any]) -> Iterator[str]:
    """Of each signature and peer the peer's time over ours, above 1 where ours is less; the worst with its problem."""
    yield from HEAD
    for name, table in record["tables"].items():
        signature, _, known = name.partition("@")
        title = f"`{signature}`" + (f", sizes on the {known}" if known else "")
        of = {"cublaslt": table, **table.get("peers", {})}
        for peer, found in of.items():
            if not found["compared"]:
                continue
            worst = found["worst"]
            cells = (title, PEERS[peer], found["compared"], f"{found['selected']:.2f}", f"{found['best']:.2f}",
                     f"{worst['selected']:.2f} ({worst['problem']})")  # fmt: skip
            yield f"| {' | '.join(map(str, cells))} |"


def checked(record: dict[str, Any]) -> str:
    """How many runs of how many signatures were wrong."""
    checks = record["checks"]
    wrong, runs = (sum(one[what] for one in checks) for what in ("wrong", "runs"))
    return f"{wrong} wrong of {runs:,} runs of {len({one['signature'] for one in checks})} signatures"


if __name__ == "__main__":
    of_file = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    print(f"{checked(of_file)}\n", *lines(of_file), sep="\n")
