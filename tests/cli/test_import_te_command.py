"""`ckgen kernel-set import-te`: each key of a Tile Engine config decides something or is named, or is an error."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ckgen.families.common.tile_engine import Wanted
from ckgen.families.kernel_sets import load_kernel_set
from ckgen.families.tile_engine import import_config, set_text
from ckgen.model.errors import InputError, UsageError
from commands import ok, run


def of(*values: Any) -> dict[str, Any]:
    return {"values": list(values)}


GEMM: dict[str, Any] = {
    "problem": {
        "layout_a": of("r"), "layout_b": of("c"), "layout_c": of("r"),
        "datatype_a": of("fp16"), "datatype_b": of("fp16"), "datatype_c": of("fp16"),
    },
    "tile_config": {
        "tile_m": {"min": 64, "max": 256, "step": 64, "exclude": [192]}, "tile_n": of(128), "tile_k": of(64),
        "warp_m": of(2), "warp_n": of(2), "warp_k": of(1),
        "warp_tile_m": of(32), "warp_tile_n": of(32), "warp_tile_k": of(16),
    },
    "trait_config": {
        "pipeline": of("compv3", "mem"), "scheduler": of("intrawave"), "epilogue": of("cshuffle"),
        "pad_m": of(False), "pad_n": of(True), "pad_k": of(False, True), "persistent": of(False),
    },
    "k_block_per_cu": 2,
    "permute_n": False,
    "streamk_config": {"reduction_strategy": of("atomic")},
    "multi_d_config": {},
    "multi_abd_config": {},
}  # fmt: skip
FMHA: dict[str, Any] = {
    "variant": "fwd",
    "trait_config": {
        "data_type": of("fp16", "bf16"), "pipeline": of("qr_async"), "mask": of("top_left"), "bias": of("no"),
        "mode": of("batch"), "lse": of(False), "dropout": of(False), "logits": of(False), "sink": of(False),
        "paged_kv": of(False), "block_per_cu": of(-1),
    },
}  # fmt: skip


def outcome(document: Any, folder: Path) -> tuple[str, ...]:
    """The set and the notes, or the errors."""
    file = folder / "config.json"
    file.write_text(json.dumps(document, indent=1))
    try:
        found = import_config(file, Wanted("te", ("gfx942",)))
    except InputError as error:
        return tuple(one.render() for one in error.diagnostics)
    except UsageError as error:
        return (str(error),)
    return (set_text(found.documents), *found.notes)


def places(document: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every key, but those of axes, which stand for one."""
    for key, value in document.items():
        yield (*path, key)
        if isinstance(value, dict) and "values" not in value:
            yield from places(value, (*path, key))


def changed(document: Any, path: tuple[str, ...], value: Any) -> Any:
    made = copy.deepcopy(document)
    inner = made
    for key in path[:-1]:
        inner = inner[key]
    if value is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return made


@pytest.mark.parametrize("document", [GEMM, FMHA], ids=["gemm", "fmha"])
def test_no_key_is_dead_in_silence(document: dict[str, Any], tmp_path: Path) -> None:
    """Whatever key is left out, something else comes out; what is misspelt is an error with the right name."""
    whole = outcome(document, tmp_path)
    assert not whole[0].startswith("error"), whole
    same_without = {("variant",), ("trait_config", "paged_kv"), ("trait_config", "block_per_cu")}
    for path in places(document):
        without = outcome(changed(document, path, None), tmp_path)
        assert (without != whole) or path in same_without, path
        strange = outcome(changed(document, path, {"values": ["strange"]}), tmp_path)
        named = any(note.startswith(f"{'.'.join(path)}: ") for note in whole[1:])
        assert strange != whole or named, path
        misspelt = changed(changed(document, path, None), (*path[:-1], f"{path[-1]}s"), of("x"))
        assert any(f"unknown key '{path[-1]}s'" in one for one in outcome(misspelt, tmp_path)), path


def test_values_multiply_out_to_what_the_rules_may_judge(tmp_path: Path) -> None:
    (text,) = (outcome({key: GEMM[key] for key in ("problem", "tile_config", "trait_config")}, tmp_path),)
    document = yaml.safe_load(text[0])
    assert document["configs"]["tile"] == ["64x128x64", "128x128x64", "256x128x64"]
    assert document["configs"]["pad_k"] == [False, True] and document["signatures"] == ["gemm_fp16_rcr"]
    assert document["op"] == "gemm" and document["targets"] == ["gfx942"]
    candidates = load_kernel_set(text[0], "made")
    assert len(candidates) == 3 * 2 * 2


