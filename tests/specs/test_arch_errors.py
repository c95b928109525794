"""Broken specs: every problem at once, each with file, line and what to do."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ckgen import paths
from ckgen.model.errors import InputError, UsageError
from ckgen.specs import load_archs


def broken(tmp_path: Path, *edits: tuple[str, str], name: str = "gfx942") -> tuple[list[tuple[str, int, str]], str]:
    """Codes, lines and messages of a spec with the edits, and the error's whole text."""
    text = (paths.arch_specs_dir() / f"{name}.json").read_text(encoding="utf-8")
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    (tmp_path / f"{name}.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_archs(tmp_path)
    found = [(d.code, d.location.line if d.location else 0, d.message) for d in caught.value.diagnostics]
    return found, str(caught.value)


def line_of(tmp_path: Path, text: str, name: str = "gfx942") -> int:
    lines = (tmp_path / f"{name}.json").read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_unknown_key_with_line_and_did_you_mean(tmp_path: Path) -> None:
    found, text = broken(tmp_path, ('"wave_size"', '"wave_sise"'))
    line = line_of(tmp_path, "wave_sise")
    assert ("A003", line, "unknown key 'wave_sise'") in found
    assert any(code == "A004" and message == "missing key 'wave_size'" for code, _, message in found)
    assert f"gfx942.json:{line}: unknown key 'wave_sise'" in text
    assert "did you mean 'wave_size'?" in text


def test_duplicate_key_names_both_lines(tmp_path: Path) -> None:
    found, text = broken(tmp_path, ('  "family"', '  "kind": "gpu",\n  "family"'))
    assert found == [("A002", 5, "key 'kind' is given twice")]
    assert "gfx942.json:5 and " in text
    assert "gfx942.json:3: key" in text


def test_wrong_types(tmp_path: Path) -> None:
    found, _ = broken(
        tmp_path,
        ('"wave_size": 64', '"wave_size": "64"'),
        ('"cu_num": 80', '"cu_num": -80'),
        ('"default": true', '"default": 1'),
        ('"fp8_flavour": "fnuz"', '"fp8_flavour": "fnus"'),
        ("[1, 4, 1]", "[1, 4]"),
    )
    assert [(code, message) for code, _, message in found] == [
        ("A005", "'wave_size' must be an integer of 1 to 65536, got '64'"),
        ("A005", "expected three integers of 1 to 65536, got a list"),
        ("A005", "'fp8_flavour' must be one of fnuz, ocp; got 'fnus'"),
        ("A005", "'default' must be true or false, got 1"),
        ("A005", "'cu_num' must be an integer of 1 to 65536, got -80"),
    ]
    assert [line for _, line, _ in found] == sorted(line for _, line, _ in found)


def test_values_beyond_reason_are_told_together_each_with_its_line(tmp_path: Path) -> None:
    edits = (
        ('"family": "cdna3"', '"family": "a::b"'),
        ('"bytes_per_workgroup": 65536', f'"bytes_per_workgroup": {10**30}'),
        ('"name": "MI300X"', '"name": "MI\\"\\n#error"'),
        ('"cu_num": 80', '"cu_num": 1000000000000'),
        ('"clock_mhz": 2100, "memory', '"clock_mhz": 1e30, "memory'),
        ('"budget": 0.5', '"budget": 1e30'),
        ('"mi308":', '"MI-308":'),
    )
    found, _ = broken(tmp_path, *edits)
    lines = [line_of(tmp_path, new) for _, new in edits]
    word = "lower-case letters and digits, parted by single underscores, a letter first, at most 64 characters"
    expected = [
        f"'family' must be {word}; got 'a::b'",
        f"'bytes_per_workgroup' must be an integer of 1 to 16777216, got {10**30}",
        "'name' must be letters and digits, parted by single spaces, at most 64 characters; got 'MI\"\\n#error'",
        "'cu_num' must be an integer of 1 to 65536, got 1000000000000",
        "'clock_mhz' must be an integer of 1 to 100000, got 1e+30",
        "'budget' must be a number above 0, at most 16777216, got 1e+30",
        f"key 'MI-308' must be {word}",
    ]
    told = {message: line for code, line, message in found if code == "A005"}
    assert [told.get(message) for message in expected] == lines


def test_a_newline_behind_a_word_is_refused(tmp_path: Path) -> None:
    found, _ = broken(tmp_path, ('"family": "cdna3"', '"family": "cdna3\\n"'))
    assert len(found) == 1 and "got 'cdna3\\n'" in found[0][2]


def test_long_values_are_cut_in_messages(tmp_path: Path) -> None:
    found, _ = broken(tmp_path, ('"family": "cdna3"', f'"family": "{"a" * 5000}"'))
    assert len(found) == 1 and len(found[0][2]) < 250


def test_problems_of_two_files_come_together(tmp_path: Path) -> None:
    for name in ("gfx942", "gfx950"):
        source = paths.arch_specs_dir() / f"{name}.json"
        (tmp_path / source.name).write_text(source.read_text(encoding="utf-8").replace('"gpu"', '"gqu"'), "utf-8")
    with pytest.raises(InputError) as caught:
        load_archs(tmp_path)
    files = {Path(d.location.file).name for d in caught.value.diagnostics if d.location}
    assert files == {"gfx942.json", "gfx950.json"}
    assert "did you mean 'gpu'?" in str(caught.value)


def test_a_syntax_error_has_its_line(tmp_path: Path) -> None:
    found, _ = broken(tmp_path, ('"kind": "gpu",', '"kind": "gpu"'))
    assert [(code, line) for code, line, _ in found] == [("A001", 4)]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (('"name": "gfx942"', '"name": "gfx943"'), "'name' is 'gfx943' but the file is called 'gfx942.json'"),
        (('"default": true', '"default": false'), "exactly one SKU must be the default, found 0"),
        (('"v_mfma_f32_32x32x8_f16", "issues": 2', '"v_mfma_f32_32x32x8_f16", "issues": 3'),
         "3 x 8192 multiply-adds are not the 16384 of 32x32x16"),
        (('"instruction": "v_mfma_f32_32x32x8_f16"', '"instruction": "v_mfma_f32_32x32x9_f16"'),
         "'v_mfma_f32_32x32x9_f16' is no matrix instruction of gfx942"),
        (('"instruction": "v_mfma_f32_32x32x8_f16"', '"instruction": "v_mfma_f32_32x32x8_bf16"'),
         "'v_mfma_f32_32x32x8_bf16' does not compute fp16·fp16·fp32"),
        (('"source": "mi308"', '"source": "mi309"'), "source 'mi309' is not in the file's 'sources'"),
        (('"sources": {', '"sources": {\n    "idle": "nothing",'), "source 'idle' backs no value"),
        (('"vgprs_per_wave": 512', '"vgprs_per_wave": 513'), "a wave is given 513 VGPRs, of 512 that its SIMD has"),
        (("[1, 4, 1]", "[32, 4, 1]"), "32x4x1 waves are 8192 threads, more than 1024"),
    ],
)  # fmt: skip
def test_values_that_contradict_each_other(tmp_path: Path, edit: tuple[str, str], message: str) -> None:
    found, _ = broken(tmp_path, edit)
    assert message in [text for _, _, text in found]


