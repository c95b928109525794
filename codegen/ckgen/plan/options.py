"""What a generation was asked for: the part of the command line that decides the plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ckgen.families.common.policy import MPolicy
from ckgen.model.dtype import DType
from ckgen.model.target import Target


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """`targets` None means every target that the rows name (as `validate` does); empty globs keep everything.

    `profiles` are files of profiles; a kernel that fits any of them is kept, and all where there are none.
    `named` are canonical names of signatures that are asked for beside the globs; each of them, and each glob that is a
    name, is answered by the kernel of ckgen.families.robust on archs where nothing else answers.
    `registry` is a document that tells all instances; nothing else then chooses any.
    `every_count` adds the targets of the same archs at every CU count that the rows name.
    `every_row`: rows of other archs than the targets' are judged too, for who asks what became of rows and not only
    what is chosen; else they are counted.
    """

    targets: tuple[Target, ...] | None
    ops: frozenset[str] = frozenset({"gemm"})
    tuning: tuple[Path, ...] = ()
    module: str | None = None
    kernel_sets: tuple[Path, ...] = ()
    profiles: tuple[Path, ...] = ()
    registry: Path | None = None
    kernels: tuple[str, ...] = ()
    signatures: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    backends: frozenset[str] = frozenset()
    m_policy: MPolicy = MPolicy.LADDER
    assume_gfx: Mapping[int, str] = field(default_factory=dict)
    assume_dtype: DType | None = None
    strict: bool = False
    strict_layers: bool = False
    every_count: bool = False
    every_row: bool = False
