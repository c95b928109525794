"""Takes a shipped code object out of the wheel: `take_object.py WHEEL LIST ARCH OUT`, a command of a build's job.

LIST has lines `arch path sha256`. Only the standard library: it runs wherever a build's cache is.
"""

from __future__ import annotations

import hashlib
import sys
import zipfile
from pathlib import Path


def take(wheel: Path, listed: str, arch: str) -> bytes:
    """The arch's code object; ValueError where it is not listed, not there, or not the one that was listed."""
    if not wheel.is_file():
        raise ValueError(f"{wheel} is not there: `ckgen toolchain amd` downloads it")
    lines = (line.split() for line in listed.splitlines() if line and not line.startswith("#"))
    found = next(((path, digest) for of, path, digest in lines if of == arch), None)
    if found is None:
        raise ValueError(f"no code object is listed for {arch}")
    path, digest = found
    try:
        with zipfile.ZipFile(wheel) as archive:
            data = archive.read(path)
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} cannot be read from {wheel.name}: {error}") from error
    if hashlib.sha256(data).hexdigest() != digest:
        raise ValueError(f"{path} of {wheel.name} is not the code object of sha256 {digest}")
    return data


def main(argv: list[str]) -> int:
    """Exit code 1, and why, where it cannot be taken."""
    wheel, listed, arch, out = argv
    try:
        data = take(Path(wheel), Path(listed).read_text(encoding="utf-8"), arch)
    except ValueError as error:
        print(f"error: {error}")
        return 1
    Path(out).write_bytes(data)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
