"""What a clang says of itself: its version, where it is installed, whose libstdc++ it takes."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ckgen.build.packages.errors import toolchain_error

HOST = "--target=x86_64-linux-gnu"
"""The host half of every unit: the machine's own glibc and libstdc++, whatever libc the compiler was built for."""

_SECONDS = 60


@dataclass(frozen=True, slots=True)
class ClangFacts:
    """`version` is the line that names it; `libstdcxx` the GCC installation whose headers are taken, if any."""

    version: str
    installed: Path | None
    libstdcxx: str | None


def ask(compiler: Sequence[str]) -> ClangFacts:
    """Runs the compiler; InputError X005 when it does not run, or is no clang."""
    command = [*compiler, HOST, "-v"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise toolchain_error("X005", f"the compiler does not run: {error}", Path(compiler[0])) from None
    said = done.stdout + done.stderr
    version = re.search(r"^.*clang version .*$", said, re.MULTILINE)
    if done.returncode or version is None:
        detail = said.splitlines()[-10:]
        raise toolchain_error("X005", f"no clang: exit code {done.returncode}", Path(compiler[0]), detail=detail)
    installed = re.search(r"^InstalledDir: (.+)$", said, re.MULTILINE)
    library = re.search(r"^Selected GCC installation: (.+)$", said, re.MULTILINE)
    return ClangFacts(
        version=" ".join(version.group().split()),
        installed=Path(installed.group(1)) if installed else None,
        libstdcxx=library.group(1) if library else None,
    )
