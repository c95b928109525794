"""The manifest: what it holds, what it refuses, and the small texts beside it."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from ckgen import paths
from ckgen.emit.checked_in import keep
from ckgen.emit.depfile import depfile_text
from ckgen.emit.environment import environment
from ckgen.emit.generate import generate, summary
from ckgen.emit.manifest import MANIFEST, Manifest, digest, generator_digest, generator_files, intact, read_manifest
from ckgen.emit.schema import schema
from ckgen.model.dtype import DType
from ckgen.model.errors import InputError
from ckgen.plan.options import PlanOptions
from ckgen.specs.archs import load_archs
from plan_support import GFX942, GFX942_80, row, write_table
from surface import changeable

GOOD = Manifest("0" * 64, {"name": "x"}, {"tuning/0/a.csv": "1" * 64}, {"a/b.hpp": digest(b"text")}, {"rows": 1})


def written(folder: Path, manifest: Manifest = GOOD) -> Path:
    (folder / "a").mkdir(parents=True)
    (folder / "a/b.hpp").write_text("text")
    (folder / MANIFEST).write_text(manifest.to_text())
    return folder


def test_a_manifest_is_sorted_json_with_the_digest_of_the_rest() -> None:
    document = json.loads(GOOD.to_text())
    assert GOOD.to_text() == json.dumps(document, indent=1, sort_keys=True) + "\n"
    told = document.pop("digest")
    assert told == hashlib.sha256((json.dumps(document, indent=1, sort_keys=True) + "\n").encode()).hexdigest()
    assert document == {
        "schema": "ckgen.manifest/2",
        "generator": GOOD.generator,
        "options": GOOD.options,
        "inputs": GOOD.inputs,
        "files": GOOD.files,
        "summary": GOOD.summary,
    }


def test_what_was_written_is_read_back_and_intact(tmp_path: Path) -> None:
    out = written(tmp_path / "out")
    assert read_manifest(out) == GOOD and intact(out, GOOD)
    (out / "a/b.hpp").write_text("other")
    assert not intact(out, GOOD)
    (out / "a/b.hpp").unlink()
    assert not intact(out, GOOD)
    assert not intact(written(tmp_path / "other"), replace(GOOD, summary={}))
    assert read_manifest(tmp_path / "none") is None


def test_files_of_an_older_manifest_are_known_and_renewed(tmp_path: Path) -> None:
    out = written(tmp_path / "out")
    (out / MANIFEST).write_text(GOOD.to_text().replace("manifest/2", "manifest/1"))
    assert read_manifest(out) == GOOD and not intact(out, GOOD)


def test_inputs_that_differ_are_told_by_name() -> None:
    other = replace(GOOD, inputs={"tuning/0/a.csv": "2" * 64, "tuning/0/b.csv": "1" * 64})
    assert GOOD.changed_inputs(GOOD) == ()
    assert GOOD.changed_inputs(other) == other.changed_inputs(GOOD) == ("tuning/0/a.csv", "tuning/0/b.csv")


@pytest.mark.parametrize("field", ["generator", "options", "inputs"])
def test_another_generator_option_or_input_is_another_source(field: str) -> None:
    assert GOOD.same_source(replace(GOOD, files={}, summary={}))
    assert not GOOD.same_source(replace(GOOD, **{field: {}}))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": "ckgen.manifest/0"}, "its schema is not ckgen.manifest/2"),
        ({"generator": 1}, "'generator' is missing or of another type"),
        ({"options": []}, "'options' is missing or of another type"),
        ({"inputs": []}, "'inputs' is missing or of another type"),
        ({"files": []}, "'files' is missing or of another type"),
        ({"summary": None}, "'summary' is missing or of another type"),
        ({"files": {"../a": ""}}, "file '../a' lies outside the folder"),
        ({"files": {"/a": ""}}, "file '/a' lies outside the folder"),
        ({"files": {"": ""}}, "file '' lies outside the folder"),
        ({"files": {"a\0": ""}}, "file 'a\\x00' lies outside the folder"),
    ],
)
def test_a_document_that_is_no_manifest_is_refused(change: dict[str, object], said: str, tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text(json.dumps({**json.loads(GOOD.to_text()), **change}))
    with pytest.raises(InputError) as error:
        read_manifest(tmp_path)
    assert str(error.value) == (
        f"error[G001] {tmp_path / MANIFEST}: not a ckgen manifest: {said}\n"
        "            move it away and generate again; no file that it lists will then be removed"
    )


def test_a_manifest_that_is_no_json_says_where(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text('{"schema":\n]')
    with pytest.raises(InputError) as error:
        read_manifest(tmp_path)
    assert str(error.value) == (
        f"error[G001] {tmp_path / MANIFEST}:2: not a ckgen manifest: not JSON: Expecting value\n"
        "            move it away and generate again; no file that it lists will then be removed"
    )


def test_a_list_is_no_manifest(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text("[]")
    with pytest.raises(InputError, match="its schema is not"):
        read_manifest(tmp_path)


def test_a_file_in_the_place_of_the_tree_is_told(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(InputError) as error:
        read_manifest(tmp_path / "out")
    assert str(error.value) == (
        f"error[G003] {tmp_path / 'out'}: a file stands where a folder is meant\n"
        "            move it away, or choose another --out"
    )


def test_the_generator_is_its_code_data_templates_and_archs() -> None:
    files = generator_files()
    assert list(files) == sorted(set(files))
    suffixes = {file.suffix for file in files}
    assert suffixes == {".py", ".json", ".yaml", ".j2"}
    for folder in (paths.package_dir(), paths.templates_dir(), paths.arch_specs_dir()):
        assert any(file.is_relative_to(folder) for file in files)


def test_what_lies_in_a_wheel_s_data_is_no_part_of_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of it templates and archs are the generator's, by their own folders."""
    names = ("a.py", "b.txt", "_data/c.json", "_data/archs/d.json", "deep/e.yaml", "_data.py", "deep/_data/f.j2")
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    monkeypatch.setattr(paths, "package_dir", lambda: tmp_path)
    found = [path.relative_to(tmp_path).as_posix() for path in generator_files() if path.is_relative_to(tmp_path)]
    assert found == ["_data.py", "a.py", "deep/_data/f.j2", "deep/e.yaml"]


