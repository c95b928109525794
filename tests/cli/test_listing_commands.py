"""`ckgen list`, `env`, `schema`: their JSON, and words that do not exist."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from cli_support import REPOSITORY, SMALL

from ckgen.families.gemm import kernel_set
from ckgen.plan import profile_file
from ckgen.version import __version__
from commands import as_json, ok, run


def test_archs_are_those_of_the_specs() -> None:
    archs = as_json("list", "archs")
    assert [arch["name"] for arch in archs] == sorted(path.stem for path in specs())
    (mi300,) = (arch for arch in archs if arch["name"] == "gfx942")
    assert mi300["default_cu_num"] == 304 and {80, 304} <= set(mi300["cu_nums"])
    assert ok("list", "archs").count("\n") == len(archs)


def one_of_each(units: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first units that have an operation's kind of Config, tables, decision rules, defaults or predictions, and the
    first of each value of a field of signatures."""
    seen: set[object] = set()
    found = []
    for unit in units:
        words = {(unit["op"], key, bool(value)) for key, value in unit.items()}
        words |= {(unit["op"], kind) for one in unit["instances"] for kind in one["config"]}
        words |= {(unit["op"], key, repr(value)) for key, value in unit["signature"].items()}
        if not words <= seen:
            found.append(unit)
        seen |= words
    return found


def specs() -> list[Path]:
    return [path for path in (REPOSITORY / "arch_specs").glob("*.json") if path.name != "schema.json"]


def test_ops_have_names() -> None:
    ops = as_json("list", "ops")
    assert "gemm" in [op["name"] for op in ops]
    assert "a8w8_blockscale" in ops[0]["signatures"] and ok("list", "ops").startswith("gemm ")


def test_rules_have_ids_texts_and_sources() -> None:
    rules = as_json("list", "rules")
    ids = [rule["id"] for rule in rules]
    assert len(ids) == len(set(ids)) and {"gemm.blockscale.k-group"} < set(ids)
    assert all(rule["text"] and (rule["source"] or rule["judges"] == "problem") for rule in rules)
    assert ok("list", "rules").count("\n") == len(rules)


def test_instances_are_those_of_search_spaces_and_tables() -> None:
    document = as_json("list", "instances")
    instances, counts = document["instances"], document["counts"]
    assert len({one["name"] for one in instances}) == len(instances) == counts["instances"] > 1500
    assert {tuple(one) for one in instances} == {("name", "id", "op", "signature", "module", "backend", "targets")}
    backends = {"asm", "ck", "ck_tile", "cutlass", "hip", "host"}
    assert {one["backend"] for one in instances} == backends == set(counts["backends"])
    assert all(one["targets"] and one["name"].startswith(f"{one['signature']}_{one['backend']}_") for one in instances)
    for arch, count in counts["archs"].items():
        assert count == sum(arch in one["targets"] for one in instances)
        assert count == sum(one["instances"] for one in counts["per"] if one["arch"] == arch)
    assert sum(counts["ops"].values()) == sum(counts["dtypes"].values()) == len(instances)
    ops = ("gemm", "grouped_gemm", "moe")
    assert set(counts["ops"]) == {*ops, "stream_k", "fmha"}
    fp4 = tuple(f"{op}_fp4_" for op in ops)
    assert counts["dtypes"]["fp4"] == sum(one["signature"].startswith(fp4) for one in instances)


def test_instances_of_tables_and_sets_that_are_named(tiny: Path) -> None:
    words = ("list", "instances", "--tuning", "t", "--targets", "gfx942;x86_64_v3")
    everything = {one["name"] for one in as_json(*words)["instances"]}
    chosen = {
        ("--kernels", SMALL): lambda name: name.endswith(f"_ck_{SMALL.removeprefix('a8w8_blockscale_')}"),
        ("--backend", "host"): lambda name: "_host_" in name,
        ("--signatures", "gemm_fp32_rcr"): lambda name: name.startswith("gemm_fp32_rcr_") and "_bias_" not in name,
        ("--profile", "fp8"): lambda name: (
            name.startswith("fmha_fp8") or ("fmha" not in name and ("_fp8_" in name or "_bf8_" in name))
        ),
    }
    for options, is_meant in chosen.items():
        found = {one["name"] for one in as_json(*words, *options)["instances"]}
        assert found == {name for name in everything if is_meant(name)} and found, options
    more = {one["name"] for one in as_json(*words, "--kernel-set", "ci")["instances"]}
    assert everything < more
    text = ok(*words, "--signatures", "gemm_fp32_rcr").splitlines()
    (table,) = (at for at, line in enumerate(text) if line.split() == ["op", "dtypes", "gfx942", "x86_64_v3"])
    assert text[-1] == f"{table} instances" and text[-2].startswith("all ") and len(text) - table >= 4


def test_profiles_are_counted(tiny: Path) -> None:
    words = ("list", "profiles", "--tuning", "t", "--targets", "gfx942:304;x86_64_v3")
    profiles = {one["name"]: one for one in as_json(*words)}
    assert set(profiles) == set(profile_file.shipped_names())
    assert {"all", "fp8", "minimal", "flash", "flash_bwd"} <= set(profiles)
    everything = as_json("list", "instances", *words[2:])["counts"]
    assert profiles["all"]["instances"] == everything["instances"] and profiles["all"]["archs"] == everything["archs"]
    assert profiles["all"]["rows"] == profiles["fp8"]["rows"] == 2 and profiles["minimal"]["rows"] == 0
    assert 0 < profiles["minimal"]["instances"] < profiles["all"]["instances"]
    assert ok(*words).count("\n") == 1 + len(profiles)


