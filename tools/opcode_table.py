"""Writes docs/amd/opcodes.md: which instructions the emulator executes, and how much of AMD's own kernels they are.

usage: opcode_table.py [--traces FOLDER]   (what the tests executed: CKGEN_EMULATOR_TRACES=FOLDER pytest tests/emulator)

Counts are static, over every code object of AITER's wheel, by ckgen's own instruction counter. With --traces, what is
tested is written to opcodes_tested.json, which is where it is read from.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from ckgen.build.amd.model import AmdToolchain
from ckgen.build.amd.toolchain import load
from ckgen.build.inspect.code_object import read_code_object
from ckgen.build.inspect.decode import count_instructions
from ckgen.build.inspect.elf import Source
from ckgen.build.inspect.formats import load_formats
from ckgen.model.errors import UsageError
from ckgen_emulator.bindings import Chip, Emulator
from ckgen_emulator.isa import executed_archs, isa_text
from ckgen_emulator.production.wheel import wheel_path
from markdown_text import wrapped

DOCS = Path(__file__).parents[1] / "docs" / "amd"
_WIDTH = re.compile(r"_(?:e32|e64|dpp|sdwa)$")
_HEAD = """# What the emulator executes

Written by `python tools/opcode_table.py` from the core's own table. *Executed* instructions have semantics in
`emulator/ckgen_emulator/core`; *tested* ones run in a test of `tests/emulator`; the others are reported as
`unsupported` where a wave comes to them. *In AMD's kernels* is how often an instruction stands in the code objects of
AITER's wheel.
"""


def executed(toolchain: AmdToolchain) -> dict[str, dict[str, bool]]:
    """By arch: every mnemonic, and whether it is executed."""
    found = {}
    for arch in executed_archs():
        assert toolchain.decoder is not None
        with Emulator(Chip(arch, 1, 1, 65536), isa_text(toolchain.decoder, arch)) as emulator:
            found[arch] = emulator.opcodes()
    return found


def counted(toolchain: AmdToolchain) -> dict[str, Counter[str]]:
    """By arch: how often each mnemonic stands in the wheel's code objects."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    with zipfile.ZipFile(wheel_path(toolchain)) as archive:
        names = [name for name in archive.namelist() if name.endswith(".co")]
        for index, name in enumerate(names):
            if sys.stderr.isatty():
                print(f"\r{index + 1} of {len(names)} code objects", end="", file=sys.stderr)
            code = read_code_object(Source(name, archive.read(name)))
            if code.arch in executed_archs():
                assert toolchain.decoder is not None
                formats = load_formats(toolchain.decoder, code.arch)
                for kernel in code.kernels:
                    for mnemonic, count in count_instructions(kernel.text, formats).counts.items():
                        found[code.arch][mnemonic.partition("::")[0]] += count
    return dict(found)


def tested(folder: Path) -> set[str]:
    """The mnemonics in traces: a line's fourth word, without its encoding."""
    found: set[str] = set()
    for trace in folder.glob("*.trace"):
        with trace.open(encoding="utf-8") as lines:
            for line in lines:
                found.add(line.split(None, 4)[3])
    return {_WIDTH.sub("", word) for word in found}


def share(counts: Mapping[str, int], good: Iterable[str]) -> float:
    """What part of the instructions are good ones."""
    return sum(counts.get(name, 0) for name in set(good)) / max(sum(counts.values()), 1)


def text(runs: Mapping[str, Mapping[str, bool]], counts: Mapping[str, Mapping[str, int]], known: set[str]) -> str:
    """The page."""
    lines = [
        _HEAD,
        "| arch | instructions | executed | tested | of AMD's kernels, executed | tested |",
        "|---|---|---|---|---|---|",
    ]
    for arch, names in runs.items():
        good = {name for name, runs_here in names.items() if runs_here}
        parts = (
            [f"{share(counts[arch], good):.4%}", f"{share(counts[arch], good & known):.4%}"]
            if arch in counts
            else ["–", "–"]
        )
        lines.append(f"| {arch} | {len(names)} | {len(good)} | {len(good & known)} | {parts[0]} | {parts[1]} |")
    total: Counter[str] = Counter()
    for one in counts.values():
        total.update(one)
    everything = sorted({name for names in runs.values() for name in names})
    missing = [name for name in everything if not any(names.get(name) for names in runs.values())]
    untested = [name for name in everything if name not in missing and name not in known]
    lines += ["", "## Not executed", "", "| instruction | in AMD's kernels |", "|---|---|"]
    lines += [f"| {name} | {total[name]:,} |" for name in missing]
    lines += [
        "",
        f"## Executed, but in no test: {len(untested)}",
        "",
        ", ".join(untested) or "None.",
        "",
        "## Executed",
        "",
    ]
    groups: dict[str, list[str]] = defaultdict(list)
    for name in everything:
        if name not in missing:
            groups[name.split("_")[0]].append(name)
    for prefix, members in sorted(groups.items()):
        lines += [
            f"**{prefix}_** ({len(members)}): " + ", ".join(name.removeprefix(f"{prefix}_") for name in members),
            "",
        ]
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    """The tool."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=Path)
    options = parser.parse_args()
    try:
        toolchain = load()
    except UsageError as error:
        print(error, file=sys.stderr)
        return 2
    store = DOCS / "opcodes_tested.json"
    if options.traces:
        store.write_text(json.dumps(sorted(tested(options.traces)), indent=1) + "\n", encoding="utf-8")
    known = set(json.loads(store.read_text(encoding="utf-8")))
    counts = dict(sorted(counted(toolchain).items()))
    (DOCS / "opcodes.md").write_text(wrapped(text(executed(toolchain), counts, known)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
