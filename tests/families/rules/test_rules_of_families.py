from __future__ import annotations

import subprocess
import sys

import pytest

from ckgen.families.fmha.signature import parse_signature
from ckgen.families.gemm.config import HostConfig
from ckgen.families.kernel_sets import shipped_set
from ckgen.families.rules import all_rules, judge
from ckgen.model.backend import Backend
from ckgen.specs.archs import load_archs


def test_every_rule_says_whose_it_is() -> None:
    rules = all_rules()
    assert [one.id for one in rules] == sorted({one.id for one in rules})
    for one in rules:
        assert one.id.split(".")[0] == one.backend.value
        assert one.contract.endswith(".") and one.source


def test_a_config_that_no_rules_are_about_is_no_valid_one() -> None:
    host = next(one for one in shipped_set("default") if isinstance(one.config, HostConfig))
    arch = load_archs()["x86_64_v3"]
    assert judge(host.signature, host.config, Backend.HOST, arch) == ()
    for signature, backend in ((host.signature, Backend.CK), (parse_signature("fmha_bf16", None), Backend.HOST)):
        with pytest.raises(TypeError, match="no rules are about a HostConfig"):
            judge(signature, host.config, backend, arch)


def test_the_order_of_rules_does_not_depend_on_hash_seeds() -> None:
    program = "from ckgen.families.rules import all_rules; print([r.id for r in all_rules()])"
    outputs = set()
    for seed in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        outputs.add(done.stdout)
    assert len(outputs) == 1