def test_names_are_the_forms_that_error_hints_refer_to() -> None:
    forms = ok("list", "names", "--module", "a8w8_blockscale").splitlines()
    assert forms[0].startswith("a8w8_blockscale_<sm>x<sn>x<sk>_<block>x<M>x<N>x<K>_") and "…" not in "".join(forms)
    assert [name["form"] for name in as_json("list", "names", "--module", "a8w8_blockscale")] == forms
    assert {"a8w8", "batched_bf16"} < {name["module"] for name in as_json("list", "names")}


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("things",), "'things' is not one of"),
        ((), "Missing argument"),
        (("names", "--module", "nope"), "unknown module 'nope'"),
        (("names", "--module", "bf16"), "external"),
        (("archs", "--module", "a8w8"), "--module goes with 'names'"),
        (("archs", "--ops", "gemm"), "only 'instances', 'profiles' and 'fmha-problems' can be chosen"),
        (("instances", "--ops", "gem"), "unknown op: gem"),
        (("instances", "--profile", "minmal"), "did you mean 'minimal'?"),
    ],
)
def test_unknown_words_are_exit_2(arguments: tuple[str, ...], said: str) -> None:
    result = run("list", *arguments)
    assert result.exit_code == 2 and said in result.stderr and result.stdout == ""


def test_env_says_versions_machine_and_folders() -> None:
    found = as_json("env")
    assert found["ckgen"] == __version__ and ":" in found["native_target"] and found["cpu"]
    assert {"cmake", "ninja", "g++", "hipcc"} <= set(found["tools"])
    assert Path(found["data"]["arch_specs"]).is_dir()
    assert {"rocm", "hip_device"} < set(found)
    assert ok("env").split()[:2] == ["ckgen", __version__]


class TestSchema:
    def test_shipped_arch_specs_keep_theirs(self) -> None:
        validator = jsonschema.Draft202012Validator(json.loads(ok("schema", "arch")))
        for path in specs():
            validator.validate(json.loads(path.read_text(encoding="utf-8")))

    def test_words_are_those_of_signatures_and_stand_apart_from_documents(self) -> None:
        words = json.loads(ok("schema", "words"))["$defs"]
        jsonschema.validate("rowwise", words["Quant"])
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate("row_wise", words["Quant"])
        assert "words" not in json.loads(ok("schema"))["$defs"]

    def test_shipped_kernel_sets_keep_theirs(self) -> None:
        schema = json.loads(ok("schema", "kernel-set"))
        validator = jsonschema.Draft202012Validator(schema)
        folder = Path(kernel_set.__file__).parents[1]
        for path in folder.glob("*/kernel_sets/*.yaml"):
            for document in yaml.load_all(path.read_text(encoding="utf-8"), yaml.CSafeLoader):
                if document is not None:
                    validator.validate(document)
        assert tuple(schema["properties"]) == kernel_set._KEYS
        assert tuple(schema["required"]) == kernel_set._REQUIRED
        assert schema["properties"]["backend"]["enum"] == [str(backend) for backend in kernel_set._BACKENDS]

    def test_shipped_profiles_keep_theirs(self) -> None:
        schema = json.loads(ok("schema", "profile"))
        files = list(Path(profile_file.__file__).with_name("profiles").glob("*.yaml"))
        for path in files:
            text = path.read_text(encoding="utf-8")
            assert text.startswith("# ")
            jsonschema.validate(yaml.safe_load(text), schema)
        assert len(files) == len(profile_file.shipped_names()) >= 5

    def test_an_exported_registry_keeps_its_own(self, tiny: Path) -> None:
        registry = json.loads(ok("export", "--targets", "gfx942;x86_64_v3", "--tuning", "t"))
        validator = jsonschema.Draft202012Validator(json.loads(ok("schema", "registry")))
        validator.validate(registry | {"units": one_of_each(registry["units"])})
        for op, kind in (("fmha", "ck_tile_fmha"), ("gemm", "ck_tile")):
            unit = next(unit for unit in registry["units"] if unit["op"] == op)
            found = next(one for one in unit["instances"] if kind in one["config"])["config"][kind]
            validator.validate(registry | {"units": [unit]})
            found["vektor"] = 1
            with pytest.raises(jsonschema.ValidationError):
                validator.validate(registry | {"units": [unit]})

    def test_a_generated_manifest_keeps_its_own(self, tiny: Path) -> None:
        ok("generate", "--targets", "gfx942", "--tuning", "t", "--assume-gfx", "256=gfx950")
        manifest = json.loads((tiny / "ckgen_generated/manifest.json").read_text(encoding="utf-8"))
        jsonschema.validate(manifest, json.loads(ok("schema", "manifest")))
        jsonschema.validate(manifest, json.loads(ok("schema")))

    def test_every_schema_is_one(self) -> None:
        for words in ((), ("arch",), ("kernel-set",), ("profile",), ("manifest",), ("registry",)):
            jsonschema.Draft202012Validator.check_schema(json.loads(ok("schema", *words)))
        assert run("schema", "table").exit_code == 2
