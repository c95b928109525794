"""amd_kernels.hip as a code object, and what the compiler's own assembly says of it: the independent reference."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from amd_support import amd_toolchain
from ckgen import paths
from ckgen.build.inspect.code_object import CodeObject, read_code_object
from ckgen.build.inspect.elf import Source

ARCHS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
SOURCE = Path(__file__).parent / "amd_kernels.hip"
SHIM = paths.dispatcher_dir() / "backends" / "hip" / "shim"
"""In front of headers, as for the build's own HIP units."""

_ENCODING = re.compile(r"_(?:e64_dpp|e32|e64|dpp8|dpp|sdwa)$")
_LABEL = re.compile(r"(\w+):")


@dataclass(frozen=True)
class Compiled:
    """One compile: the assembly that the compiler wrote, and the code object assembled from it."""

    assembly: str
    data: bytes

    def code(self) -> CodeObject:
        return read_code_object(Source("k.co", self.data))

    def opcodes(self) -> dict[str, Counter[str]]:
        """Mnemonics by kernel, as they stand in the assembly."""
        found: dict[str, Counter[str]] = {}
        current: Counter[str] | None = None
        for line in self.assembly.splitlines():
            text = line.partition(";")[0].rstrip()
            label = _LABEL.fullmatch(text)
            if label and not label[1].startswith("."):
                current = found.setdefault(label[1], Counter())
            elif text.startswith(".Lfunc_end"):
                current = None
            elif current is not None and re.match(r"\s+[a-z]", text):
                halves = (half.split()[0] for half in text.split("::"))
                current["::".join(_ENCODING.sub("", half) for half in halves)] += 1
        return {name: counts for name, counts in found.items() if counts}

    def metadata(self) -> dict[str, dict[str, Any]]:
        """The metadata by kernel, from the YAML in the assembly."""
        text = self.assembly.partition(".amdgpu_metadata\n")[2].partition("\t.end_amdgpu_metadata")[0]
        return {kernel[".name"]: kernel for kernel in yaml.safe_load(text)["amdhsa.kernels"]}


@cache
def compiled(arch: str, source: str | None = None) -> Compiled:
    """That source (amd_kernels.hip if None), compiled for an arch; skips the test where there is no toolchain."""
    toolchain = amd_toolchain()
    with TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "k.hip"
        file.write_text(SOURCE.read_text(encoding="utf-8") if source is None else source, encoding="utf-8")
        for command in (
            (*toolchain.device(arch), f"-I{SHIM}", "-O3", "-S", "-o", "k.s", "k.hip"),
            (*toolchain.assemble(arch), "-o", "k.o", "k.s"),
            (*toolchain.link(), "-o", "k.co", "k.o"),
        ):
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
        return Compiled((folder / "k.s").read_text(encoding="utf-8"), (folder / "k.co").read_bytes())
