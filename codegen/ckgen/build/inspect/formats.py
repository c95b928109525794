"""Instruction formats of an ISA, as tables that decode an instruction's name and length; taken from tinygrad's."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ckgen.model.errors import UsageError
from ckgen.specs.archs import arch_of_processor

ISAS = {"cdna2": "cdna", "cdna3": "cdna", "cdna4": "cdna", "rdna3": "rdna3", "rdna4": "rdna4"}
"""The families whose code can be decoded, and tinygrad's name of their ISA."""

_WIDTH = re.compile(r"_e(?:32|64)$")
_VARIANT = re.compile(r"_(?:LIT|DPP8|DPP16|SDWA|SDWA_SDST|SDST|MFMA|SDST_LIT)$")
_LITERAL_BY_NAME = re.compile(r"fma[am]k_|mad[am]k_|setreg_imm32")
_SECONDS = 60
_LITERAL = 255
_PREFIXES = {"cdna": frozenset({249, 250}), "rdna3": frozenset({233, 234, 250}), "rdna4": frozenset({233, 234, 250})}
_NO_LENGTH = frozenset({"MIMG", "VOP3PX2"})


@dataclass(frozen=True, slots=True)
class Operand:
    """A source field that may ask for one more dword: `dword` 0 or 1, and the values that do."""

    dword: int
    shift: int
    mask: int
    extends: frozenset[int]


@dataclass(frozen=True, slots=True)
class Opcode:
    """What an instruction's first bits say: mnemonic, bytes without extra dwords, operands that may add one."""

    mnemonic: str
    size: int
    always_literal: bool
    operands: tuple[Operand, ...]


@dataclass(slots=True)
class Format:
    """One encoding: which first dwords are its own, and its opcodes by the value of its opcode bits."""

    mask: int
    value: int
    size: int
    fields: tuple[tuple[int, int], ...]
    operands: tuple[Operand, ...]
    names: dict[tuple[int, ...], str] = field(default_factory=dict)

    def rename(self, mnemonics: Mapping[str, str]) -> None:
        """Takes the mnemonics of these opcode numbers for its own."""
        self.names |= {(int(number),): name for number, name in mnemonics.items()}

    def opcode(self, word: int) -> Opcode | None:
        """What a first dword of this format means; None for an opcode that the ISA does not have."""
        key = tuple((word >> shift) & mask for shift, mask in self.fields)
        name = self.names.get(key)
        return None if name is None else Opcode(name, self.size, bool(_LITERAL_BY_NAME.search(name)), self.operands)


@dataclass(frozen=True, slots=True)
class Formats:
    """Every encoding of one ISA, the most specific first; `scaled` names two-part MFMAs by their second half's op."""

    formats: tuple[Format, ...]
    key_mask: int
    scaled: Mapping[int, str]

    def opcode(self, word: int) -> Opcode | None:
        """What a first dword means; None if it begins no instruction."""
        for candidate in self.formats:
            if word & candidate.mask == candidate.value:
                found = candidate.opcode(word)
                if found is not None:
                    return found
        return None


def is_decoded(processor: str) -> bool:
    """Whether there are formats of a processor."""
    arch = arch_of_processor(processor)
    return arch is not None and arch.family in ISAS


@cache
def load_formats(folder: Path, processor: str) -> Formats:
    """The formats of a processor, read by a Python of its own from the tinygrad package in `folder`.

    UsageError if the processor has none or the package is not there.
    """
    arch = arch_of_processor(processor)
    if arch is None or arch.family not in ISAS:
        raise UsageError(f"instructions of {processor} cannot be decoded (known families: {', '.join(ISAS)})")
    isa = ISAS[arch.family]
    if not (folder / "tinygrad" / "runtime" / "autogen" / "amd").is_dir():
        raise UsageError(f"no instruction decoder in {folder}: `ckgen toolchain amd` prepares one")
    return build_formats(_described(folder.resolve(), isa), isa, own_names(isa, arch.family))


