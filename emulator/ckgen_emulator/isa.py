"""The opcode table of an arch as the text that the core reads: a line of the chip, one per format and opcode."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from ckgen.build.inspect import decoder_worker
from ckgen.build.inspect.formats import own_names
from ckgen.model.arch import ArchSpec
from ckgen.model.errors import UsageError
from ckgen.specs.archs import load_archs
from ckgen_emulator.chip_isa import FAMILIES, absent, older_opcodes, older_operands
from ckgen_emulator.matrix_isa import matrix_opcodes, matrix_operands

_SECONDS = 60
_ISA = "cdna"
_WIDTH = re.compile(r"_e(?:32|64)$")
_OPCODES_OF_THEIR_OWN = ("LIT", "SDST")  # variants of a format that have opcodes which the format itself lacks
_OPCODES = {"VOP3PX2": "VOP3PX2Op", "VOP3SD": "VOP3SDOp"}


def executed_archs() -> tuple[str, ...]:
    """The archs whose code can be executed: those of CDNA whose opcodes are known, sorted."""
    return tuple(name for name, arch in load_archs().items() if arch.family in FAMILIES)


@cache
def isa_text(folder: Path, arch: str) -> str:
    """The line of the chip, as core/processor.hpp has it, then lines `FORMAT number mnemonic field:type:bits…`.

    From the arch's spec, and the tinygrad package in `folder` (AMD's ISA tables). UsageError for an arch that is not
    executed, or where the tables do not load.
    """
    if arch not in executed_archs():
        raise UsageError(f"code of {arch} is not executed (known: {', '.join(executed_archs())})")
    spec = load_archs()[arch]
    family = spec.family
    described, operands = _tables(folder)
    renamed = own_names(_ISA, family)
    variants: dict[str, dict[str, str]] = {}
    for entry in described:
        base, _, variant = entry["name"].partition("_")
        if variant in _OPCODES_OF_THEIR_OWN:
            variants[base] = variants.get(base, {}) | entry["opcodes"][0][2]
    lines = [_chip_line(spec)]
    for entry in described:
        name = entry["name"]
        if not entry["opcodes"] or (name != "VOP3P_MFMA" and name.count("_")):
            continue
        base = name.partition("_")[0]
        own = {int(number): mnemonic for number, mnemonic in renamed.get(base, {}).items()}
        if name == "VOP3P_MFMA":
            own |= matrix_opcodes(family)
        own |= older_opcodes(family, name)
        known = variants.get(name, {}) | entry["opcodes"][0][2]
        names = {int(number): _WIDTH.sub("", mnemonic) for number, mnemonic in known.items()} | own
        fields = operands.get(_OPCODES.get(base, f"{base}Op"), {})
        for number, mnemonic in sorted(names.items()):
            matrix = mnemonic.startswith(("v_mfma", "v_smfmac"))
            if number in absent(family, name) or (base == "VOP3P" and matrix != (name == "VOP3P_MFMA")):
                continue
            described_fields = sorted(fields.get(str(number), {}).items())
            words = (
                matrix_operands(mnemonic)
                or older_operands(mnemonic)
                or [f"{field}:{kind.removeprefix('fmt_')}:{bits}" for field, (kind, bits) in described_fields]
            )
            lines.append(" ".join([name, str(number), mnemonic, *words]))
    return "\n".join(lines) + "\n"


def _chip_line(arch: ArchSpec) -> str:
    flavour = str(arch.fp8_flavour or "none")
    numbers = (arch.lds_banks, arch.lds_granule, arch.vgprs_per_simd_lane, arch.vgpr_granule, arch.waves_per_simd)
    return " ".join(map(str, ("chip", arch.processor, arch.elf_machine, arch.family, flavour, *numbers)))


@cache
def _tables(folder: Path) -> tuple[list[dict[str, Any]], dict[str, dict[str, dict[str, tuple[str, int]]]]]:
    worker = Path(decoder_worker.__file__)
    command = [sys.executable, "-I", "-S", str(worker), str(folder), _ISA, "operands"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode != 0:
        last = done.stderr.strip().rpartition("\n")[2]
        raise UsageError(f"no instruction tables in {folder} ({last}): `ckgen toolchain amd` prepares them")
    both = json.loads(done.stdout)
    return both["formats"], both["operands"]
