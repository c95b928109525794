"""A target list as users write it to sorted, unique targets."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ckgen.model.arch import ArchKind, ArchSpec, product_word
from ckgen.model.errors import UsageError
from ckgen.model.suggestion import did_you_mean
from ckgen.model.target import Target
from ckgen.specs.archs import load_archs

GPU_ARCHS = "GPU_ARCHS"
CU_NUM = "CU_NUM"
ENVIRONMENT = ("CKGEN_TARGETS", GPU_ARCHS)

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
    """Targets sorted and unique, from the text or else the environment; TargetError lists every bad element.

    A product's name, of which only letters and digits count, stands for its arch with its CU count, and where the count
    has a more usual product for itself too. CU_NUM is the count of the GPUs that GPU_ARCHS names without one.
    """
    text, origin = _given(text, env)
    usual_count = env.get(CU_NUM, "").strip() if origin.startswith(f"{GPU_ARCHS}=") else ""
    found: set[Target] = set()
    errors: list[str] = []
    for element in dict.fromkeys(part.lower() for part in _SEPARATORS.split(text) if part):
        target = _element(element, usual_count, archs, native, errors)
        if target is not None:
            found.add(target)
    if not found and not errors:
        errors.append(f"{origin} names no target")
    if errors:
        known = ", ".join([*sorted(archs), "the products of `ckgen list archs`", "native"])
        raise TargetError("; ".join([*errors, f"known: {known}"]))
    targets = tuple(sorted(found))
    return TargetList(targets, tuple(note for target in targets for note in _notes(target, archs[target.gfx])))


def target_of_product(name: str) -> Target:
    """The target that a whole product of that name is, such as MI300X, without the product; UsageError for one that no
    spec lists."""
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
    element: str, usual_count: str, archs: Mapping[str, ArchSpec], native: Callable[[], Target], errors: list[str]
) -> Target | None:
    name, *suffixes = element.split(":")
    if name == "native":
        if suffixes:
            errors.append(f"'{element}': native takes neither a count nor features")
            return None
        return _known(native(), archs, errors)
    named = _named(name, archs, errors)
    if named is None:
        return None
    arch = archs[named.gfx]
    parts = [suffix for suffix in suffixes if not _FEATURE.fullmatch(suffix)]
    if not parts and usual_count and arch.kind is ArchKind.GPU:
        element, parts = f"{CU_NUM}={usual_count}", [usual_count]
    if not parts:
        return named
    count, *products = parts
    if not _COUNT.fullmatch(count) or len(count) > 40 or not 0 < int(count) <= _LARGEST_COUNT:
        errors.append(f"'{element}': '{count}' is no CU count (1 to {_LARGEST_COUNT}, as in {named.any_sku})")
        return None
    cu_num = int(count)
    if not products:
        return Target(named.gfx, cu_num, arch.told_apart(cu_num, named.sku))
    wrong = _wrong_product(arch, cu_num, products)
    if wrong:
        errors.append(f"'{element}': {wrong}")
        return None
    return Target(named.gfx, cu_num, product_word(products[0]))


def _wrong_product(arch: ArchSpec, cu_num: int, products: Sequence[str]) -> str:
    """Why the parts of a target behind its count are not the one product that is meant; empty where they are."""
    if len(products) > 1 or _COUNT.fullmatch(products[0]):
        return "more than one CU count" if _COUNT.fullmatch(products[0]) else "more than one product"
    known = arch.words_with(cu_num)
    if product_word(products[0]) in known:
        return ""
    hint = f" (known: {', '.join(known)})" if known else ""
    return f"'{products[0]}' is no product of {arch.name} with {cu_num} CUs{hint}"


def _named(name: str, archs: Mapping[str, ArchSpec], errors: list[str]) -> Target | None:
    """The whole device that the name of an arch or of a product means."""
    meant = next((arch for arch in archs.values() if name == arch.name or name in arch.aliases), None)
    if meant is not None:
        return Target(meant.name, meant.default_cu_num)
    products: dict[str, set[Target]] = {}
    for arch in archs.values():
        for sku in arch.skus:
            if arch.kind is ArchKind.CPU and not sku.driver_names:
                continue
            own = Target(arch.name, sku.cu_num, arch.told_apart(sku.cu_num, sku.word))
            products.setdefault(sku.word, set()).add(own)
    found = sorted(products.get(product_word(name), ()))
    if len(found) == 1:
        return found[0]
    if found:
        errors.append(f"'{name}' is a product of several archs: {', '.join(map(str, found))}")
    else:
        hint = did_you_mean(name, [*archs, *products])
        errors.append(f"unknown arch '{name}'{f', {hint}' if hint else ''}")
    return None


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
