"""The library that is fuzzed: planned in Python, generated and built once per checkout, then reused."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from ckgen import paths
from ckgen.build.packages.place import cache_room
from ckgen.build.runtime_library import RuntimeProject, build_runtime
from ckgen.families.kernel_sets import kernel_set_files
from ckgen.fuzz.space import Space
from ckgen.fuzz.tables import write_small_tables
from ckgen.model.target import Target
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import make_plan
from ckgen.specs.archs import load_archs
from ckgen.specs.targets import target_of_product
from ckgen.version import __version__

NAME = "ckgen_fuzzed"
_KERNEL_SETS = (Path("ci"),)
_MORE = ("MI308X",)
"""Products that are not their arch's default."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a plan is made from: these operations, and small tables in a folder. Equal inputs make equal plans."""

    ops: tuple[str, ...]
    tables: Path

    def options(self) -> PlanOptions:
        """As `plan_options`."""
        return plan_options(self.ops, self.tables)

    def space(self) -> Space:
        """What is drawn from, planned anew."""
        archs = load_archs()
        return Space(make_plan(self.options(), archs), archs)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A built library, what the plan was made from that it was generated of, and that plan."""

    library: Path
    inputs: Inputs
    space: Space


def plan_options(ops: Collection[str], tables: Path) -> PlanOptions:
    """Every arch, the default kernels, the set `ci`, options of an op that neither has, that folder's tables."""
    archs = load_archs()
    sets = [file for path in _KERNEL_SETS for file in kernel_set_files(path, ops)]
    more = (Path(__file__).with_name(f"{op}_options.yaml") for op in sorted(ops))
    sets += [file for file in more if file.exists()]
    targets = {*map(target_of_product, _MORE), *(Target(name, arch.default_cu_num) for name, arch in archs.items())}
    return PlanOptions(
        targets=tuple(sorted(targets)),
        ops=frozenset(ops),
        tuning=(tables,),
        kernel_sets=tuple(sets),
    )


def inputs_of(ops: Collection[str], folder: Path) -> Inputs:
    """The inputs of these operations; the small tables are written to `folder`."""
    tables = folder / "tables"
    write_small_tables(paths.tuning_dir() / "aiter", tables)
    return Inputs(tuple(sorted(ops)), tables)


def prepare(ops: Collection[str], say: Callable[[str], None]) -> Prepared:
    """Generates and builds what is not up to date; errors as build_runtime's."""
    wanted = tuple(sorted(ops))
    root = paths.root().as_posix()
    name = hashlib.sha256("\0".join([__version__, root, *wanted]).encode()).hexdigest()[:16]
    folder = cache_room("fuzz") / name
    say("planning")
    inputs = inputs_of(wanted, folder)
    options, space = inputs.options(), inputs.space()
    project = RuntimeProject(
        NAME,
        folder,
        options.targets or (),
        (),
        ops=wanted,
        tuning=options.tuning,
        kernel_sets=options.kernel_sets,
    )
    library = build_runtime(project, say)
    return Prepared(library, inputs, space)
