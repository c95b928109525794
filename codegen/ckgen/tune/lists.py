"""Lists of shapes as problems to tune: signatures under their canonical names, with the target's 8-bit floats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from ckgen.families.common.asked import Asked
from ckgen.families.registry import FAMILIES, family_of_name
from ckgen.model.arch import ArchKind, ArchSpec
from ckgen.model.dtype import Fp8Flavour
from ckgen.model.errors import UsageError
from ckgen.model.target import Target
from ckgen.tune.problems import Key
from ckgen.workload.shape_list import AskedShape, read_shapes


def keys_of_lists(paths: Iterable[Path], target: Target, archs: Mapping[str, ArchSpec]) -> dict[Key, int]:
    """How often each problem is asked; UsageError for a signature that is none, errors as of `read_shapes`."""
    found: dict[Key, int] = {}
    for path in paths:
        for shape, count in read_shapes(path).items():
            key = _key(shape, archs[target.gfx])
            found[key] = found.get(key, 0) + count
    return found


def _key(shape: AskedShape, arch: ArchSpec) -> Key:
    name = _canonical(shape, arch)
    return Key(name, shape.batch, shape.m, shape.n, shape.k, shape.experts, shape.top_k)


def _canonical(shape: AskedShape, arch: ArchSpec) -> str:
    """A plain fp8 is the arch's own, on a CPU OCP's."""
    flavour = Fp8Flavour.OCP if arch.kind is ArchKind.CPU else arch.fp8_flavour
    family = FAMILIES["moe"] if shape.experts else family_of_name(shape.signature)
    try:
        name: str = family.asked_signature(Asked(family.op, shape.signature), flavour).canonical()
    except UsageError as error:
        raise UsageError(f"a list of shapes: {error}") from None
    return name