def test_a_config_of_stream_k_is_of_that_op(tmp_path: Path) -> None:
    document = yaml.safe_load(
        outcome({key: GEMM[key] for key in GEMM if "_config" in key or key == "problem"}, tmp_path)[0]
    )
    assert document["op"] == "stream_k" and document["configs"]["strategy"] == ["atomic"]


def test_signatures_may_be_said_and_large_blocks_are_several_documents(tmp_path: Path) -> None:
    tiles = {name: {"min": 64, "max": 256, "step": 32} for name in ("tile_m", "tile_n", "tile_k")}
    warps = {f"warp_{axis}": of(1, 2, 4) for axis in "mnk"} | {f"warp_tile_{axis}": of(16, 32) for axis in "mnk"}
    (tmp_path / "c.json").write_text(
        json.dumps({"tile_config": tiles | warps, "trait_config": {"pipeline": of("mem")}})
    )
    assert "--signature" in run("kernel-set", "import-te", str(tmp_path / "c.json")).stderr
    out = tmp_path / "set.yaml"
    ok(
        "kernel-set",
        "import-te",
        str(tmp_path / "c.json"),
        "--signature",
        "fp16",
        "--archs",
        "cdna3",
        "--out",
        str(out),
    )
    documents = list(yaml.safe_load_all(out.read_text()))
    assert len(documents) > 1 and sum(
        len(one["configs"]["tile"]) * len(one["configs"]["warps"]) for one in documents
    ) == (7**3 * 3**3)
    assert all(one["targets"] == ["cdna3"] for one in documents)


def test_attention_asks_for_the_trees_kernels_of_its_pipelines_alone(tmp_path: Path) -> None:
    text = outcome(FMHA, tmp_path)[0]
    documents = list(yaml.safe_load_all(text))
    assert {one for doc in documents for one in doc["signatures"]} == {
        "fmha_fp16_masked", "fmha_bf16_masked",
    }  # fmt: skip
    kernels = [one for doc in documents for one in doc["kernels"]]
    assert kernels and all(one.startswith("qr_async_pad") for one in kernels)
    assert load_kernel_set(text, "made")
    twice = changed(FMHA, ("trait_config", "block_per_cu"), of(-1, 2))
    assert sum(one.endswith("_bpc2") for one in yaml.safe_load(outcome(twice, tmp_path)[0])["kernels"]) == len(kernels)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[", "K001"),
        ("[]", "K005"),
        ('{"tile_config": {},\n "tile_config": {}}', "error[K002] c.json:1 and c.json:2"),
        ('{"tile_config": {},\n "trait_confg": {}}', "c.json:2: unknown key 'trait_confg'"),
        ('{"variant": "fwd", "trait_config": {\n"bias": {"values": ["al"]}}}', "c.json:2: bias cannot be al"),
        ('{"variant": "bwd", "trait_config": {}}', "variant cannot be 'bwd'"),
        ('{"trait_config": {"mask": {"values": []}}}', "must be a list that is not empty"),
        ('{"variant": "fwd", "trait_config": {"data_type": {"values": ["fp8fp32"]}}}', "no data_type of the file"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.json").write_text(text)
    done = run("kernel-set", "import-te", "c.json")
    assert done.exit_code == 3 and said in done.stderr, done.stderr


def test_a_value_of_an_axis_that_cannot_be_is_an_error(tmp_path: Path) -> None:
    for value in (
        of(0),
        of("64"),
        of(True),
        {"min": 64, "max": 32, "step": 16},
        {"min": 1, "max": 10**9, "step": 1},
        64,
    ):
        assert "K005" in outcome(changed(GEMM, ("tile_config", "tile_m"), value), tmp_path)[0], value
    strange = {"min": 64, "max": 256, "step": 64, "exclude": [100]}
    assert any(
        "100 is none of 64" in one for one in outcome(changed(GEMM, ("tile_config", "tile_m"), strange), tmp_path)
    )
