"""Measures what the emulator's checks catch: machine code changed in one place, hundreds of times, run and judged.

usage: run_mutations.py [--json FILE] [--markdown FILE] [--seed S] [--most N] [--kernel NAME]

Kernels that are not in the build's cache are compiled. --json writes every mutant and what caught it, --markdown the
page, docs/amd/mutations.md where none is named; reasons of survivors are read from docs/amd/mutations_survivors.json.
Exit code 1 if a survivor has none, or if fewer than 95 % are caught.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ckgen.build.amd.toolchain import load
from ckgen.cli.option_values import tuning_or_shipped
from ckgen.progress import Progress
from ckgen.specs.archs import load_archs
from ckgen_emulator.chip import chip_of
from ckgen_emulator.gemm.build import default_context
from ckgen_emulator.gemm.runtime import build_runtime
from ckgen_emulator.isa import isa_text
from ckgen_emulator.mutate.catalogue import GEMMS, REDUCTION, REDUCTION_TARGET
from ckgen_emulator.mutate.gemm import GemmSubject
from ckgen_emulator.mutate.reduction import ReductionSubject
from ckgen_emulator.mutate.report import explained, markdown
from ckgen_emulator.mutate.run import Verdict, campaign
from ckgen_emulator.mutate.subject import Subject

PLACE = Path(__file__).parents[1] / "docs" / "amd"
_ENOUGH = 0.95


def say(text: str) -> None:
    """Where people look, not where JSON goes."""
    print(text, file=sys.stderr)


def subject(name: str, folder: Path) -> Subject:
    """The kernel of that name."""
    toolchain, archs = load(), load_archs()
    if name != REDUCTION:
        context = default_context(toolchain, archs, say, Progress())
        return GemmSubject(GEMMS[name], tuning_or_shipped(()), folder, context, build_runtime(say))
    assert toolchain.decoder is not None
    target = REDUCTION_TARGET
    chip = chip_of(archs[target.gfx], target.cu_num)
    return ReductionSubject(chip, isa_text(toolchain.decoder, target.gfx), toolchain)


def judge(name: str, seed: int, most: int) -> list[dict[str, Any]]:
    """All mutants of one kernel, in this process."""

    def heard(verdict: Verdict) -> None:
        one, caught = verdict.mutant, verdict.caught
        said = f"{', '.join(caught.by)} (problem {caught.problem}, seed {caught.seed})" if caught else "SURVIVED"
        say(f"{name}: {one.operator} {one.address:#x} {one.before} -> {one.after}: {said}")

    with TemporaryDirectory(prefix="ckgen-mutations-") as folder:
        verdicts = campaign(subject(name, Path(folder)), load(), Path(folder), seed, most, heard)
    crashes = [one for one in verdicts if one.crash]
    if crashes:
        raise SystemExit(f"{name}: the emulator itself failed: {crashes[0].to_json()}")
    return [one.to_json() for one in verdicts]


def judged(names: list[str], seed: int, most: int) -> dict[str, list[dict[str, Any]]]:
    """A process per kernel: their libraries have the same symbols."""
    found: dict[str, list[dict[str, Any]]] = {}
    for name in names:
        command = [sys.executable, __file__, "--part", name, "--seed", str(seed), "--most", str(most)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found[name] = json.loads(done.stdout)
    return found


def main() -> int:
    """Runs from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path, default=PLACE / "mutations.md")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int, default=6)
    parser.add_argument("--kernel", choices=[*GEMMS, REDUCTION], action="append")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.part:
        json.dump(judge(asked.part, asked.seed, asked.most), sys.stdout)
        return 0
    reasons = PLACE / "mutations_survivors.json"
    known = json.loads(reasons.read_text(encoding="utf-8")) if reasons.exists() else []
    verdicts = judged(asked.kernel or [*GEMMS, REDUCTION], asked.seed, asked.most)
    kernels = {name: explained(name, found, known) for name, found in verdicts.items()}
    everything = [one for found in kernels.values() for one in found]
    caught = sum(one["caught"] is not None for one in everything)
    document = {
        "seed": asked.seed, "most": asked.most, "made": len(everything), "caught": caught, "kernels": kernels,
    }  # fmt: skip
    if asked.json is not None:
        asked.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    asked.markdown.write_text(markdown(document), encoding="utf-8")
    unexplained = sum(not one["caught"] and not one["why"] for one in everything)
    say(f"{len(everything)} mutants, {caught} caught, {unexplained} survivors without a reason")
    return 1 if unexplained or caught < _ENOUGH * len(everything) else 0


if __name__ == "__main__":
    raise SystemExit(main())
