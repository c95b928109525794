"""What a command line asks to be tuned: words for operations and modules, budgets, parts, devices."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ckgen.families.registry import FAMILIES
from ckgen.families.tables import table_modules
from ckgen.model.arch import CPU_LEVELS
from ckgen.model.errors import UsageError
from ckgen.model.suggestion import nearest_or_all
from ckgen.model.target import Target
from ckgen.specs.native import gpu_count
from ckgen.tune.problems import Key, signature_of

ALL = "all"
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
_BUDGET = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)([smh]?)")
_SHARD = re.compile(r"(\d{1,6})/(\d{1,6})")
_PERCENT = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)%?")


@dataclass(frozen=True, slots=True)
class Subjects:
    """Operations by their word of `--ops`, and modules; empty: all."""

    ops: frozenset[str] = frozenset()
    modules: frozenset[str] = frozenset()

    def holds(self, key: Key) -> bool:
        """Whether a problem is meant. Stream-K computes GEMMs, and is tuned with them."""
        if not self.ops and not self.modules:
            return True
        signature = signature_of(key.signature)
        op = str(signature.op)
        ops = {"gemm" if one == "stream_k" else one for one in self.ops}
        if op in ops:
            return True
        return module_of(key) in self.modules


def module_of(key: Key) -> str:
    """The module whose tables speak of a problem's signature; empty where there is none."""
    signature = signature_of(key.signature)
    if str(signature.op) == "moe":
        return next(iter(FAMILIES["moe"].table_modules))
    return FAMILIES[str(signature.op)].module_of(signature)


def subjects_of(text: str) -> Subjects:
    """The operations and modules of a list; UsageError names what is known.

    Modules may stand under AITER's names, `module_gemm_a8w8_blockscale_tune` for `a8w8_blockscale`.
    """
    ops, modules = set(), set()
    words = [word for word in re.split(r"[;,\s]+", text) if word]
    for word in words:
        name = module_named(word)
        if word == ALL:
            return Subjects()
        if word in FAMILIES:
            ops.add(word)
        elif name in table_modules():
            modules.add(name)
        else:
            known = (*FAMILIES, ALL, *table_modules())
            raise UsageError(f"unknown operation or module: '{word}' ({nearest_or_all(word, known)})")
    if not words:
        raise UsageError("no operation is named; give one, a module, or all")
    return Subjects(frozenset(ops), frozenset(modules))


def module_named(word: str) -> str:
    """A module by its own name or AITER's, whose candidates of ck_tile have names of their own: the problems are those
    of the module without."""
    if word in table_modules():
        return word
    name = word.removesuffix("_tune").removesuffix("_cktile").removeprefix("module_").replace("gemm_", "")
    return next(iter(FAMILIES["moe"].table_modules)) if word.startswith("module_moe") else name


def seconds_of(text: str) -> float:
    """`90`, `90s`, `10m`, `1.5h`."""
    found = _BUDGET.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"--budget takes seconds, or minutes or hours as in 10m; got '{text}'")
    return float(found[1]) * _SECONDS[found[2]]


def part_of(text: str, option: str) -> float:
    """`2%` or `2`, as the part 0.02."""
    found = _PERCENT.fullmatch(text.strip())
    if found is None or float(found[1]) > 100:
        raise UsageError(f"{option} takes per cent, as in 2%; got '{text}'")
    return float(found[1]) / 100


def shard_of(text: str) -> tuple[int, int]:
    """`2/8`: the second of eight parts."""
    found = _SHARD.fullmatch(text.strip())
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise UsageError(f"--shard takes a part and their number, as in 1/4; got '{text}'")
    return int(found[1]), int(found[2])


def devices_of(target: Target, text: str | None) -> tuple[int, ...]:
    """`0,1` or `all`, in order: a CPU is one device, GPUs are those that this process may use. None is the first.

    UsageError for what is none.
    """
    if text is None:
        return (0,)
    is_cpu = target.gfx in CPU_LEVELS
    count = 1 if is_cpu else max(gpu_count(), 1)
    if text.strip() == ALL:
        return tuple(range(count))
    words = [word for word in re.split(r"[,;\s]+", text) if word]
    if not words or not all(word.isdecimal() and int(word[:9]) < count for word in words):
        there = "a CPU is one device, 0" if is_cpu else f"give some of the {count} GPUs from 0 on that are here, or all"
        raise UsageError(f"--devices {text}: {there}")
    return tuple(sorted({int(word) for word in words}))


def ops_to_plan(signatures: Iterable[str]) -> frozenset[str]:
    """The words of `--ops` whose kernels answer these signatures."""
    families = {FAMILIES[str(signature_of(name).op)] for name in signatures}
    return frozenset(word for family in families for word in family.planned_with)