@cache
def _described(folder: Path, isa: str) -> tuple[Mapping[str, Any], ...]:
    """What the worker says of an ISA."""
    worker = Path(__file__).with_name("decoder_worker.py")
    command = [sys.executable, "-I", "-S", str(worker), str(folder), isa]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise UsageError(f"the instruction decoder in {folder} did not answer in {_SECONDS} seconds") from error
    if done.returncode != 0:
        last = done.stderr.strip().rpartition("\n")[2]
        raise UsageError(f"the instruction decoder in {folder} does not load: {last}")
    return tuple(json.loads(done.stdout))


@cache
def own_names(isa: str, family: str) -> Mapping[str, Mapping[str, str]]:
    """Mnemonics by format and opcode number, where a family's differ from tinygrad's."""
    data = json.loads(Path(__file__).with_name("mnemonics.json").read_text(encoding="utf-8"))
    found: dict[str, dict[str, str]] = {}
    for names in (data["isas"].get(isa, {}), data["families"].get(family, {})):
        for form, opcodes in names.items():
            found[form] = found.get(form, {}) | opcodes
    return found


def build_formats(
    described: Iterable[Mapping[str, Any]], isa: str, own_names: Mapping[str, Mapping[str, str]]
) -> Formats:
    """Formats from the worker's description; `own_names` are a family's own mnemonics by format and number."""
    found: dict[tuple[int, int, int], Format] = {}
    scaled: dict[int, str] = {}
    bases_first = sorted(described, key=lambda entry: bool(_VARIANT.search(entry["name"])))
    for entry in bases_first:
        if entry["name"] == "VOP3PX2":
            scaled = {int(number): name for number, name in entry["opcodes"][0][2].items()}
        base = _VARIANT.sub("", entry["name"])
        if base in _NO_LENGTH or not entry["opcodes"]:
            continue
        _add(found, entry, isa)
        if base == entry["name"]:
            found[_key(entry)].rename(own_names.get(base, {}))
    ordered = tuple(sorted(found.values(), key=lambda one: -one.mask.bit_count()))
    key_mask = 0
    for one in ordered:
        key_mask |= one.mask
        for shift, mask in one.fields:
            key_mask |= mask << shift
    return Formats(ordered, key_mask, scaled)


def _add(found: dict[tuple[int, int, int], Format], entry: Mapping[str, Any], isa: str) -> None:
    key = _key(entry)
    if key not in found:
        fields = tuple((lo, (1 << (hi - lo + 1)) - 1) for lo, hi, _ in entry["opcodes"])
        operands = tuple(_operand(index, lo, hi, isa) for index, (lo, hi) in enumerate(entry["sources"]))
        literal = isa != "cdna" or entry["size"] == 4
        found[key] = Format(key[0], key[1], entry["size"], fields, operands if literal else ())
    one = found[key]
    names: dict[tuple[int, ...], str] = {(): ""}
    for _, _, opcodes in entry["opcodes"]:
        parts = {int(number): _WIDTH.sub("", part) for number, part in opcodes.items()}
        names = {(*left, number): _joined(name, part) for left, name in names.items() for number, part in parts.items()}
    for numbers, name in names.items():
        one.names.setdefault(numbers, name)


def _key(entry: Mapping[str, Any]) -> tuple[int, int, int]:
    """Mask and value of the fixed bits in the first dword, and where the opcode lies."""
    mask = value = 0
    for lo, hi, bits in entry["fixed"]:
        mask |= ((1 << (hi - lo + 1)) - 1) << lo
        value |= bits << lo
    return mask, value, entry["opcodes"][0][0]


def _operand(index: int, lo: int, hi: int, isa: str) -> Operand:
    """Only a first source of nine bits can name DPP or SDWA; any source can name a literal."""
    extends = frozenset({_LITERAL}) | (_PREFIXES[isa] if index == 0 and hi - lo == 8 else frozenset())
    return Operand(lo // 32, lo % 32, (1 << (hi - lo + 1)) - 1, extends)


def _joined(first: str, second: str) -> str:
    return f"{first}::{second}" if first else second
