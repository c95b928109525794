"""Plans of attention: units of kernel sets, what profiles keep of them, registry documents, C++ text."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from ckgen.emit.render import render
from ckgen.families.fmha.benchmark_problems import benchmark_problems
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.profile import covers
from ckgen.families.fmha.query import FmhaQuery
from ckgen.families.fmha.signature import FmhaSignature, parse_canonical
from ckgen.model.arch import ArchKind
from ckgen.model.backend import Backend
from ckgen.model.diagnostic import Severity
from ckgen.model.dtype import DType
from ckgen.model.errors import InputError
from ckgen.model.fmha_shape import FmhaShape
from ckgen.model.target import Target
from ckgen.plan.model import GenerationPlan
from ckgen.plan.profile import admission
from ckgen.plan.profile_file import load_profile, profile_file
from ckgen.plan.registry_document import registry_schema, registry_text
from ckgen.plan.registry_read import read_registry
from ckgen.plan.select import select
from ckgen.specs.archs import load_archs
from plan_support import plan_of

GFX942, GFX950, V3, V4 = Target("gfx942", 304), Target("gfx950", 256), Target("x86_64_v3", 1), Target("x86_64_v4", 2)
EVERY = tuple(Target(arch.name, arch.default_cu_num) for arch in load_archs().values())
SET = """
op: fmha
name: mine
signatures: [fmha_bf16]
backend: ck_tile
targets: [gfx942]
kernels: tree
"""


def attention(*targets: Target, profiles: tuple[str, ...] = (), **options: object) -> GenerationPlan:
    files = tuple(profile_file(Path(profile)) for profile in profiles)
    return plan_of(targets=targets, ops=frozenset({"fmha"}), profiles=files, **options)


def test_the_defaults_answer_on_every_target_that_has_kernels() -> None:
    plan = attention(*EVERY)
    assert not plan.diagnostics
    assert [unit.name for unit in plan.units] == sorted(unit.name for unit in plan.units)
    answering = {arch for unit in plan.units for arch, indices in unit.defaults.items() if indices}
    cpus = {"x86_64_v3", "x86_64_v4", "x86_64_v4_bf16", "x86_64_amx"}
    assert answering == cpus | {"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1200", "gfx1201"}
    for unit in plan.units:
        assert len({instance.id for instance in unit.instances}) == len(unit.instances)
        for arch, indices in unit.defaults.items():
            assert all(arch in unit.instances[index].archs for index in indices)


def test_other_ops_have_no_attention_and_attention_no_gemms() -> None:
    assert {str(unit.signature.op) for unit in plan_of(targets=(GFX942,)).units} == {"gemm"}
    assert {str(unit.signature.op) for unit in attention(GFX942).units} == {"fmha"}


@pytest.mark.parametrize(
    ("profile", "target", "instances", "signatures"),
    [
        # 960 of 1008 of CK's generator, see lds-order; 24 of 36 and 64 of 288 over pages; 1240 with splits; 96 append
        ("flash", GFX942, 2536, 272),
        ("flash", GFX950, 2632, 272),
        ("pytorch", GFX942, 688, 38),
        ("aiter", GFX942, 3300, 376),
        ("ck_default", GFX942, 3420, 400),
        ("aiter_batch", GFX942, 1920, 172),
        ("aiter_group", GFX942, 1196, 172),  # with aiter_batch, 96 that append and 88 backward, aiter
        ("fp32", GFX942, 878, 97),
        ("fp32_min", GFX942, 24, 2),
        ("fp8_test", GFX942, 48, 16),
        ("flash_bwd", GFX942, 88, 20),
        ("flash_bwd", V3, 48, 48),
        ("aiter_bwd_batch", GFX942, 44, 10),
        ("aiter_bwd_batch", V3, 24, 24),
        ("aiter_bwd_group", V3, 24, 24),
        ("pytorch", V3, 62, 48),
        ("fp8", GFX942, 18, 4),
        ("minimal", GFX942, 40, 40),
    ],
)
def test_what_profiles_keep(profile: str, target: Target, instances: int, signatures: int) -> None:
    plan = attention(target, profiles=(profile,))
    assert (len(plan.instances), len(plan.units)) == (instances, signatures)


def in_fp16(signature: FmhaSignature) -> FmhaSignature:
    """The signature with fp16 in place of bf16."""
    types = {name: DType.FP16 for name in ("a", "b", "c") if getattr(signature, name) is DType.BF16}
    return replace(signature, **types) if len(types) == 3 else signature


def test_the_minimal_profile_has_what_problems_of_models_select_in_either_type_and_nothing_else() -> None:
    plan, archs = attention(*EVERY, profiles=("minimal",)), load_archs()
    assert plan.left_out["default"] > 1000
    problems = benchmark_problems()
    for target in EVERY:

        def chosen(signature: FmhaSignature, shape: FmhaShape, target: Target = target) -> FmhaInstance | None:
            resolved = signature.resolved(archs[target.gfx].fp8_flavour)
            return select(FmhaQuery(plan, target, resolved, shape)).instance

        selected = [chosen(one.signature, one.shape) for one in problems]
        also = [chosen(in_fp16(one.signature), one.shape) for one in problems]
        assert {one.name for one in (*selected, *also) if one is not None} == {
            instance.name for instance in plan.instances if target.gfx in instance.archs
        }
        if target.gfx in ("gfx942", "gfx950") or archs[target.gfx].kind is ArchKind.CPU:
            assert sum(one is not None for one in selected) >= 0.95 * len(problems)


def test_the_minimal_profile_takes_every_head_of_16_bits_without_pages() -> None:
    plan, everything = attention(GFX942, V4, profiles=("minimal",)), attention(GFX942, V4)
    for unit in plan.units:
        whole = everything.unit(unit.signature)
        assert whole is not None
        for arch, indices in unit.defaults.items():
            kept = [unit.instances[index].constraints for index in indices]
            for instance in (whole.instances[index] for index in whole.defaults[arch]):
                if instance.backend is Backend.HOST or (
                    instance.backend is Backend.CK_TILE
                    and unit.signature.a.bits == 16
                    and not unit.signature.traits.is_paged
                ):
                    assert any(covers(wide, instance.constraints) for wide in kept)


def test_a_profile_of_gemms_keeps_no_attention_and_the_other_way_round() -> None:
    gemms = load_profile("{name: g, about: a, keep: {signature: {a: bf16}}}", "g")
    heads = load_profile("{name: h, about: a, keep: {fmha: {a: bf16, hdim: 128x128}}}", "h")
    both = load_profile("{name: b, about: a, keep: {sources: default}}", "b")
    plan = attention(GFX942)
    unit = plan.unit(parse_canonical("fmha_bf16"))
    assert unit is not None
    kept = {
        profile.name: sum(bool(admission([profile], unit.signature, i.config, "default")) for i in unit.instances)
        for profile in (gemms, heads, both)
    }
    assert kept == {"g": 0, "h": 5, "b": len(unit.instances)}


def test_words_of_a_profile_are_checked() -> None:
    for text, said in (
        ("fmha: {dropout: some}", "unknown word: 'some'"),
        ("fmha: {layout: rcr}", "unknown key 'layout'"),
        ("fmha: {}", "fmha must name at least one field"),
    ):
        with pytest.raises(InputError, match=said):
            load_profile(f"{{name: n, about: a, keep: {{{text}}}}}", "p")


def test_filters_leave_out_kernels_and_signatures() -> None:
    by_name = attention(GFX942, V3, signatures=("fmha_bf16_masked",))
    assert [unit.name for unit in by_name.units] == ["fmha_bf16_masked"]
    on_cpu = attention(GFX942, V3, backends=frozenset({"host"}))
    assert {instance.backend.value for instance in on_cpu.instances} == {"host"}
    by_kernel = attention(GFX942, kernels=("qr_pad0000*",))
    assert by_kernel.units and all("_qr_pad0000_" in instance.name for instance in by_kernel.instances)


def test_a_users_set_adds_kernels_and_one_of_another_op_is_none(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    config = "qr_pad1111_128x128x32x128x32x128_4x1x1_32x32x16"
    mine.write_text(SET.replace("tree", config))
    more, plain = attention(GFX942, kernel_sets=(mine,)), attention(GFX942)
    added = {i.name for i in more.instances} - {i.name for i in plain.instances}
    assert added == {f"fmha_bf16_ck_tile_{config}"} and not more.diagnostics
    gemms = plan_of(targets=(GFX942,), kernel_sets=(mine,))
    assert not gemms.units_of(FmhaSignature) and not [d for d in gemms.diagnostics if d.severity is Severity.ERROR]


def test_a_set_of_which_nothing_is_valid_is_an_error_with_the_rules(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(SET.replace("tree", "qr_async_pad0000_128x128x32x128x32x128_4x1x1_32x32x16"))
    (found,) = attention(GFX942, kernel_sets=(mine,)).diagnostics
    assert found.code == "K009" and "ck_tile.fmha.pipeline" in found.detail[0]


def test_a_registry_document_brings_the_plan_back(tmp_path: Path) -> None:
    plan = attention(GFX942, V3, V4, signatures=("fmha_bf16_varlen*", "fmha_fp8*", "fmha_fp16_masked_alibi"))
    document = tmp_path / "registry.json"
    document.write_text(registry_text(plan))
    jsonschema.validate(json.loads(document.read_text()), registry_schema())
    again = read_registry(document, load_archs())
    assert again.units == plan.units and len(again.units) > 10
    assert render(again, "lib") == render(plan, "lib")


@pytest.mark.parametrize(
    ("path", "value", "code", "said"),
    [
        (("signature", "traits", "sink"), True, "R006", "its fields spell fmha_bf16_masked_sink, not"),
        (("signature", "traits", "rope"), "half", "R006", "means nothing: only append rotates"),
        (("signature", "traits", "sinks"), True, "R003", "unknown key 'sinks'"),
        (("instances", 0, "name"), "fmha_other", "R006", ", not fmha_other"),
        (("instances", 0, "backend"), "host", "R006", "its config is of backend ck_tile, not of host"),
        (("instances", 0, "constraints", "m0"), 7, "R006", "not those of fmha_bf16_masked"),
        (("instances", 0, "config", "ck_tile_fmha", "k0"), 48, "R007", "ck_tile.fmha.head-dims"),
        (("instances", 0, "archs"), ["x86_64_v3"], "R007", "is not a backend of it"),
        (("defaults", "gfx942"), [99], "R006", "there is no instance 99"),
    ],
)
def test_a_wrong_document_says_what_is_wrong(
    tmp_path: Path, path: tuple[str | int, ...], value: object, code: str, said: str
) -> None:
    document = json.loads(registry_text(attention(GFX942, signatures=("fmha_bf16_masked",))))
    place = document["units"][0]
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    file = tmp_path / "registry.json"
    file.write_text(json.dumps(document))
    with pytest.raises(InputError) as caught:
        read_registry(file, load_archs())
    found = [f"{one.code} {one.message}" for one in caught.value.diagnostics]
    assert any(text.startswith(code) and said in text for text in found), found


def test_the_text_of_a_unit_holds_its_instances_and_traits() -> None:
    texts = render(
        attention(GFX942, V3, signatures=("fmha_bf16_varlen_masked_lse_dropout",)),
        "lib",
    )
    unit = texts["fmha_bf16_varlen_masked_lse_dropout/unit.cpp"]
    assert "attention().varlen().masked().lse().dropout(ckgen::FmhaDropout::philox))" in unit
    assert unit.count(".launch(ckgen::launch_fmha, ckgen::fmha_workspace_of)") == unit.count("ckgen::Backend::")
    tile = "tile_qk(16, 64, 1).tile_v(256, 1).hdims(256, 256).pads(true, true).d_multiple(1).dv_multiple(1)"
    assert f"{tile}.max_splits(128).takes_items().merge_heads().rows_together(32)" in unit
    assert "fmha_bf16_varlen_masked_lse_dropout" in texts["register.cpp"]
