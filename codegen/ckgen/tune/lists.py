"""Lists of shapes as problems to tune: signatures under their canonical names, with the target's 8-bit floats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from pathlib import Path

from ckgen.families.common.asked import Asked
from ckgen.families.registry import FAMILIES, family_of_name
from ckgen.model.arch import ArchKind, ArchSpec
from ckgen.model.dtype import Fp8Flavour
from ckgen.model.errors import UsageError
from ckgen.model.target import Target
from ckgen.tune.problems import Key
from ckgen.workload.shape_list import AskedShape, read_shapes


def keys_of_lists(
    paths: Iterable[Path], target: Target, archs: Mapping[str, ArchSpec], note: Callable[[str], None]
) -> dict[Key, int]:
    """How often each problem is asked; UsageError for a signature that is none, errors as of `read_shapes`.

    What another device asked is left out, and `note` is told.
    """
    found: dict[Key, int] = {}
    for path in paths:
        others = 0
        for shape, count in read_shapes(path).items():
            told = {one.name: getattr(shape, one.name) for one in fields(shape)}
            if told.get("gfx") and (told["gfx"], told["cu_num"]) != (target.gfx, target.cu_num):
                others += 1
                continue
            name = _canonical(shape, archs[target.gfx])
            sizes = told.get("sizes", "")
            key = Key(name, shape.batch, shape.m, shape.n, shape.k, shape.experts, shape.top_k, sizes)
            found[key] = found.get(key, 0) + count
        if others:
            note(f"note: {path}: {others:,} shapes that another device asked are left out")
    return found


def _canonical(shape: AskedShape, arch: ArchSpec) -> str:
    """A plain fp8 is the arch's own, on a CPU OCP's."""
    flavour = Fp8Flavour.OCP if arch.kind is ArchKind.CPU else arch.fp8_flavour
    family = FAMILIES["moe"] if shape.experts else family_of_name(shape.signature)
    try:
        name: str = family.asked_signature(Asked(family.op, shape.signature), flavour).canonical()
    except UsageError as error:
        raise UsageError(f"a list of shapes: {error}") from None
    return name
