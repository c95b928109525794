"""Configs that cannot be used are refused with code, line and a way out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from workload_support import MODELS, written

from ckgen.model.errors import InputError
from ckgen.workload.architecture import architectures
from ckgen.workload.model_config import read_model
from ckgen.workload.shard import Parallel, layers_of

LLAMA: dict[str, Any] = json.loads((MODELS / "llama_3_1_70b.json").read_text())


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(InputError) as caught:
        layers_of(read_model(written(folder, text)), Parallel(1))
    return "\n".join(found.render() for found in caught.value.diagnostics)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "error[M001] {file}:1: not JSON"),
        ("[1]", "error[M001] {file}:1: not an object"),
        ("{}", "error[M002] {file}:1: 'architectures' names no architecture"),
        ('{"architectures": []}', "error[M002] {file}:1: 'architectures' names no architecture"),
        ('{\n"architectures": ["LlamaForCausalLN"]}', "error[M002] {file}:2: unknown architecture 'LlamaForCausalLN'"),
        ('{"architectures": ["Qwen3VLForConditionalGeneration"],\n"text_config": 3}', "M003] {file}:2: 'text_config'"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_known_model_s_config_is_refused(tmp_path: Path, text: str, said: str) -> None:
    assert said.format(file=tmp_path / "config.json") in refusal(tmp_path, text)


def test_a_name_that_is_nearly_known_has_the_nearest(tmp_path: Path) -> None:
    assert "LlamaForCausalLM" in refusal(tmp_path, '{"architectures": ["LlamaForCausalLN"]}')


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"hidden_size": None}, "key 'hidden_size' is missing"),
        ({"hidden_size": "8192"}, "'hidden_size' must be an integer, got '8192'"),
        ({"hidden_size": True}, "'hidden_size' must be an integer, got True"),
        ({"num_attention_heads": 0}, "'num_attention_heads' is 0, out of range"),
        ({"vocab_size": 2**40}, "'vocab_size' is 1099511627776, out of range"),
        ({"attention_bias": 1}, "'attention_bias' must be true or false, got 1"),
    ],
)
def test_a_key_that_is_missing_or_wrong_is_named(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    assert f"error[M003] {tmp_path / 'config.json'}:" in (text := refusal(tmp_path, json.dumps(LLAMA | change)))
    assert said in text


def test_the_first_architecture_that_is_known_is_taken(tmp_path: Path) -> None:
    config = json.dumps(LLAMA | {"architectures": ["SomethingElse", "LlamaForCausalLM"]})
    assert read_model(written(tmp_path, config)).name == "LlamaForCausalLM"


def test_every_architecture_has_an_example() -> None:
    assert {read_model(path).name for path in MODELS.glob("*.json")} == set(architectures())
