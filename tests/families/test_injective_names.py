"""Every instance of every table and kernel set has one name, that of its files and of its descriptor; every field
of its Signature and Config is in it, and every field of a Signature takes part in matching."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, get_args

import pytest

from ckgen.build.planned import plan_host, plan_kernel
from ckgen.emit.render import render, written_together
from ckgen.families.common import cpp
from ckgen.families.common.asm_config import AsmConfig
from ckgen.families.common.key import pack
from ckgen.families.common.naming import instance_id, instance_name
from ckgen.families.common.query import Query
from ckgen.families.common.unit import UnitPlan
from ckgen.families.gemm import cpp as cpp_gemm
from ckgen.families.gemm.asm_kernels import asm_kernel_of, asm_kernels
from ckgen.families.gemm.config import GemmConfig, HostConfig
from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.signature import GemmSignature, parse_canonical
from ckgen.families.kernel_sets import SHIPPED, kernel_set_files
from ckgen.families.moe.asked import RoutedSizes
from ckgen.families.moe.config import MoePairConfig
from ckgen.families.moe.family import FAMILY as MOE
from ckgen.families.registry import FAMILIES, family_of, make_instance
from ckgen.model.backend import Backend
from ckgen.model.fields import hints_of
from ckgen.model.groups import Groups, GroupSize, Routing
from ckgen.model.selection import NO_WISHES, Tier
from ckgen.model.strategy import Strategy
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.plan.model import GenerationPlan
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import make_plan
from ckgen.plan.registry_document import plan_of_units
from ckgen.plan.select import select
from ckgen.specs.archs import load_archs
from cpp_build import ROOT, attempt
from field_values import others
from plan_support import REAL_TABLES, without_tables

CONFIGS: tuple[type, ...] = get_args(MOE.configs)
X86 = Target("x86_64_v3", 2)
HOST = HostConfig(4, 16, 64, 512, 512)
PER_FIELD = 12
"""Instances of a Config class whose every field is changed."""
SOME = 4
"""Of so many signatures of an operation one has its every field changed."""


@cache
def every_plan():  # type: ignore[no-untyped-def]
    """All tables and all shipped kernel sets of all families, on every arch at every CU count."""
    archs = load_archs()
    options = PlanOptions(
        targets=tuple(Target(arch.name, arch.default_cu_num) for arch in archs.values()),
        ops=frozenset(FAMILIES),
        tuning=(REAL_TABLES,),
        kernel_sets=tuple(file for name in SHIPPED for file in kernel_set_files(Path(name))),
        every_count=True,
    )
    return without_tables(make_plan(options, archs))


def instances() -> tuple[Instance, ...]:
    return tuple(one for unit in every_plan().units_of(GemmSignature) for one in unit.instances)


def test_a_name_is_spelt_from_signature_backend_and_config_and_hashed_into_the_id() -> None:
    assert len(instances()) > 2500
    for one in instances():
        assert one.name == f"{one.signature.canonical()}_{one.backend}_{one.config.text()}" == cpp.identifier(one.name)
        assert one.name == instance_name(one.signature, one.backend, one.config)
        assert one.id == instance_id(one.name)
        assert parse_canonical(one.signature.canonical()) == one.signature
    assert len({one.name for one in instances()}) == len({one.id for one in instances()}) == len(instances())
    assert len({(one.signature, one.backend, one.config) for one in instances()}) == len(instances())


def test_the_descriptors_carry_the_same_names_and_ids_in_the_same_order() -> None:
    texts = render(every_plan(), "lib")
    files = {
        f"{file[0][0].name}/unit.cpp": [unit for units in file for unit in units]
        for file in written_together(every_plan().units)
    }
    assert [path for path in texts if path.endswith("unit.cpp")] == sorted(files)
    found = [
        match
        for path in files
        for match in re.findall(r'^    instance\("(\w+)", 0x([0-9a-f]{16})ULL, signature,', texts[path], re.M)
    ]
    everything = [one for units in files.values() for unit in units for one in unit.instances]
    assert found == [(one.name, f"{one.id:016x}") for one in everything]
    assert len({one.id for one in everything}) == len(everything) > len(instances())


def test_the_files_of_device_code_have_the_name_and_its_symbols_the_id() -> None:
    """OutFolder writes `src/<arch>/<kernel>.hip`, `<arch>/<kernel>.hsaco` and `host/<kernel>.o` of these."""
    checked = 0
    for one in instances():
        if one.backend is Backend.HOST or one.parts:
            continue
        planned = plan_kernel(one, one.archs[-1], ())
        assert (planned.kernel, planned.id) == (one.name, one.id)
        if one.backend is Backend.ASM:
            continue
        assert all(f"{one.id:016x}" in symbol for symbol, _ in planned.expected)
        if planned.text and one.id % 16 == 0:
            host = plan_host(one, {one.archs[-1]: ()})
            assert (host.kernel, host.id) == (one.name, one.id) and f"ckgen_prepare_{one.id:016x}" in host.text
            checked += 1
    assert checked > 50


@pytest.mark.parametrize("kind", CONFIGS, ids=lambda kind: kind.__name__)
def test_every_field_of_a_config_is_in_the_name(kind: type) -> None:
    """A new field whose type has no generator, or that `text()` leaves out, fails here."""
    samples = [one for one in sample_of(kind) if not has_shipped_part(one.config)]
    assert samples
    for one in samples:
        for name, other in changes(one.config):
            renamed = make_name(replace(one, config=other))
            if kind is AsmConfig and name != "name":
                assert other not in {kernel.config for kernel in asm_kernels().values()}, (one.name, name)
                with pytest.raises(KeyError):
                    asm_kernel_of(other)  # a shipped kernel's kind and tile follow from its name
                continue
            assert renamed != one.name and instance_id(renamed) != one.id, (one.name, name, other)


def test_names_of_neighbouring_configs_differ_pairwise() -> None:
    """All one-field changes of a kernel, and the kernel: as many names as Configs."""
    for kind in CONFIGS:
        if kind is AsmConfig:
            continue
        for one in sample_of(kind)[:3]:
            near = {one.config, *(other for _, other in changes(one.config))}
            assert len({make_name(replace(one, config=config)) for config in near}) == len(near)


def has_shipped_part(config: GemmConfig) -> bool:
    """Whether one of two kernels is AMD's, all of whose fields follow from its name."""
    return isinstance(config, MoePairConfig) and AsmConfig in (type(config.gate_up), type(config.down))


