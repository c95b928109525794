"""A target list as users write it to sorted, unique targets."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ckgen.model.arch import ArchSpec
from ckgen.model.errors import UsageError
from ckgen.model.suggestion import did_you_mean
from ckgen.model.target import Target
from ckgen.specs.archs import load_archs

ENVIRONMENT = ("CKGEN_TARGETS", "GPU_ARCHS")

_SEPARATORS = re.compile(r"[;,\s]+")
_FEATURE = re.compile(r"[a-z][a-z0-9_-]*[+-]")
_COUNT = re.compile(r"[0-9]+")
_LARGEST_COUNT = 2**31 - 1


class TargetError(UsageError):
    """A target list that names nothing that exists, or nothing at all."""


@dataclass(frozen=True, slots=True)
class TargetList:
    """What a list resolves to, and what is worth saying about it."""

    targets: tuple[Target, ...]
    notes: tuple[str, ...]


def parse_targets(
    text: str | None, *, env: Mapping[str, str], archs: Mapping[str, ArchSpec], native: Callable[[], Target]
) -> tuple[Target, ...]:
    """The targets of `resolve_targets`, without its notes."""
    return resolve_targets(text, env=env, archs=archs, native=native).targets


def resolve_targets(
    text: str | None, *, env: Mapping[str, str], archs: Mapping[str, ArchSpec], native: Callable[[], Target]
) -> TargetList:
    """Targets sorted and unique, from the text or else the environment; TargetError lists every bad element."""
    text, origin = _given(text, env)
    found: set[Target] = set()
    errors: list[str] = []
    for element in dict.fromkeys(part.lower() for part in _SEPARATORS.split(text) if part):
        target = _element(element, archs, native, errors)
        if target is not None:
            found.add(target)
    if not found and not errors:
        errors.append(f"{origin} names no target")
    if errors:
        raise TargetError("; ".join([*errors, f"known: {', '.join(sorted(archs))}, native"]))
    targets = tuple(sorted(found))
    return TargetList(targets, tuple(note for target in targets for note in _notes(target, archs[target.gfx])))


def target_of_product(name: str) -> Target:
    """The target that a whole product of that name is, such as MI300X; UsageError for one that no spec lists."""
    archs = load_archs()
    for arch in archs.values():
        for sku in arch.skus:
            if sku.name == name:
                return Target(arch.name, sku.cu_num)
    products = [sku.name for arch in archs.values() for sku in arch.skus]
    raise UsageError(f"no arch spec lists a product '{name}' (known: {', '.join(products)})")


def _given(text: str | None, env: Mapping[str, str]) -> tuple[str, str]:
    if text is not None:
        return text, f"the target list '{text.strip()}'"
    for name in ENVIRONMENT:
        if env.get(name, "").strip():
            return env[name], f"{name}='{env[name].strip()}'"
    raise TargetError(f"no targets: give --targets or set {' or '.join(ENVIRONMENT)}, for example gfx942;gfx950:128")


def _element(
    element: str, archs: Mapping[str, ArchSpec], native: Callable[[], Target], errors: list[str]
) -> Target | None:
    name, *suffixes = element.split(":")
    if name == "native":
        if suffixes:
            errors.append(f"'{element}': native takes neither a count nor features")
            return None
        return _known(native(), archs, errors)
    arch = archs.get(name)
    if arch is None:
        hint = did_you_mean(name, archs)
        errors.append(f"unknown arch '{name}'{f', {hint}' if hint else ''}")
        return None
    counts = [suffix for suffix in suffixes if not _FEATURE.fullmatch(suffix)]
    if len(counts) > 1:
        errors.append(f"'{element}': more than one CU count")
        return None
    if not counts:
        return Target(name, arch.default_cu_num)
    if not _COUNT.fullmatch(counts[0]) or len(counts[0]) > 40 or not 0 < int(counts[0]) <= _LARGEST_COUNT:
        example = f"{name}:{arch.default_cu_num}"
        errors.append(f"'{element}': '{counts[0]}' is no CU count (1 to {_LARGEST_COUNT}, as in {example})")
        return None
    return Target(name, int(counts[0]))


def _known(target: Target, archs: Mapping[str, ArchSpec], errors: list[str]) -> Target | None:
    if target.gfx in archs:
        return target
    errors.append(f"the native device is {target}, an arch without a spec")
    return None


def _notes(target: Target, arch: ArchSpec) -> tuple[str, ...]:
    if arch.knows_cu_num(target.cu_num):
        return ()
    known = ", ".join(str(count) for count in arch.cu_nums)
    return (f"{target}: no known product reports {target.cu_num} CUs (known: {known}); built as asked",)
