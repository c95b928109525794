"""What a build leaves in its folder: sources, assembly or objects, compile commands, the whole report."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Sequence
from enum import Enum
from pathlib import Path

from ckgen.build.compile import ASSEMBLY, OBJECT, device_job, host_job
from ckgen.build.entry import Entry
from ckgen.build.job import Job
from ckgen.build.planned import Planned, PlannedHost
from ckgen.build.result import Result
from ckgen.build.toolchain import Toolchain
from ckgen.build.unit_files import code_objects

SIGNATURES = "signatures.txt"
"""Beside a library, those of its instances, a line each: a program that attaches it registers them all."""


class Emit(Enum):
    """How far a build goes: the device assembly; code objects and host objects; one static library of both."""

    ASM = "asm"
    OBJECT = "object"
    LIBRARY = "library"


class OutFolder:
    """The folder of `--out`: files are written only where their bytes change."""

    def __init__(self, path: Path, code_suffix: str = ".hsaco") -> None:
        """`code_suffix`: of files that hold code for a GPU."""
        self.path, self.code_suffix = path, code_suffix

    def keep_device(self, planned: Planned, entry: Entry, emit: Emit) -> None:
        """The kernel's assembly (`<arch>/<kernel>.s`) where that is all, else or where it is shipped its code.

        Code that is compiled beside a shipped kernel is `<arch>/<kernel>.stages` with the suffix.
        """
        place = self.path / planned.arch / planned.kernel
        if emit is Emit.ASM and planned.unit.compiled == planned.unit:
            self.copy(entry.output(ASSEMBLY), place.with_name(f"{place.name}.s"))
            return
        for code, mark in zip(code_objects(entry.folder), ("", ".stages"), strict=False):
            self.copy(code, place.with_name(f"{place.name}{mark}{self.code_suffix}"))

    def keep_host(self, planned: PlannedHost, entry: Entry) -> None:
        """The host unit's object: `host/<kernel>.o`."""
        self.copy(entry.output(OBJECT), self.path / "host" / f"{planned.kernel}.o")

    def keep_sources(self, kernels: Iterable[Planned], hosts: Iterable[PlannedHost], toolchain: Toolchain) -> None:
        """Every unit's text, and compile_commands.json over them: each as it can be compiled from where it lies."""
        commands = []
        for planned in kernels:
            unit = planned.unit.compiled
            if planned.text and unit is not None:
                job = device_job(unit, toolchain)
                source = self.path / "src" / planned.arch / f"{planned.kernel}{Path(job.source).suffix}"
                commands.append(self._source(source, unit.text, job))
        for host in hosts:
            job = host_job(host.unit, toolchain)
            source = self.path / "src" / "host" / f"{host.kernel}{Path(job.source).suffix}"
            commands.append(self._source(source, host.text, job))
        self.write("compile_commands.json", json.dumps(commands, indent=1) + "\n")

    def keep_report(self, results: Sequence[Result]) -> None:
        """report.json: every result with all that is known of it."""
        document = {"schema": "ckgen.build_report/1", "results": [result.to_json() for result in results]}
        self.write("report.json", json.dumps(document, indent=1) + "\n")

    def write(self, name: str, text: str) -> Path:
        """A text file of the folder."""
        place = self.path / name
        if not place.is_file() or place.read_text(encoding="utf-8") != text:
            place.parent.mkdir(parents=True, exist_ok=True)
            beside = place.with_name(f".{place.name}.new")
            beside.write_text(text, encoding="utf-8")
            beside.replace(place)
        return place

    def _source(self, place: Path, text: str, job: Job) -> dict[str, object]:
        self.write(str(place.relative_to(self.path)), text)
        step = [str(place.absolute()) if word == job.source else word for word in job.steps[0]]
        return {"directory": str(self.path.absolute()), "file": str(place.absolute()), "arguments": step}

    def copy(self, source: Path, place: Path) -> None:
        """A copy of a file where it is not there already."""
        if place.is_file() and place.read_bytes() == source.read_bytes():
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        beside = place.with_name(f".{place.name}.new")
        shutil.copyfile(source, beside)
        beside.replace(place)
