"""A program of a job: what nvdisasm says of a cubin, as a file. It imports nothing of ckgen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main(arguments: list[str]) -> int:
    """`nvdisasm CUBIN OUT`: OUT is the cubin's text in SASS; nvdisasm's own exit code."""
    program, cubin, out = arguments
    done = subprocess.run([program, "-c", cubin], capture_output=True, text=True, check=False)
    sys.stderr.write(done.stderr)
    if done.returncode == 0:
        Path(out).write_text(done.stdout, encoding="utf-8")
    return done.returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