def test_a_depfile_has_one_rule_with_escaped_sorted_paths() -> None:
    sources = [Path("/b/two words"), Path("/a/x#1"), Path("/c/$d"), Path("/c/e\\f"), Path("/a/x#1")]
    assert depfile_text(Path("out/a b.stamp"), sources) == (
        "out/a\\ b.stamp: \\\n  /a/x\\#1 \\\n  /b/two\\ words \\\n  /c/$$d \\\n  /c/e\\\\f\n"
    )


def test_templates_keep_lines_and_escape_nothing() -> None:
    text = environment().from_string("  {% if x %}\n<{{ x }}>\n  {% endif %}\nend\n")
    assert text.render(x="&") == "<&>\nend\n"


def test_a_checked_in_header_is_kept_or_held_against_its_source(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "deep/er/x.hpp"
    assert keep("text", path, "x.json", "make it", []) == 1
    assert capsys.readouterr() == ("", "x.hpp is not what x.json says; run: make it\n")
    assert not path.parent.exists()
    assert keep("text", path, "x.json", "make it", ["--write"]) == 0
    assert path.read_text() == "text" and keep("text", path, "x.json", "make it", []) == 0
    assert keep("other", path, "x.json", "make it", ["--write"]) == 0 and path.read_text() == "other"


def test_values_of_the_room_cannot_be_changed() -> None:
    assert set(changeable("ckgen.emit")) == {"_Phases", "Reader", "_Flat"}  # which gather


def test_a_run_tells_its_options_inputs_counts_and_phases(tmp_path: Path) -> None:
    table = write_table(tmp_path / "a8w8_blockscale.csv", [row(16), row(16), row(32, cu_num=80)])
    options = PlanOptions(
        targets=(GFX942,), tuning=(table, tmp_path), kernels=("a8w8_blockscale_*", "a*"), backends=frozenset({"ck"}),
        signatures=("gemm_fp8_fnuz_bf16_rcr_blockscale",), module="a8w8_blockscale",
        assume_gfx={304: "gfx942", 80: "gfx942"},
        assume_dtype=DType.INT8,
    )  # fmt: skip
    made = generate(options, load_archs(), "my_kernels", tmp_path / "out", dry_run=True)
    assert not (tmp_path / "out").exists() and not made.up_to_date
    manifest = made.manifest
    assert manifest.options == {
        "name": "my_kernels",
        "targets": ["gfx942:304"],
        "ops": ["gemm"],
        "module": "a8w8_blockscale",
        "kernels": ["a*", "a8w8_blockscale_*"],
        "signatures": ["gemm_fp8_fnuz_bf16_rcr_blockscale"],
        "backends": ["ck"],
        "m_policy": "ladder",
        "assume_gfx": {"80": "gfx942", "304": "gfx942"},
        "assume_dtype": "torch.int8",
    }
    assert manifest.inputs == {f"tuning/{layer}/a8w8_blockscale.csv": digest(table.read_bytes()) for layer in (0, 1)}
    assert made.plan is not None
    assert manifest.summary == summary(made.plan)
    assert manifest.summary["rows"] == 6 and sum(manifest.summary["fates"].values()) == 6
    assert list(manifest.summary["fates"]) == sorted(manifest.summary["fates"])
    assert manifest.summary["selected"] == {"gfx942:304": 1}
    counts = {unit.name: len(unit.instances) for unit in made.plan.units}
    assert manifest.summary["instances"] == counts and counts["gemm_fp8_fnuz_bf16_rcr_blockscale"] > 1
    assert manifest.files == {path: digest(text.encode()) for path, text in made.texts.items() if path != MANIFEST}
    assert [name for name, _ in made.phases] == ["digest", "imports", "plan", "render", "compare"]
    assert all(seconds >= 0 for _, seconds in made.phases)
    jsonschema.validate(json.loads(manifest.to_text()), schema("manifest"))
    wrote = generate(options, load_archs(), "my_kernels", tmp_path / "out", dry_run=False)
    assert [name for name, _ in wrote.phases] == ["digest", "imports", "plan", "render", "compare", "write"]
    again = generate(options, load_archs(), "my_kernels", tmp_path / "out", dry_run=False)
    assert [name for name, _ in again.phases] == ["digest", "compare"] and again.texts == {}
    assert PlanOptions(targets=(GFX942_80,)) == PlanOptions(targets=(GFX942_80,), ops=frozenset({"gemm"}))


def test_a_table_that_is_gone_by_now_is_told_as_unreadable(tmp_path: Path) -> None:
    from ckgen.emit.generate import _of_table
    from ckgen.tables.load import find_tables

    table = write_table(tmp_path / "a8w8_blockscale.csv", [row(16)])
    (source,) = find_tables((table,))
    assert _of_table(source) == digest(table.read_bytes())
    table.unlink()
    assert _of_table(source) == "unreadable"


def test_kernel_sets_profiles_and_documents_are_inputs_by_their_place_in_the_call(tmp_path: Path) -> None:
    from ckgen.emit.generate import _inputs

    files = [tmp_path / name for name in ("a.yaml", "b.yaml", "c.json")]
    for file in files[:2]:
        file.write_text(file.name)
    options = PlanOptions(targets=(), kernel_sets=(files[0], files[1]), profiles=(files[1],), registry=files[2])
    assert _inputs(options) == {
        "kernel_sets/0/a.yaml": digest(b"a.yaml"),
        "kernel_sets/1/b.yaml": digest(b"b.yaml"),
        "profiles/0/b.yaml": digest(b"b.yaml"),
        "registry/c.json": "unreadable",
    }


def test_a_wheel_and_a_checkout_of_the_same_sources_are_one_generator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a wheel templates, specs, tables and C++ sources lie within the package."""
    given = generator_digest()
    wheel = tmp_path / "site-packages" / "ckgen"
    shutil.copytree(paths.package_dir(), wheel, ignore=shutil.ignore_patterns("__pycache__", "_data"))
    for folder in (paths.templates_dir(), paths.arch_specs_dir()):
        shutil.copytree(folder, wheel / "_data" / folder.name)
    (wheel / "_data" / "tuning").mkdir()
    (wheel / "_data" / "tuning" / "more.json").write_text("{}", encoding="utf-8")
    monkeypatch.setattr(paths, "_PACKAGE", wheel)
    monkeypatch.setattr(paths, "_WHEEL_DATA", wheel / "_data")
    monkeypatch.setattr("ckgen.emit.manifest.spec_dirs", lambda: (wheel / "_data" / "arch_specs",))
    assert all(file.is_relative_to(tmp_path) for file in generator_files())
    assert generator_digest() == given
    (wheel / "_data" / "templates" / "more.j2").write_text("", encoding="utf-8")
    assert generator_digest() != given
