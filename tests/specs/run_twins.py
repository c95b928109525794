"""Builds a library for an arch in a folder, and prints which instances its twins ran as, and how far from right.

usage: run_twins.py ARCH FOLDER
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ckgen.build.runtime_library import RuntimeProject, build_runtime
from ckgen.families.gemm.signature import parse_canonical
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.quickstart.verify import run_checked
from ckgen.runtime import RuntimeLibrary

SIGNATURE = "gemm_fp16_rcr"
SHAPES = (Shape(0, 100, 520, 264), Shape(0, 1, 64, 128), Shape(0, 300, 1024, 96))


def main(target: str, folder: Path) -> None:
    arch, _, count = target.partition(":")
    project = RuntimeProject("my_kernels", folder, (Target(arch, int(count)),), (SIGNATURE,), ("gemm",))
    library = RuntimeLibrary(build_runtime(project, lambda step: None))
    device, dispatcher = library.simulated(target), library.dispatcher([project.name])
    found = [run_checked(library, dispatcher, device, parse_canonical(SIGNATURE), shape) for shape in SHAPES]
    print(json.dumps({"instances": [one.choice.instance for one in found], "excess": [one.excess for one in found]}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
