"""Writes the baseline of AMD kernels: the facts of full reports, and a page that counts them.

usage: amd_baseline.py [--keep] [--out FOLDER] SUMMARY...   (each the summary.json of `ckgen amd-check --out`)

FOLDER/baseline.json has a line per kernel, of all the reports, and is what `ckgen amd-check --against` reads;
baseline.md is written from it. FOLDER defaults to docs/amd. --keep: lines of FOLDER/baseline.json stay whose kernels no
report has.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ckgen.model.errors import UsageError
from ckgen.report.baseline import baseline, baseline_text, kernels_of

PLACE = Path(__file__).parents[1] / "docs" / "amd"

HEAD = """# AMD kernels, compiled, judged and executed

Written by `tools/amd_baseline.py` from `baseline.json`, which has a line per kernel. *Compiled* are code objects,
*gated* those that pass every rule. *Executed* are those that ran one small problem on the emulator through the
dispatcher with the exact result, *clean* those of them in which its checks found nothing. Nothing here ran on hardware.
"""
COLUMNS = ("module", "library", "dtype", "arch", "kernels", "compiled", "gated", "executed", "clean")
_CELL = COLUMNS[:4]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(usage=(__doc__ or "").partition("usage: ")[2].partition("   (")[0])
    parser.add_argument("--out", type=Path, default=PLACE)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("summaries", type=Path, nargs="+")
    asked = parser.parse_args(arguments)
    try:
        document = baseline([json.loads(one.read_text(encoding="utf-8")) for one in asked.summaries])
        if asked.keep:
            document = kept(document, json.loads((asked.out / "baseline.json").read_text(encoding="utf-8")))
    except UsageError as error:
        print(error, file=sys.stderr)
        return 2
    asked.out.mkdir(parents=True, exist_ok=True)
    (asked.out / "baseline.json").write_text(baseline_text(document), encoding="utf-8")
    (asked.out / "baseline.md").write_text(page(document), encoding="utf-8")
    return 0


def kept(document: Mapping[str, Any], known: Any) -> dict[str, Any]:
    """The document with the lines of a baseline that are not in it."""
    kernels = {**kernels_of(known), **kernels_of(document)}
    compilers = sorted({*known["compilers"], *document["compilers"]})
    return {**document, "compilers": compilers, "kernels": [kernels[place] for place in sorted(kernels)]}


def page(document: Mapping[str, Any]) -> str:
    """The page; every number in it is counted in the document."""
    kernels: Sequence[Mapping[str, Any]] = document["kernels"]
    cells = sorted({tuple(kernel[name] for name in _CELL) for kernel in kernels})
    lines = [HEAD, f"Compiler: {', '.join(document['compilers'])}.", ""]
    lines += [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    for cell in cells:
        lines.append(_line(cell, [kernel for kernel in kernels if tuple(kernel[name] for name in _CELL) == cell]))
    lines.append(_line(("all", "", "", ""), kernels))
    return "\n".join(lines) + "\n"


def _line(cell: Sequence[str], kernels: Sequence[Mapping[str, Any]]) -> str:
    right = [kernel for kernel in kernels if kernel["right"]]
    figures = (
        len(kernels),
        sum(kernel["status"] == "built" for kernel in kernels),
        sum(kernel["gated"] for kernel in kernels),
        len(right),
        sum(not kernel["findings"] for kernel in right),
    )
    return f"| {' | '.join([*cell, *map(str, figures)])} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
