"""A file of settings answers shared options: which file is found, what it may say, and where it is wrong."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckgen.cli.options import shared_options
from ckgen.cli.settings_file import find_settings
from commands import as_json, ok, run


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, root of a repository."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(*arguments: str, env: dict[str, str] | None = None) -> dict[str, tuple[object, str]]:
    """By key, the value and where `ckgen config` says that it is from."""
    done = run(*arguments, "config", "--json", env=env)
    assert done.exit_code == 0, done.output
    return {one["key"]: (one["value"], one["place"] or one["source"]) for one in json.loads(done.stdout)["settings"]}


WORDS = {
    "targets": ("gfx942:304", "gfx950:256", "gfx90a:104"),
    "ops": ("gemm", "moe", "fmha"),
    "tuning": ("a", "b", "c"),
    "kernel-set": ("ci", "full", "default"),
    "signatures": ("a*", "b*", "c*"),
    "backend": ("ck", "ck_tile", "host"),
    "profile": ("minimal", "./p.yaml", "./q.yaml"),
    "target": ("gfx942", "gfx950", "gfx90a"),
    "module": ("a8w8", "bf16", "fp4"),
    "assume-gfx": ("256=gfx950", "304=gfx942", "104=gfx90a"),
    "assume-dtype": ("torch.int8", "torch.bfloat16", "torch.float16"),
    "m-policy": ("aiter", "ladder", "aiter"),
    "jobs": ("1", "2", "3"),
    "scheduler": ("local", "local:2", "tcp://h:1"),
}
"""A word of each key for the flag, the variable and the file."""


def test_every_shared_option_has_words_here() -> None:
    assert [one.key for one in shared_options()] == list(WORDS)


KEYS = st.sets(st.sampled_from(sorted(WORDS)))


@settings(max_examples=30)
@given(flags=KEYS, files=KEYS, variable=st.sampled_from(["", "CKGEN_TARGETS", "GPU_ARCHS"]))
def test_flags_come_before_the_environment_and_that_before_the_file(
    tmp_path_factory: pytest.TempPathFactory, flags: set[str], files: set[str], variable: str
) -> None:
    place = tmp_path_factory.mktemp("settings") / "ckgen.toml"
    in_file = sorted(files)
    lines = (f"{key} = {WORDS[key][2] if key == 'jobs' else json.dumps(WORDS[key][2])}\n" for key in in_file)
    place.write_text("".join(lines))
    arguments = [word for key in sorted(flags) for word in (f"--{key}", WORDS[key][0])]
    env = {variable: WORDS["targets"][1]} if variable else {}
    done = run("--config", str(place), "config", *arguments, "--json", env=env)
    assert done.exit_code == 0, done.output
    for found in json.loads(done.stdout)["settings"]:
        key, value = found["key"], found["value"]
        value = value[0] if isinstance(value, list) else value
        if key in flags:
            assert (value, found["source"]) == (WORDS[key][0], "flag")
        elif env and key == "targets":
            assert (value, found["source"], found["place"]) == (WORDS[key][1], "environment", variable)
        elif key in files:
            is_path = key in ("tuning", "profile")
            expected = os.path.normpath(place.parent / WORDS[key][2]) if is_path else WORDS[key][2]
            assert (os.path.normpath(value) if is_path else value) == expected
            assert (found["source"], found["place"]) == ("file", f"{place}:{in_file.index(key) + 1}")
        else:
            assert (value, found["source"]) == ("ladder" if key == "m-policy" else None, "default")


def test_the_nearest_file_within_the_repository_is_read_and_its_paths_are_its_own(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "ckgen.toml").write_text('tuning = ["+tables", "+/abs"]\n\nkernel-set = ["ci", "sets"]\n')
    inner = here / "a" / "b"
    inner.mkdir(parents=True)
    (inner.parent / "pyproject.toml").write_text('[project]\nname = "ckgen-user"\n')  # says nothing to ckgen
    monkeypatch.chdir(inner)
    found = said()
    assert found["tuning"] == (["+../../tables", "+/abs"], "../../ckgen.toml:1")
    assert found["kernel-set"] == (["ci", "../../sets"], "../../ckgen.toml:3")
    (inner.parent / "pyproject.toml").write_text("[tool.other]\njobs = 1\n[tool.ckgen]\njobs = 7\n")
    assert said()["jobs"] == ("7", "../pyproject.toml:4") and said()["tuning"] == (None, "default")
    (inner / ".git").write_text("gitdir: elsewhere\n")
    assert find_settings(inner) is None and said()["jobs"] == (None, "default")


def test_a_file_can_be_named_or_refused(here: Path) -> None:
    (here / "ckgen.toml").write_text("jobs = 2\n")
    (here / "other.toml").write_text("jobs = 3\n")
    assert said()["jobs"] == ("2", "ckgen.toml:1")
    assert said("--config", "other.toml")["jobs"] == ("3", "other.toml:1")
    assert said(env={"CKGEN_CONFIG": "other.toml"})["jobs"] == ("3", "other.toml:1")
    assert said("--config", "none", env={"CKGEN_CONFIG": "other.toml"})["jobs"] == (None, "default")


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ("jobs = 1\ntargets = [\n", "ckgen.toml:2", "C001"),
        ('jobs = 1\ntuninng = "x"\n', "ckgen.toml:2", "did you mean 'tuning'?"),
        ('\ntables = "x"\n', "ckgen.toml:2", "did you mean 'tuning'?"),
        ("\n[jobs]\n", "ckgen.toml:2", "C003"),
        ("jobs = true\n", "ckgen.toml:1", "an integer of at least 1"),
        ('# jobs = 1\nx = """\njobs = 2\n"""\njobs = "3"\n', "ckgen.toml:2", "unknown key 'x'"),
        ('module = """\njobs = 2\n"""\njobs = "3"\n', "ckgen.toml:4", "an integer of at least 1"),
        ('targets = ["gfx942",\n  "gfx9999"]\n', "ckgen.toml:1", "unknown arch 'gfx9999'"),
        ('targets = [""]\n', "ckgen.toml:1", "none of them empty"),
        ('tuning = ["+a", "b"]\n', "ckgen.toml:1", "give + to all or none"),
        ('m-policy = "later"\n', "ckgen.toml:1", "unknown policy 'later'"),
        ('assume-gfx = "gfx942"\n', "ckgen.toml:1", "CU=GFX"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_line(here: Path, text: str, place: str, what: str) -> None:
    (here / "ckgen.toml").write_text(text)
    done = run("config")
    assert done.exit_code == 3 and done.stdout == ""
    assert place in done.stderr and what in done.stderr, done.stderr
    shown = as_json("config", code=3)["diagnostics"][0]
    assert f"{shown['file']}:{shown['line']}" == place


def test_two_files_in_one_folder_are_an_error(here: Path) -> None:
    (here / "ckgen.toml").write_text("")
    (here / "pyproject.toml").write_text("[tool.ckgen]\n")
    assert "C004" in run("config").stderr
    (here / "pyproject.toml").write_text("tool = 3 # ckgen\n")
    assert "C003" in run("config").stderr


def test_a_bad_file_does_not_keep_help_from_those_who_look_for_it(here: Path) -> None:
    (here / "ckgen.toml").write_text("nonsense")
    assert "Usage: ckgen generate" in ok("generate", "--help") and ok("env")
    assert run("generate").exit_code == 3


def test_commands_take_from_the_file_what_they_are_not_given(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tiny / "ckgen.toml").write_text('targets = "gfx942"\ntuning = "t"\n\ntarget = "gfx950"\n')
    (tiny / "in").mkdir()
    monkeypatch.chdir(tiny / "in")
    made = ok("generate", "--out", "made", "--dry-run", "--json")
    assert "gfx942" in made and "gfx950" not in made
    assert "gfx950" in ok("generate", "--out", "made", "--dry-run", "--json", env={"CKGEN_TARGETS": "gfx950"})
    listed = as_json("list", "instances")["counts"]["archs"]
    assert list(listed) == ["gfx942"] and list(as_json("list", "instances", "--targets", "gfx950")["counts"]["archs"])
    asked = ("lookup", "gemm", "--signature", "a8w8_blockscale", "--shape", "32,512,7168")
    assert "gfx950:256" in ok(*asked) and "gfx942:304" in ok(*asked, "--target", "gfx942")
    assert json.loads(ok("list", "archs", "--json"))  # the file chooses nothing there
    every = ok("validate", "../t")
    (tiny / "ckgen.toml").unlink()
    assert ok("validate", "../t") == every


def test_a_registry_is_all_that_is_read_whatever_the_file_says(tiny: Path) -> None:
    (tiny / "r.json").write_text(ok("export", "--targets", "gfx942", "--tuning", "t"))
    plain = ok("generate", "--registry", "r.json", "--dry-run")
    (tiny / "ckgen.toml").write_text(
        'targets = "gfx950"\ntuning = "nowhere"\nm-policy = "aiter"\nprofile = "minimal"\n'
    )
    assert ok("generate", "--registry", "r.json", "--dry-run") == plain
    refused = run("generate", "--registry", "r.json", "--targets", "gfx942")
    assert refused.exit_code == 2 and "--targets does not go with it" in refused.stderr


def test_a_depfile_names_the_file(tiny: Path) -> None:
    (tiny / "ckgen.toml").write_text('targets = "gfx942"\ntuning = "t"\n')
    ok("generate", "--out", "made", "--depfile", "made.d")
    assert "ckgen.toml" in (tiny / "made.d").read_text()
    ok("--config", "none", "generate", "--targets", "gfx942", "--tuning", "t", "--out", "made", "--depfile", "made.d")
    assert "ckgen.toml" not in (tiny / "made.d").read_text()
