"""Prints how many instances gfx942 and an arch that copies it have without AMD's own objects.

usage: another_arch.py ARCH TABLES   (a folder of MoE tables whose rows gfx942 measured)
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from ckgen.families.fmha.signature import OP as FMHA
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.families.gemm.naming import ops_word
from ckgen.families.kernel_sets import OPS, SHIPPED, kernel_set_files
from ckgen.model.backend import Backend
from ckgen.model.target import Target
from ckgen.plan.model import AnyInstance
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import make_plan
from ckgen.specs import load_archs

ORIGINAL = "gfx942"
COUNTS = (304, 80)


def counts(options: PlanOptions, arch: str) -> Counter[str]:
    """By op and backend."""
    backends = frozenset(str(backend) for backend in Backend if backend is not Backend.ASM)
    found = make_plan(replace(options, backends=backends), load_archs()).instances
    return Counter(f"{_op(one)} {one.backend}" for one in found if arch in one.archs)


def _op(instance: AnyInstance) -> str:
    """The word that `--ops` has for it."""
    signature = instance.signature
    return FMHA if isinstance(signature, FmhaSignature) else ops_word(signature, instance.config)


def main(arch: str, tables: Path) -> None:
    found = {}
    for name in (ORIGINAL, arch):
        targets = tuple(Target(name, count) for count in COUNTS)
        sets = tuple(file for one in SHIPPED for file in kernel_set_files(Path(one)))
        total = counts(PlanOptions(targets=targets, ops=frozenset(OPS), kernel_sets=sets), name)
        with TemporaryDirectory() as folder:
            for file in tables.glob("*tuned_fmoe*.csv"):
                text = file.read_text(encoding="utf-8").replace(ORIGINAL, name)
                (Path(folder) / file.name).write_text(text, encoding="utf-8")
            total += counts(PlanOptions(targets=targets, ops=frozenset({"moe"}), tuning=(Path(folder),)), name)
        found[name] = dict(sorted(total.items()))
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
