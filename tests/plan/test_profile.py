"""Profiles: what each keeps, unions and intersections of them, and that no answer gets lost."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckgen.families.gemm.config import HostConfig
from ckgen.families.gemm.enums import USUAL_SCALE_BLOCK, Op
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.problem_rules import Constraints, RoutedConstraints, check, supports
from ckgen.families.gemm.profile import covers
from ckgen.families.gemm.query import GemmQuery
from ckgen.families.registry import family_of
from ckgen.model.dtype import DType
from ckgen.model.errors import InputError, UsageError
from ckgen.model.selection import Tier
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.plan.model import GenerationPlan
from ckgen.plan.planner import has_errors
from ckgen.plan.profile_file import load_profile, profile_file, read_profile, shipped_names, shipped_profile
from ckgen.plan.select import select
from plan_support import GFX942, LARGE, SMALL_M, fate_words, plan_of, row, write_table

ATTENTION = (
    "aiter", "aiter_batch", "aiter_bwd_batch", "aiter_bwd_group", "aiter_group", "ck_default", "flash", "flash_bwd",
    "fp32", "fp32_min", "fp8_test", "pytorch",
)  # fmt: skip
"""Those of attention alone: tests/families/fmha/test_fmha_plan.py."""
TARGETS = (GFX942, Target("gfx950", 256), Target("x86_64_v4", 2))
ROWWISE = "a8w8_rowwise_256x16x64x512_16x16_1x1_32x8x1_32x8x1_1x16x1x16_4x4x1_1x1_intrawave_v3"
ROWWISE_HEADER = "gfx,cu_num,M,N,K,q_dtype_w,kernelId,splitK,us,kernelName"


def plan_with(tables: Path, *profiles: Path | str, **options: object) -> GenerationPlan:
    files = tuple(profile_file(Path(profile)) for profile in profiles)
    return plan_of(tables, targets=TARGETS, profiles=files, **options)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    write_table(folder / "a8w8_blockscale.csv", [row(16, SMALL_M), row(64, LARGE), row(256, "fly", libtype="flydsl")])
    write_table(
        folder / "a8w8_tuned_gemm.csv", [f"gfx942,304,16,512,7168,torch.int8,0,0,9.0,{ROWWISE}"], ROWWISE_HEADER
    )
    return folder


def names(plan: GenerationPlan) -> set[str]:
    return {instance.name for instance in plan.instances}


FITS: dict[str, Callable[[Instance], bool]] = {
    "all": lambda i: True,
    "fp8": lambda i: str(i.signature.a)[:3] in ("fp8", "bf8"),
    "inference-llm": lambda i: (
        str(i.signature.layout) == "rcr"
        and i.signature.c in (DType.BF16, DType.FP16)
        and (str(i.signature.quant) != "none" or i.signature.a in (DType.BF16, DType.FP16))
        and str(i.signature.a)[:3] != "bf8"
    ),
    "training": lambda i: (
        str(i.signature.layout) != "ccr"
        and (
            (str(i.signature.quant) == "none" and i.signature.a in (DType.BF16, DType.FP16, DType.FP32))
            or (str(i.signature.quant) in ("none", "per_tensor") and str(i.signature.a)[:3] in ("fp8", "bf8"))
        )
    ),
}


@pytest.mark.parametrize("profile", FITS)
def test_a_profile_keeps_what_it_says(tables: Path, profile: str) -> None:
    everything, kept = plan_with(tables), plan_with(tables, profile)
    assert names(kept) == {i.name for i in everything.instances if FITS[profile](i)}
    assert not has_errors(kept) and names(kept)


def test_every_shipped_profile_is_tested_and_named_as_its_file() -> None:
    assert set(shipped_names()) == {*FITS, "minimal", *ATTENTION}
    assert all(shipped_profile(name).name == name and shipped_profile(name).about for name in shipped_names())


def test_several_profiles_are_their_union(tables: Path) -> None:
    one, other = plan_with(tables, "fp8"), plan_with(tables, "training")
    both = plan_with(tables, "fp8", "training")
    assert names(both) == names(one) | names(other) and names(one) - names(other) and names(other) - names(one)
    assert names(plan_with(tables, "minimal", "fp8")) == names(plan_with(tables, "minimal")) | names(one)
    assert names(plan_with(tables, "minimal", "all")) == names(plan_with(tables))


def test_profiles_and_filters_are_an_intersection(tables: Path) -> None:
    for options in ({"backends": frozenset({"host"})}, {"signatures": ("*_rowwise*",)}, {"kernels": ("a8w8_*",)}):
        expected = names(plan_with(tables, "fp8")) & names(plan_with(tables, **options))
        assert names(plan_with(tables, "fp8", **options)) == expected and expected
    assert plan_with(tables, "fp8", ops=frozenset[str]()).instances == ()


def test_rows_that_are_left_out_have_that_fate(tables: Path) -> None:
    assert fate_words(plan_with(tables)) == {"selected": 3, "external": 1}
    assert fate_words(plan_with(tables, "fp8")) == {"selected": 2, "external": 1, "left_out": 1}
    minimal = plan_with(tables, "minimal")
    assert fate_words(minimal) == {"left_out": 4} and not any(unit.tables or unit.heuristics for unit in minimal.units)
    assert [fate.reason for fate in minimal.fates] == ["not in minimal"] * 4
    assert set(minimal.left_out) == {"default", "heuristics"} and plan_with(tables, "all").left_out == {}


def test_what_is_left_out_and_what_is_kept_are_all_there_is(tables: Path) -> None:
    everything, kept = plan_with(tables), plan_with(tables, "minimal")
    defaults = sum(len(of_arch) for unit in everything.units for of_arch in unit.defaults.values())
    assert kept.left_out["default"] + sum(len(d) for u in kept.units for d in u.defaults.values()) == defaults


def test_batch_invariant_keeps_the_kernels_that_have_an_order(tables: Path, tmp_path: Path) -> None:
    """What such a problem may take, and no less: without them it is answered as with all."""
    file = tmp_path / "alike.yaml"
    file.write_text("name: alike\nabout: One order.\nkeep:\n  - batch_invariant: true\n")
    everything, kept = plan_with(tables), plan_with(tables, file)
    assert names(kept) == {i.name for i in everything.instances if i.order.whole} < names(everything)
    file.write_text("name: all\nabout: All.\nkeep:\n  - batch_invariant: false\n")
    assert names(plan_with(tables, file)) == names(everything)


BF16_BY_HAND = """
name: halves
about: Of rows that stand for two output types, bf16 from tables and fp16 from defaults.
keep:
  - signature: {c: bf16, quant: blockscale, preshuffle_b: false}
    sources: tables
    backends: [ck, ck_tile]
  - {signature: {c: fp16, quant: blockscale, preshuffle_b: false}, sources: [default]}
