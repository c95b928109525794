"""What becomes of instances as device code: variants, values of units, and what machine code must be."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import Field, fields
from functools import cache
from typing import Any

from ckgen.build.device_code import BACKENDS, family_of
from ckgen.families.common.device.unit import Use
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.families.gemm.enums import Op
from ckgen.families.kernel_sets import OPS
from ckgen.families.registry import make_instance
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.plan.model import AnyInstance
from ckgen.rules import judge
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
    for unit in plan_of(targets=TARGETS, ops=frozenset(OPS)).units:
        for instance in unit.instances:
            if instance.backend in BACKENDS and not getattr(instance, "parts", ()):
                found.setdefault(kind(instance), instance)
    return tuple(sorted(found.values(), key=lambda instance: instance.name))


def text(instance: AnyInstance) -> Iterator[str]:
    family = family_of(instance)
    yield f"{instance.name} {instance.id:016x} {' '.join(instance.archs)}\n  {instance.constraints}\n"
    for arch in instance.archs:
        absent = (family.unavailable(instance, arch), family.splits_unavailable(instance, arch))
        yield f"  {arch} unavailable {absent}\n"
    variants = family.all_variants(instance)
    reached = family.reachable(instance, USES) if not isinstance(instance.signature, FmhaSignature) else ()
    yield f"  variants {[one.name for one in variants]}, reached {[one.name for one in reached]}\n"
    arch = instance.archs[-1]
    if absent[0] is not None or not variants:
        return
    units = (family.device_unit(instance, variants[:2]), family.host_unit(instance, {arch: variants[:2]}))
    for unit in units:
        yield f"  {unit.template} {unit.symbols}\n    {json.dumps(unit.values, default=str, sort_keys=True)}\n"
    for variant in variants[:2]:
        yield f"  {family.symbol(instance, variant)} {family.expected(instance, arch, variant)}\n"


def near(instance: AnyInstance) -> Iterator[AnyInstance]:
    """Instances of legal Configs that differ from its own in one number or word."""
    arch = load_archs()[instance.archs[-1]]
    for config in neighbours(instance.config, least=1):
        if config == instance.config or judge(instance.signature, config, instance.backend, arch):
            continue
        if isinstance(instance.signature, FmhaSignature):
            yield make_instance(instance.signature, config, [arch.name])
        else:
            yield make_instance(instance.signature, config, module=instance.module, table_kernel="", archs=[arch.name])


def short(instance: AnyInstance) -> tuple[str, str]:
    """The Config's text, and what is made of it."""
    family, arch = family_of(instance), instance.archs[0]
    variants = family.all_variants(instance)
    reason = family.unavailable(instance, arch)
    first = family.expected(instance, arch, variants[0]) if variants and reason is None else ""
    asked = instance.constraints
    told = " ".join(f"{one.name}={getattr(asked, one.name)}" for one in fields(asked) if not is_default(asked, one))
    names = " ".join(one.name for one in variants)
    return instance.config.text(), f"  {arch} {reason or ''}\n  {told}\n  {names} {first}\n"


def is_default(value: object, field: Field[Any]) -> bool:
    return bool(getattr(value, field.name) == field.default)


def test_what_one_change_of_a_config_makes_of_its_device_code(golden: Callable[[str, str], None]) -> None:
    found: dict[str, list[str]] = {}
    for instance in instances():
        for one in near(instance):
            config, made = short(one)
            found.setdefault(made, []).append(config)
    lines = (
        f"{configs[0]}{f' and {len(configs) - 1} more' * (len(configs) > 1)}\n{made}" for made, configs in found.items()
    )
    golden("families/near_instances.txt", "".join(lines))


def test_every_kind_of_instance_as_device_code(golden: Callable[[str, str], None]) -> None:
    assert len(instances()) > 20
    golden("families/device_units.txt", "".join(line for instance in instances() for line in text(instance)))
