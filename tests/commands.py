"""Running `ckgen` in this process or its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from click.testing import CliRunner, Result

from ckgen import paths
from ckgen.cli import cli


def run(*arguments: str, env: Mapping[str, str] | None = None) -> Result:
    """`ckgen …` in this process, without the targets of the environment; never a traceback."""
    without = {"CKGEN_TARGETS": None, "GPU_ARCHS": None, "CU_NUM": None, "CKGEN_TRACEBACK": None}
    told = {**without, **(env or {})}
    result = CliRunner().invoke(cli, arguments, env=told, prog_name="ckgen", catch_exceptions=False)
    assert "Traceback" not in result.output
    return result


def ok(*arguments: str, env: Mapping[str, str] | None = None) -> str:
    """The stdout of a run that must end with exit 0."""
    result = run(*arguments, env=env)
    assert result.exit_code == 0, result.output
    return result.stdout


def as_json(*arguments: str, code: int = 0) -> Any:
    """The one JSON document that `ckgen … --json` prints on stdout."""
    result = run(*arguments, "--json")
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def spawn(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """`python -m ckgen …` in its own process."""
    env = {**os.environ, "PYTHONPATH": str(paths.root() / "codegen"), **options.pop("env", {})}
    command = [sys.executable, "-m", "ckgen", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, errors="replace", env=env, timeout=120, check=False, **options
    )
