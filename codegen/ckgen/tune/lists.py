"""Lists of shapes as problems to tune: signatures under their canonical names, with the target's 8-bit floats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from ckgen.families.common.asked import Asked
from ckgen.families.registry import FAMILIES, family_of_name
from ckgen.model.arch import ArchKind, ArchSpec
from ckgen.model.dtype import Fp8Flavour
from ckgen.model.errors import UsageError
from ckgen.model.target import Target
from ckgen.tune.problems import Key
from ckgen.workload.shape_list import AskedShape, lists_of, read_shapes

_ON_DEVICE = "on_device "


def keys_of_lists(
    paths: Iterable[Path], target: Target, archs: Mapping[str, ArchSpec], note: Callable[[str], None]
) -> dict[Key, int]:
    """How often each problem of lists and folders of them is asked; UsageError for a signature that is none, errors as
    of `lists_of` and `read_shapes`.

    What another device asked is left out, and so are groups whose sizes only a device knew; `note` is told.
    """
    found: dict[Key, int] = {}
    for path in lists_of(paths):
        left_out = Counter[str]()
        for shape, count in read_shapes(path, lambda told: note(f"note: {told}")).items():
            if shape.gfx and not target.concerns(shape.device):
                left_out["that another device asked"] += 1
            elif shape.sizes.startswith(_ON_DEVICE):
                left_out["of groups whose sizes only a device knew"] += 1
            else:
                name = _canonical(shape, archs[target.gfx])
                key = Key(name, shape.batch, shape.m, shape.n, shape.k, shape.experts, shape.top_k, shape.sizes)
                found[key] = found.get(key, 0) + count
        if left_out:
            note(f"note: {path}: left out: {', '.join(f'{count:,} {which}' for which, count in left_out.items())}")
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