"""


def test_a_row_of_two_signatures_is_kept_for_the_one_that_fits(tables: Path, tmp_path: Path) -> None:
    file = tmp_path / "halves.yaml"
    file.write_text(BF16_BY_HAND)
    plan = plan_with(tables, file)
    on_gpu = [
        unit
        for unit in plan.units
        if unit.signature.a is DType.FP8_FNUZ and unit.signature.scale_block == USUAL_SCALE_BLOCK
    ]
    assert {str(unit.signature.c): (bool(unit.tables), sorted(unit.defaults)) for unit in on_gpu if unit.instances} == {
        "bf16": (True, []),
        "fp16": (False, ["gfx942", "x86_64_v4"]),
    }
    assert [table.target for unit in on_gpu for table in unit.tables] == [GFX942]
    assert len(names(plan_with(tables, file, "all"))) == len(names(plan_with(tables)))


@pytest.mark.parametrize("profiles", [[], ["minimal"], ["fp8"], ["training", "minimal"], ["inference-llm"]])
def test_what_a_tier_can_return_is_compiled_in(tables: Path, profiles: list[str]) -> None:
    for unit in plan_with(tables, *profiles).units:
        count = range(len(unit.instances))
        for arch, of_arch in unit.defaults.items():
            assert all(index in count and arch in unit.instances[index].archs for index in of_arch)
        for heuristic in unit.heuristics:
            assert all(index in count and heuristic.arch in unit.instances[index].archs for index in heuristic.leaves)
        for table in unit.tables:
            for group in table.groups.values():
                for rung in group.runnable.rungs:
                    assert table.target.gfx in unit.instances[table.choices[rung.choice].instance].archs


def test_minimal_answers_wherever_a_default_does(tables: Path) -> None:
    """Random problems of every signature: the smaller library refuses none that the defaults of the larger one take."""
    everything, minimal = plan_with(tables), plan_with(tables, "minimal")
    draw = random.Random(5)
    asked = 0
    for unit in everything.units:
        small = minimal.unit(unit.signature)
        for target in TARGETS:
            if not unit.defaults.get(target.gfx):
                continue
            assert small is not None and small.defaults[target.gfx]
            for _ in range(12):
                shape = random_shape(draw, batched=unit.signature.batched)
                asked_of = [unit.instances[index].constraints for index in unit.defaults[target.gfx]]
                before = any(supports(one, shape, 1) is None for one in asked_of if not one.measured_only)
                if check(unit.signature, shape) is not None or not before:
                    continue
                found = select(GemmQuery(minimal, target, unit.signature, shape))
                assert found.tier in (Tier.PREDICTED, Tier.DEFAULT), (unit.name, target, shape)
                asked += 1
    assert asked > 500
    assert sum(map(len, (minimal.instances,))) * 2 < len(everything.instances)


def test_minimal_keeps_a_kernel_for_every_block_of_sorted_tokens() -> None:
    options = {"targets": (Target("x86_64_v4", 2),), "ops": frozenset({"moe", "grouped_gemm"})}
    everything, minimal = plan_of(**options), plan_of(profiles=(profile_file(Path("minimal")),), **options)
    for unit in everything.units:
        small = minimal.unit(unit.signature)
        assert small is not None
        blocks = [{one.config.macro_tile.m for one in plan.instances} for plan in (unit, small)]
        if unit.signature.op is Op.MOE:
            assert blocks[0] == blocks[1] == {16, 32, 64, 128}
        else:
            assert len(small.instances) == 1


def random_shape(draw: random.Random, *, batched: bool) -> Shape:
    sizes = [draw.choice((1, 2, 8, 16, 32, 64, 128, 256, 4096)) * draw.choice((1, 1, 1, 3, 7)) for _ in range(3)]
    return Shape(2 if batched else 0, *sizes)


small = st.integers(0, 12)
constraints = st.builds(
    Constraints, m_multiple=small, n_multiple=small, k_multiple=small, min_k=small,
    max_ab=st.integers(0, 60), max_c=st.integers(0, 60), min_m=small, max_m=small,
)  # fmt: skip


@given(constraints, constraints)
def test_covers_means_that_every_problem_is_taken(wide: Constraints, narrow: Constraints) -> None:
    if not covers(wide, narrow):
        return
    for m in (1, 2, 5, 6, 12):
        for n in (1, 4, 6, 12):
            for k in (1, 2, 3, 4, 6, 8, 12, 24):
                shape = Shape(0, m, n, k)
                assert supports(narrow, shape, 1) is not None or supports(wide, shape, 1) is None


def test_covers_knows_every_constraint_of_a_problem_without_splits() -> None:
    unsplit = {"m_multiple", "n_multiple", "k_multiple", "min_k", "max_ab", "max_c", "min_m", "max_m", "measured_only"}
    of_splits = {
        "k_multiple_per_split", "max_k_batch", "atomic_split", "split_grain", "split_turn", "split_lead",
    }  # fmt: skip
    assert {field.name for field in fields(Constraints)} == unsplit | of_splits | {"routed"}
    numbers = (12 if field.type == "int" else False for field in fields(Constraints) if field.name != "routed")
    narrow = Constraints(*numbers)
    assert covers(narrow, narrow)
    routed = replace(narrow, routed=RoutedConstraints(max_n=12))
    assert covers(narrow, routed) and covers(routed, routed) and not covers(routed, narrow)
    for name in unsplit:
        value = True if name == "measured_only" else 5 if name.startswith("max") else 24
        assert not covers(replace(narrow, **{name: value}), narrow), name
    for name in of_splits:
        assert covers(replace(narrow, **{name: 1}), narrow), name


def test_of_kernels_that_take_the_same_the_first_is_kept() -> None:
    signature = real_signature()
    assert family_of(signature).covering(
        signature, [HostConfig(4, 16, 64, 512, 512), HostConfig(6, 16, 96, 512, 256)]
    ) == (0,)


@cache
def real_signature():  # type: ignore[no-untyped-def]
    return plan_of(targets=(Target("x86_64_v3", 1),)).units[0].signature


WRONG = [
    ("name: x\nabout: y\nkeep:\n  - {sorces: [tables]}\n", "K003", 4, "did you mean 'sources'?"),
    ("name: x\nkeep: [{}]\n", "K004", 1, "key 'about' is missing"),
    ("name: x\nabout: y\nkeep:\n  - signature: {dtype: fp8}\n", "K003", 4, "unknown key 'dtype'"),
    ("name: x\nabout: y\nkeep:\n  - signature:\n      a: fp9\n", "K005", 5, "unknown word: 'fp9'"),
    ("name: x\nabout: y\nkeep:\n  - signature: {bias: maybe}\n", "K005", 4, "known: true, false"),
    ("name: x\nabout: y\nkeep: []\n", "K005", 3, "at least one"),
    ("name: x\nabout: y\nkeep:\n  - backends: []\n", "K005", 4, "fits nothing"),
    ("name: x\nabout: y\nkeep: [{backends: [cuda]}]\n", "K005", 3, "unknown word: 'cuda'"),
    ("name: x\nname: y\nabout: y\nkeep: [{}]\n", "K002", 2, "stands twice"),
    ("name: [\n", "K001", 2, "not YAML"),
    ("- x\n", "K005", 1, "expected a mapping"),
    ("", "K005", 0, "0 YAML documents"),
    ("name: 3\nabout: ''\nkeep: {}\n", "K005", 2, "expected a text"),
    ("name: x\nabout: y\nkeep: [{backends: [[ck]], cover: maybe, sources: 3}]\n", "K005", 3, "expected a word"),
    ("name: x\nabout: y\nkeep: [{fmha: {}, signature: {layout: rcx}}]\n", "K005", 3, "must name at least one"),
    ("name: x\n---\nname: y\n", "K005", 0, "2 YAML documents"),
]


@pytest.mark.parametrize(("text", "code", "line", "says"), WRONG)
def test_a_wrong_profile_says_where_and_why(text: str, code: str, line: int, says: str) -> None:
    with pytest.raises(InputError) as error:
        load_profile(text, "p.yaml")
    found = [(d.code, d.location.line if d.location else -1) for d in error.value.diagnostics]
    assert (code, line) in found and says in str(error.value)


def test_what_is_said_of_wrong_profiles(golden: Callable[[str, str], None], tmp_path: Path) -> None:
    texts = []
    for text, *_ in WRONG:
        with pytest.raises(InputError) as error:
            load_profile(text, "p.yaml")
        texts.append(str(error.value))
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(InputError) as error:
            read_profile(path)
        texts.append(str(error.value).replace(str(tmp_path), ""))
    for name in ("minimum", "zzz"):
        with pytest.raises(UsageError) as unknown:
            profile_file(Path(name))
        texts.append(str(unknown.value))
    golden("plan/wrong_profiles.txt", "\n\n".join(texts) + "\n")


def test_all_errors_of_a_profile_come_at_once_and_nothing_is_planned(tables: Path, tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text("name: x\nabout: y\nkeep:\n  - {signature: {a: fp9, b: fp7}, cover: si}\n")
    with pytest.raises(InputError) as error:
        read_profile(file)
    assert len(error.value.diagnostics) == 3
    assert has_errors(plan_with(tables, file))
    with pytest.raises(UsageError, match=r"did you mean 'minimal'\?"):
        profile_file(Path("minimum"))


def test_what_a_clause_is_without_is_left_out_of_rows_and_defaults(tmp_path: Path) -> None:
    """A row of bf16 and fp16 is kept as long as either instance is."""
    rare = "1x128x128_256x128x64x128_16x16_32x32_2x1_8x32x1_8x32x1_1x32x1x8_8_1x1_intrawave_v3"
    table = write_table(tmp_path / "a8w8_blockscale.csv", [row(16, f"a8w8_blockscale_{rare}")])
    plain = plan_with(table)
    both = {f"gemm_fp8_fnuz_{c}_rcr_blockscale_ck_{rare}" for c in ("bf16", "fp16")}
    _, *_, default = (name for name in sorted(names(plain)) if name.startswith("gemm_bf16_rcr_ck_tile_compv3_"))
    profile = tmp_path / "p.yaml"

    def without(*gone: str) -> GenerationPlan:
        profile.write_text(f"name: p\nabout: a\nkeep: {{without: [{', '.join(gone)}]}}\n")
        return plan_with(table, profile)

    assert both <= names(plain)
    assert names(plain) - names(without(default)) == {default}
    pruned = without(*both)
    assert names(plain) - names(pruned) == both and fate_words(pruned) == {"left_out": 1}
    assert names(without(min(both))) == names(plain)


def test_a_clause_without_a_leaf_of_a_rule_leaves_the_others(tables: Path, tmp_path: Path) -> None:
    """A module's rule: none of its leaves has another instance in its place."""
    plain = plan_with(tables)
    unit = next(unit for unit in plain.units if unit.heuristics and all("_ck_" in one.name for one in unit.instances))
    leaf = unit.instances[unit.heuristics[0].leaves[0]].name
    profile = tmp_path / "p.yaml"
    profile.write_text(f"name: p\nabout: a\nkeep: {{without: [{leaf}]}}\n")
    (pruned,) = (one for one in plan_with(tables, profile).units if one.name == unit.name)
    kept, before = pruned.heuristics[0].leaves, unit.heuristics[0].leaves
    assert [one is None for one in kept] == [one is None or unit.instances[one].name == leaf for one in before]
    assert {pruned.instances[one].name for one in kept if one is not None} == {
        unit.instances[one].name for one in before if one is not None
    } - {leaf}


def test_a_name_that_no_instance_has_is_an_error_in_its_place() -> None:
    with pytest.raises(InputError) as caught:
        load_profile("name: p\nabout: a\nkeep:\n  - without:\n      - gemm_nonsense\n", "p.yaml")
    (found,) = caught.value.diagnostics
    assert (found.code, str(found.location)) == ("K005", "p.yaml:5") and "gemm_nonsense" in found.message
