"""What becomes of instances as device code: variants, values of units, and what machine code must be."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import Field, fields
from functools import cache
from typing import Any
from unittest.mock import patch

from ckgen.build.device_code import BACKENDS, device_code
from ckgen.families.common.device.unit import Use
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.heuristic import published_rules
from ckgen.families.kernel_sets import OPS
from ckgen.families.registry import make_instance
from ckgen.families.rules import judge
from ckgen.model.expectation import Expectation
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.plan.model import AnyInstance
from ckgen.specs.archs import load_archs
from neighbours import neighbours
from plan_support import plan_of

TARGETS = (Target("gfx90a", 104), Target("gfx942", 304), Target("gfx950", 256), Target("gfx1201", 64))
USES = (Use(Shape(1, 16, 4096, 7168), 1), Use(Shape(1, 4096, 512, 1032), 4))


def kind(instance: AnyInstance) -> tuple[Any, ...]:
    """Of instances that agree in this, the first stands for all."""
    signature, config = instance.signature, instance.config
    words = (type(config).__name__, str(instance.backend), str(getattr(config, "pipeline", "")))
    if isinstance(instance.signature, FmhaSignature):
        return (*words, signature.traits.entry, signature.traits.is_paged)
    assert not isinstance(signature, type(None))
    shape = (signature.op, signature.quant, signature.preshuffle_b, signature.batched, bool(signature.epilogue))
    return (*words, *shape, str(getattr(config, "strategy", "")), signature.moe.part if signature.op is Op.MOE else "")


@cache
def instances() -> tuple[AnyInstance, ...]:
    found: dict[tuple[Any, ...], AnyInstance] = {}
    with patch("ckgen.families.gemm.family.rules_for", published_rules):  # one of a kind is enough
        units = plan_of(targets=TARGETS, ops=frozenset(OPS)).units
    for unit in units:
        for instance in unit.instances:
            if instance.backend in BACKENDS and not getattr(instance, "parts", ()):
                found.setdefault(kind(instance), instance)
    return tuple(sorted(found.values(), key=lambda instance: instance.name))


Seen = dict[str, Mapping[str, str]]
"""The first one of each kind, which the others are told by their differences from."""


def told(instance: AnyInstance, seen: Seen) -> Iterator[str]:
    """An instance as device code. Of a template that was there before, only what has another value."""
    code = device_code(instance)
    yield f"{instance.name}\n"
    yield line("asks", asked(instance))
    absent = {arch: code.unavailable(arch) for arch in instance.archs}
    yield f"  archs: {' '.join(instance.archs)}\n"
    yield from (f"  {arch}: {why}\n" for arch, why in absent.items() if why)
    splits = {why: arch for arch in instance.archs if (why := code.splits_unavailable(arch))}
    yield from (f"  no splits on {arch}: {why}\n" for why, arch in splits.items())
    variants = code.all_variants()
    reached = code.reachable(USES) if not isinstance(instance.signature, FmhaSignature) else ()
    yield f"  variants: {' '.join(one.name for one in variants)}; reached: {' '.join(one.name for one in reached)}\n"
    arch = instance.archs[-1]
    if absent[arch] is not None or not variants:
        return
    before: Mapping[str, str] = {}
    for unit in (code.device_unit(variants[:2]), code.host_unit({arch: variants[:2]})):
        found = {name: plain(instance, value) for name, value in leaves({**unit.values, "symbols": unit.symbols})}
        first = seen.setdefault(unit.template, found)
        yield f"  {unit.template}{', as above but:' * (first is not found)}\n"
        before = before if first is found else first
        yield wrapped(f"{name}={value}" for name, value in found.items() if before.get(name) != value)
        yield wrapped(f"no {name}" for name in sorted(before.keys() - found.keys()))
        before = found
    expectations: dict[str, list[str]] = {}
    for variant in variants[:2]:
        demand = line("", demands(code.expected(arch, variant)))
        expectations.setdefault(demand, []).append(variant.name)
        assert code.symbol(variant) in code.device_unit(variants[:2]).symbols
    yield from (f"  {' '.join(names)}{demand.lstrip()}" for demand, names in expectations.items())


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """What a template is given, down to words and numbers; of lists of things alike each in one word."""
    match value:
        case Mapping():
            for key, each in value.items():
                yield from leaves(each, f"{name}.{key}" if name else key)
        case [[str(), _], *_]:
            yield from leaves(dict(value))
        case list() | tuple() if value:
            for at, each in enumerate(value):
                yield f"{name}.{at}", "/".join(map(str, each.values() if isinstance(each, Mapping) else [each]))
        case _:
            yield name, str(value)


def wrapped(words: Iterable[str]) -> str:
    lines = textwrap.wrap(" ".join(words), 116, break_long_words=False, break_on_hyphens=False)
    return "".join(f"    {line}\n" for line in lines)


def plain(instance: AnyInstance, text: str) -> str:
    """Without what is the instance's alone."""
    return text.replace(instance.name, "<name>").replace(f"{instance.id:016x}", "<id>")


