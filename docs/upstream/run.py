"""Compiles a reproducer with the toolchain of `ckgen toolchain amd`, host side only, and runs it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from ckgen import paths
from ckgen.build.amd.toolchain import load
from ckgen.build.flags import Trait, flags_of


def main(source: Path) -> int:
    """The program's exit code; its output goes where ours goes."""
    toolchain = load()
    flags = flags_of("amd", toolchain.kind.value, "ck", "", Trait.HOST)
    includes = (f"-I{paths.dispatcher_dir() / folder}" for folder in flags.includes)
    with tempfile.TemporaryDirectory() as folder:
        unit, program = Path(folder, "unit.o"), Path(folder, "program")
        subprocess.run((*toolchain.host(), *flags.words, *includes, "-c", "-o", unit, source), check=True)
        subprocess.run(("c++", "-o", program, unit), check=True)
        return subprocess.run((program,), check=False).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