@pytest.mark.parametrize("text", ["[]", "3", '"gfx942"', "null"])
def test_a_file_that_holds_no_object(tmp_path: Path, text: str) -> None:
    (tmp_path / "gfx942.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="expected an object"):
        load_archs(tmp_path)


def test_a_folder_without_specs(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no arch specs in"):
        load_archs(tmp_path)


def test_the_schema_is_no_spec(tmp_path: Path) -> None:
    for file in ("schema.json", "gfx942.json"):
        shutil.copy(paths.arch_specs_dir() / file, tmp_path)
    assert list(load_archs(tmp_path)) == ["gfx942"]


def with_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *edits: tuple[str, str], name: str) -> str:
    """What is said of a copy of gfx942's spec, with the edits, that lies in the folder of CKGEN_ARCH_SPECS."""
    text = (paths.arch_specs_dir() / "gfx942.json").read_text(encoding="utf-8")
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    tmp_path.mkdir()
    (tmp_path / f"{name}.json").write_text(text, encoding="utf-8")
    monkeypatch.setenv("CKGEN_ARCH_SPECS", str(tmp_path))
    with pytest.raises(InputError) as caught:
        load_archs()
    return str(caught.value)


def test_specs_contradict_no_other_spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    renamed = ('"name": "gfx942"', '"name": "gfx9f0"')
    said = with_another(tmp_path / "a", monkeypatch, name="gfx942")
    assert "arch 'gfx942' has a spec already" in said and "arch_specs/gfx942.json; choose another name" in said
    said = with_another(tmp_path / "b", monkeypatch, renamed, ('"elf_machine": 76', '"elf_machine": 77'), name="gfx9f0")
    assert "'gfx942' with elf_machine 77 contradicts arch_specs/gfx942.json" in said
    said = with_another(
        tmp_path / "c", monkeypatch, renamed, ('"processor": "gfx942"', '"processor": "gfx9f0"'), name="gfx9f0"
    )
    assert "'gfx9f0' with elf_machine 76 contradicts arch_specs/gfx942.json" in said
    said = with_another(tmp_path / "d", monkeypatch, renamed, ('"cdna3"', '"cdna4"'), name="gfx9f0")
    assert "'gfx942' of family cdna4 contradicts arch_specs/gfx942.json" in said


def test_a_named_folder_must_hold_specs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CKGEN_ARCH_SPECS", str(tmp_path))
    with pytest.raises(UsageError, match=f"no arch specs in {tmp_path}"):
        load_archs()