def make_name(one: Instance) -> str:
    return instance_name(one.signature, one.backend, one.config)


def sample_of(kind: type) -> list[Instance]:
    found = [one for one in instances() if type(one.config) is kind]
    return found[:: max(1, len(found) // PER_FIELD)]


def changes(value: Any) -> Iterator[tuple[str, Any]]:
    for name, hint in hints_of(type(value)).items():
        found = [other for other in others(hint, getattr(value, name)) if other is not Strategy.ANY]  # only a wish
        assert found and getattr(value, name) not in found, name
        yield from ((name, replace(value, **{name: other})) for other in found)


@dataclass(frozen=True)
class Pair:
    """Two legal signatures that differ in one field."""

    field: str
    one: GemmSignature
    other: GemmSignature


@cache
def pairs() -> tuple[Pair, ...]:
    """For every field of a Signature all legal changes of it, over a part of what is built; flavours resolved."""
    built = dict.fromkeys(unit.signature for unit in every_plan().units_of(GemmSignature) if X86.gfx in unit.defaults)
    bases = [one for op in Op for one in [one for one in built if one.op is op][::SOME]]
    of_field: dict[str, list[Pair]] = {field.name: [] for field in fields(GemmSignature)}
    for base in filter(is_usable, bases):
        for name, other in changes(base):
            if is_usable(other):
                of_field[name].append(Pair(name, base, other))
    for name, found in of_field.items():
        assert found, f"no two legal signatures differ in '{name}' alone"
    return tuple(chain.from_iterable(of_field.values()))


def is_usable(signature: GemmSignature) -> bool:
    return (
        not signature.problems()
        and "fp8" not in map(str, dtypes(signature))
        and "bf8" not in map(str, dtypes(signature))
    )


def dtypes(signature: GemmSignature) -> tuple[Any, ...]:
    return (signature.a, signature.b, signature.c, signature.acc, signature.scale)


def test_every_field_of_a_signature_is_in_the_names_and_in_the_key() -> None:
    for pair in pairs():
        one, other = (make_instance(s, HOST, archs=[X86.gfx]) for s in (pair.one, pair.other))
        assert one.name != other.name and one.id != other.id, pair
        assert parse_canonical(pair.other.canonical()) == pair.other
        assert pack(pair.one) != pack(pair.other), pair
        assert cpp_gemm.signature_words(pair.one) != cpp_gemm.signature_words(pair.other), pair


def test_a_problem_is_not_answered_by_an_instance_of_another_signature() -> None:
    for field in fields(GemmSignature):
        of_field = [pair for pair in pairs() if pair.field == field.name]
        for pair in of_field[:: max(1, len(of_field) // 20)]:
            only = plan_of_units((X86,), (unit_of(pair.other),))
            asked = select(query_of(only, pair.one))
            assert asked.tier is Tier.UNSUPPORTED and asked.instance is None, pair
            own = select(query_of(only, pair.other))
            assert own.tier is Tier.DEFAULT and own.instance is not None, pair


def query_of(plan: GenerationPlan, signature: GemmSignature) -> Query:
    """A legal problem of the signature."""
    shape = Shape(2 if signature.batched else 0, 256, 256, 256)
    problems: dict[Op, Any] = {
        Op.GROUPED_GEMM: Groups.of([GroupSize(256, 256, 256)] * 2),
        Op.MOE: RoutedSizes(shape, Routing(4, 2)),
    }
    return family_of(signature).query(plan, X86, signature, problems.get(signature.op, shape), NO_WISHES)


def unit_of(signature: GemmSignature) -> UnitPlan:
    instance = make_instance(signature, HOST, archs=[X86.gfx])
    return UnitPlan(signature, (instance,), {X86.gfx: (0,)})


def test_keys_and_equality_agree_over_all_pairs_of_built_signatures() -> None:
    built = [unit.signature for unit in every_plan().units_of(GemmSignature)]
    assert len({pack(signature) for signature in built}) == len(set(built)) == len(built)


def cpp_signature(signature: GemmSignature) -> str:
    """A ckgen::Signature as the units' template writes it."""
    text = re.search(
        r"constexpr ckgen::Signature signature = (.*?);",
        render(plan_of_units((X86,), (unit_of(signature),)), "lib")[f"{signature.canonical()}/unit.cpp"],
        re.S,
    )
    assert text is not None
    return text[1]


@pytest.mark.cpp
def test_every_field_of_a_signature_takes_part_in_the_cpp_key(tmp_path: Path) -> None:
    """Static assertions over the real header: Python's members, `op` first, keys equal to Python's, and two
    signatures that differ in one field have different keys and are not equal."""
    members = ["op", *(field.name for field in fields(GemmSignature) if field.name != "op"), "fmha"]
    lines = [
        "#include <ckgen/describe_unit.hpp>",
        "using ckgen::Signature;",
        "constexpr bool members(const Signature& s) {",
    ]
    lines += [f"  const auto& [{', '.join(members)}] = s;"]
    lines += [f"  return {' && '.join(f'&{name} == &s.{name}' for name in members)};", "}"]
    lines += ["static_assert(members(Signature{}));"]
    count = 0
    for field in fields(GemmSignature):
        of_field = [pair for pair in pairs() if pair.field == field.name]
        for pair in of_field[:: max(1, len(of_field) // 8)]:
            for side, signature in (("one", pair.one), ("other", pair.other)):
                lines.append(f"constexpr Signature {side}{count} = ckgen::describe::{cpp_signature(signature)};")
                lines.append(f"static_assert({side}{count}.pack() == {cpp.hex64(pack(signature))});")
            lines.append(
                f'static_assert(one{count}.pack() != other{count}.pack(), "{field.name}");'
                f'static_assert(one{count} != other{count}, "{field.name}");'
            )
            count += 1
    source = tmp_path / "keys.cpp"
    source.write_text("\n".join(lines) + "\n")
    done = attempt("g++", "-std=c++20", "-fsyntax-only", f"-I{ROOT / 'dispatcher_cpp/include'}", source)
    assert done.returncode == 0, done.stdout