def line(title: str, values: Mapping[str, str]) -> str:
    words = " ".join(f"{name}={value}" for name, value in values.items())
    return textwrap.fill(f"{title}: {words}", 120, initial_indent="  ", subsequent_indent="    ",
                         break_long_words=False) + "\n"  # fmt: skip


def asked(instance: AnyInstance) -> Mapping[str, str]:
    """What it asks of problems."""
    found = instance.constraints
    return {one.name: str(getattr(found, one.name)) for one in fields(found) if not is_default(found, one)}


def demands(expected: Expectation) -> Mapping[str, str]:
    steps = " ".join(f"{count}x{name}" for name, count in expected.steps)
    return {"steps": f"[{steps}]"} | {
        one.name: str(getattr(expected, one.name)) for one in fields(expected) if one.name != "steps"
    }


def make(instance: AnyInstance, config: Any) -> AnyInstance:
    """The instance with another Config, for its last arch."""
    return make_instance(instance.signature, config, [instance.archs[-1]], module=instance.module)


def near(instance: AnyInstance) -> Iterator[AnyInstance]:
    """Instances of legal Configs that differ from its own in one number or word."""
    arch = load_archs()[instance.archs[-1]]
    for config in neighbours(instance.config, least=1):
        if config != instance.config and not judge(instance.signature, config, instance.backend, arch):
            yield make(instance, config)


def made(instance: AnyInstance) -> Mapping[str, str]:
    """All that is known of an instance's code."""
    code, arch = device_code(instance), instance.archs[-1]
    variants, reason = code.all_variants(), code.unavailable(arch)
    found = {**asked(instance), "variants": " ".join(one.name for one in variants), "unavailable": str(reason)}
    if variants and reason is None:
        found |= demands(code.expected(arch, variants[0]))
    return found


def change(before: Any, after: Any) -> str:
    """In which field two Configs of a kind differ."""
    (name,) = (one.name for one in fields(before) if getattr(before, one.name) != getattr(after, one.name))
    return f"{name} {getattr(before, name)} > {getattr(after, name)}"


def effect(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return ", ".join(difference(name, before.get(name, "-"), after.get(name, "-")) for name in names) or "nothing"


def difference(name: str, before: str, after: str) -> str:
    """Of the many variants those that come and go."""
    if name != "variants":
        return f"{name} {before} > {after}"
    old, new = before.split(), after.split()
    words = [f"-{one}" for one in old if one not in new] + [f"+{one}" for one in new if one not in old]
    return f"variants {' '.join(words)}"


def is_default(value: object, field: Field[Any]) -> bool:
    return bool(getattr(value, field.name) == field.default)


def test_what_one_change_of_a_config_makes_of_its_device_code(golden: Callable[[str, str], None]) -> None:
    """Each change once of all instances of a kind of Config where it has the same effect."""
    found: dict[str, dict[str, None]] = {}
    for instance in instances():
        before = made(make(instance, instance.config))
        for one in near(instance):
            what = f"  {change(instance.config, one.config)}: {effect(before, made(one))}\n"
            found.setdefault(f"{type(one.config).__name__} {getattr(one.config, 'pipeline', '')}\n", {})[what] = None
    golden("families/near_instances.txt", "".join(kind + "".join(sorted(lines)) for kind, lines in found.items()))


def test_every_kind_of_instance_as_device_code(golden: Callable[[str, str], None]) -> None:
    assert len(instances()) > 20
    seen: Seen = {}
    golden("families/device_units.txt", "".join(text for instance in instances() for text in told(instance, seen)))
