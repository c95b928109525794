"""What a toolchain's CK tree can do, by compiling one small unit per question.

Answers are kept beside the toolchain; those of the pinned trees by the pinned compiler come with ckgen.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ckgen.build.amd.model import AmdToolchain
from ckgen.build.amd.probe_list import BASES, FOLDER, Probe, probes, probes_id
from ckgen.build.packages.errors import toolchain_error
from ckgen.build.toolchain import digest_of_parts
from ckgen.model.document import JSON, DocumentError, read_text
from ckgen.model.json_document import parse_json
from ckgen.specs.archs import processor_of
from ckgen.specs.targets import target_of_product

UNJUDGED = "unjudged"
_NOTHING = ("no", "none", UNJUDGED)
_PRODUCT = "MI355X"
"""What the probes are compiled for."""
_FLAGS = ("-std=c++20", "-O3", "-DNDEBUG", "-fbracket-depth=512", "-w", "-fsyntax-only")
_SEARCH = (f"-I{FOLDER}", f"-I{FOLDER / 'shim'}")
_SECONDS = 300
_SCHEMA = "ckgen.capabilities/1"
SHIPPED = Path(__file__).with_name("pinned_answers.json")
"""Answers by `shipped_key`, as `judge` found them; `pytest -m long --update-goldens tests/build/amd` writes them."""
_MOST_JOBS = 8
_ERROR = 200


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The answer to every probe by its id, and the compiler's first error for each answer that nothing is there.

    `unjudged` has such an error for each half of the tree, ck_tile or ck, whose core did not compile at all.
    """

    values: Mapping[str, str]
    errors: Mapping[str, str]
    unjudged: Mapping[str, str]

    def value(self, probe: str) -> str:
        """The answer: `yes`, `no`, the name of an alternative, `none` or `unjudged`; KeyError for an unknown id."""
        return self.values[probe]

    def has(self, probe: str) -> bool:
        """True if something that the probe asks for is there; KeyError for an unknown id."""
        return self.values[probe] not in _NOTHING


def known_capabilities(toolchain: AmdToolchain) -> Capabilities | None:
    """What was found before, by this compiler with these headers and probes; None when the tree was not judged yet."""
    try:
        kept = parse_json(read_text(_file(toolchain), JSON)).value
    except DocumentError:
        kept = None
    if isinstance(kept, dict) and kept.get("schema") == _SCHEMA:
        return _capabilities(kept)
    shipped = _shipped().get(shipped_key(toolchain))
    return None if shipped is None else _capabilities(shipped)


def shipped_key(toolchain: AmdToolchain) -> str:
    """Digest of what answers depend on wherever the toolchain is prepared: compiler, CK tree and probes."""
    return digest_of_parts(toolchain.compiler_id, toolchain.tree_id, probes_id())[:32]


def document(found: Capabilities) -> dict[str, dict[str, str]]:
    """The answers as a file holds them."""
    return {"values": dict(found.values), "errors": dict(found.errors), "unjudged": dict(found.unjudged)}


@cache
def _shipped() -> dict[str, Any]:
    trees: dict[str, Any] = json.loads(SHIPPED.read_text(encoding="utf-8"))["trees"]
    return trees


def _capabilities(found: Mapping[str, Mapping[str, str]]) -> Capabilities:
    return Capabilities(*(MappingProxyType(found[key]) for key in ("values", "errors", "unjudged")))


def capabilities(toolchain: AmdToolchain, say: Callable[[str], None] = lambda _: None) -> Capabilities:
    """What is known, else every probe is compiled now (about 20 s on two cores) and the answers are kept.

    InputError X008 when the compiler ends otherwise than with success or with errors in the source.
    """
    found = known_capabilities(toolchain)
    if found is None:
        found = judge(toolchain, say)
        _keep(toolchain, found)
    return found


def judge(
    toolchain: AmdToolchain, say: Callable[[str], None] = lambda _: None, asked: Sequence[Probe] | None = None
) -> Capabilities:
    """Compiles every probe, or those in `asked`, whatever is known; keeps nothing."""
    questions = probes() if asked is None else asked
    bases = [base for base in BASES if any(probe.base == base for probe in questions)]
    jobs = min(_MOST_JOBS, len(os.sched_getaffinity(0)))
    with tempfile.TemporaryDirectory(prefix="ckgen-probe-") as folder, ThreadPoolExecutor(jobs) as pool:
        compiler = _Compiler(toolchain, Path(folder))
        say("reading the CK tree")
        broken = {base: log for base, log in zip(bases, pool.map(compiler.prepare, bases), strict=True) if log}
        say(f"asking the CK tree {len(questions)} questions")
        sound = [probe for probe in questions if probe.base not in broken]
        answers = dict(zip((probe.id for probe in sound), pool.map(compiler.answer, sound), strict=True))
    values = {probe.id: answers[probe.id][0] if probe.id in answers else UNJUDGED for probe in questions}
    errors = {name: error for name, (_, error) in answers.items() if error is not None}
    return Capabilities(MappingProxyType(values), MappingProxyType(errors), MappingProxyType(broken))


@dataclass(frozen=True, slots=True)
class _Compiler:
    toolchain: AmdToolchain
    folder: Path

    def prepare(self, base: str) -> str | None:
        """Precompiles a base header; the first error if it cannot be."""
        options = [
            *_SEARCH,
            "-fpch-instantiate-templates",
            "-Xclang",
            "-emit-pch",
            "-Xclang",
            "-o",
            "-Xclang",
            str(self._header(base)),
        ]
        unit = self.folder / f"{base}.hip"
        unit.write_text(f'#include "{base}.hpp"\n', encoding="utf-8")
        return self._run([*options, str(unit)])

    def answer(self, probe: Probe) -> tuple[str, str | None]:
        """The first alternative that compiles; when none does, that, and the first alternative's first error."""
        errors: list[str] = []
        for index, alternative in enumerate(probe.alternatives):
            unit = self.folder / f"{probe.id}.{index}.hip"
            unit.write_text(alternative.unit(), encoding="utf-8")
            options = [*_SEARCH, "-Xclang", "-include-pch", "-Xclang", str(self._header(probe.base))]
            error = self._run([*options, str(unit)])
            if error is None:
                return alternative.value, None
            errors.append(error)
        return probe.otherwise, errors[0]

    def _header(self, base: str) -> Path:
        return self.folder / f"{base}.pch"

    def _run(self, arguments: list[str]) -> str | None:
        command = [*self.toolchain.device(_processor()), *_FLAGS, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False)
        if done.returncode == 0:
            return None
        errors = [line for line in done.stderr.splitlines() if "error:" in line]
        if done.returncode != 1 or not errors:
            lines = [*done.stderr.splitlines()[-10:], f"the command was: {' '.join(command)}"]
            raise toolchain_error("X008", f"a probe ended with exit code {done.returncode}", detail=lines)
        return errors[0].partition("error:")[2].strip()[:_ERROR]


def _processor() -> str:
    return processor_of(target_of_product(_PRODUCT).gfx)


def _file(toolchain: AmdToolchain) -> Path:
    key = digest_of_parts(toolchain.identity, probes_id())
    return toolchain.prefix / "capabilities" / f"{key[:32]}.json"


def _keep(toolchain: AmdToolchain, found: Capabilities) -> None:
    file = _file(toolchain)
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    beside.write_text(json.dumps({"schema": _SCHEMA, **document(found)}, indent=1) + "\n", encoding="utf-8")
    beside.replace(file)
