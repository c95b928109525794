"""`ckgen.kernels` lists what `ckgen list instances` lists."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import ckgen
from ckgen.cli import cli
from ckgen.model.errors import UsageError


def test_the_same_instances_as_the_command() -> None:
    words = ["list", "instances", "--targets", "gfx942:304", "--ops", "gemm", "--signatures", "gemm_fp16_rcr", "--json"]
    said = CliRunner().invoke(cli, words, catch_exceptions=False)
    listed = [one["name"] for one in json.loads(said.stdout)["instances"]]
    found = ckgen.kernels(["gemm"], "gfx942:304", signatures=["gemm_fp16_rcr"])
    assert [one.name for one in found] == listed
    assert len(listed) > 3


def test_words_that_nobody_knows() -> None:
    with pytest.raises(UsageError, match=r"unknown backend: nobody .known: asm, ck"):
        ckgen.kernels(["gemm"], "gfx942", backends=["nobody"])
    with pytest.raises(UsageError, match="unknown op: gem"):
        ckgen.kernels(["gem"], "gfx942")
